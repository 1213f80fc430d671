"""Tensor-core products."""

from __future__ import annotations

from typing import Any

import triton.language as tl

from .builtin import TLXError, builtin, constant, pending, unwrap


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
    """Issues ``acc + A @ B`` on the tensor cores and returns without waiting.

    Hopper (wgmma): fence, products, one commit group. The result may be read only after an ``async_dot_wait`` that
    threads it; ``A`` and ``B`` may be overwritten only then. Blackwell (tcgen05): accumulates in tensor memory and
    signals ``mBarriers``; without any, and unless ``force_async``, the product is waited for on the spot.

    Args:
        A: view in shared memory of shape [M, K], or a tensor (Hopper) or view in tensor memory (Blackwell). M is a
            multiple of 64 on Hopper, 64 or 128 on Blackwell.
        B: view in shared memory of shape [K, N] with the dtype of ``A``; N is a multiple of 8 up to 256.
        acc: Hopper: tensor [M, N] of ``out_dtype``; without it the product starts from zero. Blackwell: view [M, N] in
            tensor memory, which is updated.
        use_acc: Blackwell: whether to add to ``acc`` or overwrite it, a scalar; by default to add.
        pred: Blackwell: scalar; nothing happens where it is false.
        mBarriers: Blackwell: barriers that get one arrival each when this product and all earlier ones are done.
        two_ctas: not supported: see the error.
        force_async: Blackwell: do not wait even without barriers; follow with ``tcgen05_commit``.
        input_precision: "tf32" for fp32 operands (the tensor cores have nothing finer).
        out_dtype: Hopper: fp32, or fp16 for fp16 operands; int8 operands give int32.

    Returns:
        Hopper: tensor [M, N], in flight. Blackwell: nothing.

    Raises:
        TLXError: operands that the tensor cores cannot take, a task without full warp groups, or on Hopper an argument
            that has a meaning on Blackwell only.
    """
    barriers = list(unwrap(mBarriers) or ())
    if getattr(_semantic, "blackwell", False):
        _semantic.tcgen05(A, B, unwrap(acc), use_acc, pred, barriers, bool(unwrap(two_ctas)), bool(unwrap(force_async)))
        return None
    for name, value in (("use_acc", use_acc), ("pred", pred)):
        if unwrap(value) is not None:
            raise TLXError(f"{name} has no effect in a Hopper async_dot; leave acc away for the first product instead")
    if barriers:
        raise TLXError("mBarriers has no effect in a Hopper async_dot; wait with async_dot_wait, then barrier_arrive")
    if unwrap(two_ctas):
        raise TLXError("two_ctas needs Blackwell")
    return _semantic.wgmma(A, B, acc, unwrap(input_precision), unwrap(out_dtype), _generator)


@builtin
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
) -> None:
    """Issues a block-scaled product, ``acc + (A * A_scale) @ (B * B_scale)`` (Blackwell, tcgen05).

    Args:
        A: view in shared or tensor memory, [128, K]; e2m1 packs two values into a byte along K.
        B: view in shared memory, [K, N].
        acc: view [128, N] of fp32 in tensor memory.
        A_scale: scale factors in tensor memory, one e8m0 byte for 32 values along K, [128, K / 32].
        A_format: "e2m1", "e4m3" or "e5m2".
        B_scale: scale factors of B, [N, K / 32].
        B_format: format of B.
        use_acc: as in ``async_dot``.
        pred: as in ``async_dot``.
        mBarriers: as in ``async_dot``.
        two_ctas: not supported: see the error.
        force_async: as in ``async_dot``.
        out_dtype: only fp32.

    Raises:
        TLXError: another architecture, a format that is none of these or not that of the buffer, M other than 128.
    """
    if unwrap(out_dtype) != tl.float32:
        raise TLXError(f"async_dot_scaled accumulates in fp32, not {unwrap(out_dtype)}")
    _semantic.tcgen05_scaled(
        A,
        B,
        unwrap(acc),
        A_scale,
        constant(A_format, "A_format", str),
        B_scale,
        constant(B_format, "B_format", str),
        use_acc,
        pred,
        list(unwrap(mBarriers) or ()),
        bool(unwrap(two_ctas)),
        bool(unwrap(force_async)),
    )


@builtin
def tcgen05_commit(mBarrier: Any, two_ctas: bool = False, _semantic: Any = None) -> None:
    """One arrival on ``mBarrier`` when all tcgen05 products and copies issued so far by this task are done (Blackwell).

    Args:
        mBarrier: one barrier, ``bars[slot]``, not one that was given to the ``async_dot`` as well.
        two_ctas: not supported: see the error.
    """
    _semantic.commit(mBarrier, bool(unwrap(two_ctas)))


@builtin
def async_dot_wait(pendings: int, inp: Any, _semantic: Any = None) -> Any:
    """Waits until at most ``pendings`` of the newest dots of this task are under way, and returns ``inp``.

    The returned value is the one to use afterwards: it is what keeps reads behind the wait. Hopper only: on Blackwell
    products signal barriers.
    """
    if getattr(_semantic, "blackwell", False):
        raise TLXError("async_dot_wait is Hopper's: on Blackwell give async_dot mBarriers and wait for those")
    return _semantic.wgmma_wait(pending(pendings), inp)
