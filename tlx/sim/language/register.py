"""The table of names that the files of this folder fill."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

#: name → function; it takes the semantic layer as ``_semantic``
NAMES: dict[str, Callable[..., Any]] = {}


def name(fn: F) -> F:
    """Registers a function under its own name.

    Raises:
        ValueError: the name is taken.
    """
    if fn.__name__ in NAMES:
        raise ValueError(f"{fn.__name__} is registered twice")
    NAMES[fn.__name__] = fn
    return fn
