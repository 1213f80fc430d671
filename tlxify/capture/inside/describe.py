"""Recognising a call of a converted kernel at the price of a few attribute look-ups.

The function for "a tensor, two numbers, BLOCK by name" is written out once and tried first on every later call. On a
call of another form it raises, or describes what nobody has seen; `form_of` then tells which form it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .facts import ALIGNMENT, is_descriptor, is_tensor

Describe = Callable[[tuple[Any, ...], Mapping[str, Any], Any], tuple[Any, ...]]


def form_of(args: Sequence[Any], kwargs: Mapping[str, Any], grid: Any) -> tuple[Any, ...]:
    """What decides how a call is described: the types of its arguments and the names given."""
    return (tuple(map(type, args)), *kwargs, *map(type, kwargs.values()), type(grid))


def describer(args: Sequence[Any], kwargs: Mapping[str, Any], grid: Any, number: int) -> Describe:
    """The function that describes calls of this form; `number` tells its descriptions from those of other forms.

    Element types, alignments and numbers tell launches apart, and shapes, which a grid function may go by. For
    f[grid](x, 3, BLOCK=64) it reads

        def describe(args, kwargs, grid):
            if len(kwargs) != 1: raise KeyError
            (a0, a1,) = args
            return (7, a0.data_ptr() % 16, a0.dtype, a0.shape, a1, kwargs["BLOCK"], type(grid))
    """
    parts = [str(number)]
    for index, value in enumerate(args):
        parts += _parts(f"a{index}", value, follows=callable(grid))
    for name, value in kwargs.items():
        parts += _parts(f"kwargs[{name!r}]", value, follows=callable(grid))
    parts.append("type(grid)" if callable(grid) else "tuple(grid)" if isinstance(grid, list) else "grid")
    lines = ["def describe(args, kwargs, grid):", f"    if len(kwargs) != {len(kwargs)}: raise KeyError"]
    if args:
        lines.append(f"    ({''.join(f'a{index}, ' for index in range(len(args)))}) = args")
    else:
        lines.append("    if args: raise KeyError")
    lines.append(f"    return ({', '.join(parts)},)")
    scope: dict[str, Any] = {}
    exec("\n".join(lines), scope)
    describe: Describe = scope["describe"]
    return describe


def _parts(text: str, value: Any, *, follows: bool) -> list[str]:
    if is_descriptor(value):
        base, numbers = f"{text}.base", ("shape", "strides", "block_shape")
        return [f"{base}.data_ptr() % {ALIGNMENT}", f"{base}.dtype", *(f"tuple({text}.{name})" for name in numbers)]
    if is_tensor(value):
        shape = [f"{text}.shape"] if follows and hasattr(value, "shape") else []
        return [f"{text}.data_ptr() % {ALIGNMENT}", f"{text}.dtype", *shape]
    return [text]
