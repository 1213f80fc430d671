"""Tensor-core products, Hopper's and Blackwell's: an accumulator in tensor memory tells them apart."""

from __future__ import annotations

from typing import Any

import triton.language as tl

from ..report import SimulationError
from ..sites import here
from ..unwrap import integer, plain
from .register import name

#: element formats of scaled operands
_FORMATS = ("e2m1", "e4m3", "e5m2")


@name
def async_dot(
    A: Any,
    B: Any,
    acc: Any = None,
    use_acc: Any = None,
    pred: Any = None,
    mBarriers: Any = (),
    two_ctas: bool = False,
    force_async: bool = False,
    input_precision: str | None = None,
    out_dtype: Any = tl.float32,
    _semantic: Any = None,
) -> Any:
    """wgmma, which returns a value in flight, or tcgen05, which accumulates in place."""
    bars, pair, precision = list(plain(mBarriers) or ()), bool(plain(two_ctas)), plain(input_precision)
    if _semantic.in_tensor_memory(acc):
        return _semantic.tensor_dot(A, B, acc, use_acc, pred, bars, pair, bool(plain(force_async)), precision)
    ignored = {
        "use_acc": plain(use_acc) is not None,
        "pred": plain(pred) is not None,
        "mBarriers": bars,
        "two_ctas": pair,
    }
    for argument in (argument for argument, given in ignored.items() if given):
        raise SimulationError(f"{argument} has no effect on a product into registers (wgmma)", here())
    return _semantic.wgmma(A, B, plain(acc), precision, plain(out_dtype))


@name
def async_dot_scaled(
    A: Any,
    B: Any,
    acc: Any,
    A_scale: Any,
    A_format: str,
    B_scale: Any,
    B_format: str,
    use_acc: Any = None,
    pred: Any = None,
    mBarriers: Any = (),
    two_ctas: bool = False,
    force_async: bool = False,
    out_dtype: Any = tl.float32,
    _semantic: Any = None,
) -> Any:
    """A product of block-scaled operands into tensor memory."""
    formats = plain(A_format), plain(B_format)
    for form in formats:
        if form not in _FORMATS:
            raise SimulationError(f"a scaled operand is one of {', '.join(_FORMATS)}, not {form!r}", here())
    bars, pair = list(plain(mBarriers) or ()), bool(plain(two_ctas))
    scales = (A_scale, formats[0], B_scale, formats[1])
    return _semantic.tensor_dot(A, B, acc, use_acc, pred, bars, pair, bool(plain(force_async)), None, scales)


@name
def tcgen05_commit(mBarrier: Any, two_ctas: bool = False, _semantic: Any = None) -> None:
    """One arrival when all tcgen05 operations of this task so far have ended."""
    _semantic.tensor_commit(mBarrier, bool(plain(two_ctas)))


@name
def async_dot_wait(pendings: Any, inp: Any, _semantic: Any = None) -> Any:
    """Waits until at most ``pendings`` of the newest products into registers are under way; returns ``inp``."""
    return _semantic.wgmma_wait(integer(pendings), inp)
