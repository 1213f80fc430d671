"""Plain numbers out of what kernels pass around."""

from __future__ import annotations

from typing import Any

import triton.language as tl

from .report import SimulationError
from .sites import here
from .values import Scalar


def plain(value: Any) -> Any:
    """The Python value behind a constexpr."""
    return value.value if isinstance(value, tl.constexpr) else value


def integer(value: Any) -> int:
    """An integer scalar as a Python int.

    Raises:
        SimulationError: it is a block, or not an integer.
    """
    value = plain(value)
    if isinstance(value, tl.tensor):
        handle = value.handle
        if type(handle) is Scalar:
            return int(handle.value)
        if value.type.is_block() or not value.dtype.is_int():
            raise SimulationError(f"an integer scalar is needed here, not {value.type}", here())
        return int(handle.data.item())
    if isinstance(value, int):
        return int(value)
    raise SimulationError(f"an integer scalar is needed here, not {value!r}", here())


def truth(pred: Any) -> bool:
    """A predicate; None means true."""
    pred = plain(pred)
    return True if pred is None else bool(integer(pred))


def offsets(values: Any) -> tuple[int, ...]:
    """Descriptor offsets as Python ints."""
    return tuple(integer(value) for value in plain(values))
