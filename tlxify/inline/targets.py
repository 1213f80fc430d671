"""What a call is assigned to, and when a tuple may be assigned name by name."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from .binding import names_in


def names_of(target: cst.BaseExpression) -> tuple[str, ...] | None:
    """The names that a target binds, if it is one name or a flat tuple of names."""
    if isinstance(target, cst.Name):
        return (target.value,)
    if isinstance(target, cst.Tuple | cst.List):
        names = [e.value.value for e in target.elements if isinstance(e, cst.Element) and isinstance(e.value, cst.Name)]
        return tuple(names) if len(names) == len(target.elements) else None
    return None


def same_name(one: cst.BaseExpression, other: cst.BaseExpression) -> bool:
    """Whether both are one variable."""
    return isinstance(one, cst.Name) and isinstance(other, cst.Name) and one.value == other.value


def independent(names: Sequence[str], values: cst.Tuple) -> bool:
    """Whether a tuple may be assigned name by name: no value asks for a name that was assigned before it."""
    elements = values.elements
    if len(elements) != len(names) or any(isinstance(element, cst.StarredElement) for element in elements):
        return False
    return not any(names_in(element.value) & set(names[:position]) for position, element in enumerate(elements))
