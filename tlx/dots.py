"""Tensor-core products."""

from __future__ import annotations

from typing import Any

import triton.language as tl

from .builtin import TLXError, builtin, constant, unwrap


@builtin
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
    _generator: Any = None,
) -> Any:
    """Issues ``acc + A @ B`` on the tensor cores and returns without waiting: wgmma fence, products, one commit group.

    The result may be read only after an ``async_dot_wait`` that threads it. ``A`` and ``B`` may be overwritten only
    then.

    Args:
        A: view in shared memory, or a tensor, of shape [M, K]; M is a multiple of 64.
        B: view in shared memory of shape [K, N] with the dtype of ``A``; N is a multiple of 8 up to 256.
        acc: tensor [M, N] of ``out_dtype``; without it the product starts from zero.
        use_acc: only on Blackwell.
        pred: only on Blackwell.
        mBarriers: only on Blackwell.
        two_ctas: only on Blackwell.
        force_async: accepted; every call is asynchronous.
        input_precision: "tf32" for fp32 operands (wgmma has nothing finer).
        out_dtype: fp32, or fp16 for fp16 operands; int8 operands give int32.

    Returns:
        Tensor [M, N], in flight.

    Raises:
        TLXError: operands that wgmma cannot take, a task without full warp groups, or a Blackwell argument.
    """
    for name, value in (("use_acc", use_acc), ("pred", pred)):
        if unwrap(value) is not None:
            raise TLXError(f"{name} has no effect in a Hopper async_dot; leave acc away for the first product instead")
    if list(unwrap(mBarriers) or ()):
        raise TLXError("mBarriers has no effect in a Hopper async_dot; wait with async_dot_wait, then barrier_arrive")
    if unwrap(two_ctas):
        raise TLXError("two_ctas needs Blackwell")
    return _semantic.wgmma(A, B, acc, unwrap(input_precision), unwrap(out_dtype), _generator)


@builtin
def async_dot_wait(pendings: int, inp: Any, _semantic: Any = None) -> Any:
    """Waits until at most ``pendings`` of the newest dots of this task are under way, and returns ``inp``.

    The returned value is the one to use afterwards: it is what keeps reads behind the wait.
    """
    return _semantic.wgmma_wait(constant(pendings, "pendings"), inp)
