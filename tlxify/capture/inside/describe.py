"""Recognising a call of a converted kernel at the price of a few attribute look-ups.

The function for "a tensor, two numbers, BLOCK by name" is written out once and tried first on every later call. On a
call of another form it raises, or describes what nobody has seen; `form_of` then tells which form it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .facts import is_descriptor, is_number, is_tensor

Describe = Callable[[tuple[Any, ...], Mapping[str, Any], Any], tuple[Any, ...]]


def form_of(args: Sequence[Any], kwargs: Mapping[str, Any], grid: Any) -> tuple[Any, ...]:
    """What decides how a call is described: the types of its arguments and the names given."""
    return (tuple(map(type, args)), *kwargs, *map(type, kwargs.values()), type(grid))


def describer(args: Sequence[Any], kwargs: Mapping[str, Any], grid: Any, number: int) -> Describe:
    """The function that describes calls of this form; `number` tells its descriptions from those of other forms.

    Numbers tell launches apart, strides among them, which tensors are given, and the element type of the first. The
    rest costs more to ask for than a launch may cost in all; it is looked at once in a while (`Recorder.closely`). For
    f[grid](x, y, 3, BLOCK=64) it reads

        def describe(args, kwargs, grid):
            if len(kwargs) != 1: raise KeyError
            (a0, a1, a2,) = args
            return (7, a0.dtype, a1 is None, a2, kwargs["BLOCK"], type(grid))
    """
    parts = [str(number)]
    variables = {f"a{index}": value for index, value in enumerate(args)}
    variables |= {f"kwargs[{name!r}]": value for name, value in kwargs.items()}
    tensors = [text for text, value in variables.items() if is_tensor(value) or is_descriptor(value)]
    for text, value in variables.items():
        if value is None or isinstance(value, str) or is_number(value):
            parts.append(text)
        elif text not in tensors:
            parts.append(f"type({text})")  # it may hold tensors, which must not be kept alive
        else:
            parts.append(f"{text}.dtype" if text == tensors[0] and is_tensor(value) else f"{text} is None")
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
