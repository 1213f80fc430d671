"""Types, votes and the like."""

from __future__ import annotations

from typing import Any

import numpy as np
import triton.language as tl

from ..report import SimulationError
from ..sites import here
from ..unwrap import plain
from ..values import Value, scalar_tensor
from .register import name


@name
def get_fp8_format_name(dtype: Any, _semantic: Any = None) -> str:
    """The name of an fp8 type in scaled products."""
    names = {"fp8e5": "e5m2", "fp8e4nv": "e4m3"}
    kind = plain(dtype).name
    if kind not in names:
        raise SimulationError(f"{kind} has no format name in scaled products", here())
    return names[kind]


@name
def vote_ballot_sync(mask: Any, pred: Any, _semantic: Any = None) -> Any:
    """One bit per lane of a warp.

    A scalar predicate is the same in all lanes. Of a block every lane owns some elements, which ones is the compiler's
    choice; here all lanes own all elements, so the answer is the mask or 0, which is what programs that only ask
    "all", "any" or "none" over uniform decisions can rely on.
    """
    lanes = plain(mask) & 0xFFFFFFFF
    value = plain(pred)
    if not isinstance(value, tl.tensor):
        return scalar_tensor(_signed(lanes if value else 0), tl.int32)
    if not value.type.is_block():
        return scalar_tensor(_signed(lanes if value.handle.data.item() else 0), tl.int32)
    ballot = _signed(lanes if value.handle.data.any() else 0)
    shape = list(value.type.shape)
    return tl.tensor(Value(np.full(shape, ballot, np.int32), tl.int32), tl.block_type(tl.int32, shape))


def _signed(bits: int) -> int:
    return bits - (1 << 32) if bits >> 31 else bits


@name
def require_layout(
    x: Any, layout: Any, pin: bool = True, late_address_compute: bool = False, _semantic: Any = None
) -> Any:
    """The same values."""
    return x


@name
def release_layout(x: Any, _semantic: Any = None) -> Any:
    """The same values."""
    return x


class _Layout:
    """Where elements lie; no value depends on it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args, self.kwargs = args, kwargs


@name
def layout(spec: Any = None, *, shape: Any = None, stride: Any = None, _semantic: Any = None) -> _Layout:
    """A register layout."""
    return _Layout(spec, shape, stride)


@name
def dump_layout(x: Any, _semantic: Any = None) -> None:
    """Prints nothing: there are no layouts here."""


@name
def assert_same_layout(lhs: Any, rhs: Any, _semantic: Any = None) -> None:
    """There are no layouts here."""


@name
def thread_id(axis: Any, _semantic: Any = None) -> Any:
    """0: one thread stands for all of its task."""
    return _semantic.special_register(f"%tid.{'xyz'[plain(axis)]}", tl.int32)


@name
def clock64(_semantic: Any = None) -> Any:
    """Scheduling steps so far."""
    return _semantic.special_register("%clock64", tl.int64)


@name
def stoch_round(src: Any, dst_ty: Any, rand_bits: Any, _semantic: Any = None) -> Any:
    """Refused: which of its bits the hardware adds is not documented."""
    raise SimulationError("stoch_round is not simulated", here())


@name
def warp_redux(x: Any, op: Any, _semantic: Any = None) -> Any:
    """Refused: what a warp owns of a block is the compiler's choice."""
    raise SimulationError("warp_redux is not simulated: its result depends on the layout of its argument", here())
