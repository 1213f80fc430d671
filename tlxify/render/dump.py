"""A stage of the pipeline as text: every field of its dataclasses, without syntax trees and other hidden fields."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Set
from enum import Enum

from ..source import Span


def dump(value: object, indent: int = 0) -> str:
    """`value` as an outline, one field a line. Sets are sorted; fields declared `repr=False` are left out."""
    short = inline(value)
    if short is not None:
        return short
    return "\n".join([title(value), *(f"{'  ' * (indent + 1)}{line}" for line in entries(value, indent + 1))])


def title(value: object) -> str:
    """The first line of an outline: a dataclass's name, or what kind of collection this is."""
    if dataclasses.is_dataclass(value):
        return type(value).__name__
    return f"{len(value)} entries" if isinstance(value, Mapping | Set | tuple | list) else type(value).__name__


def entries(value: object, indent: int) -> Iterator[str]:
    """The lines below a title."""
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            if field.repr:
                yield f"{field.name}: {dump(getattr(value, field.name), indent)}"
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield f"{inline(key) or key}: {dump(item, indent)}"
    elif isinstance(value, Set):
        yield from sorted(dump(item, indent) for item in value)
    elif isinstance(value, tuple | list):
        for item in value:
            yield f"- {dump(item, indent)}"


def inline(value: object) -> str | None:
    """`value` on one line where it is simple enough; else None."""
    match value:
        case Span():
            return f"{value.line}:{value.column}-{value.end_line}:{value.end_column}"
        case Enum():
            return value.name.lower()
        case str() | int() | float() | bool() | None:
            return repr(value)
        case Mapping() | Set() | tuple() | list():
            parts = [inline(item) for item in (value.items() if isinstance(value, Mapping) else value)]
            words = [part for part in parts if part is not None]
            if len(words) < len(parts) or sum(map(len, words)) > 80:
                return None
            return f"({', '.join(sorted(words) if isinstance(value, Set) else words)})"
        case _ if dataclasses.is_dataclass(value):
            # A type with a text of its own (a polynomial) is shown by it.
            return str(value) if type(value).__str__ is not object.__str__ else None
        case _:
            return repr(value)
