"""What the threads of a warp do together, and conversions with instructions of their own."""

from __future__ import annotations

from typing import Any

import triton.language as tl

from .builtin import TLXError, builtin, constant, unwrap

_ROUNDED = (tl.float8e5, tl.float8e4nv, tl.float16, tl.bfloat16)


@builtin
def vote_ballot_sync(mask: int, pred: Any, _semantic: Any = None) -> Any:
    """One bit for each thread of the warp: whether ``pred`` holds there (``vote.sync.ballot``).

    Args:
        mask: threads that take part, 32 bits, known at compile time; all of them execute this together.
        pred: scalar, or a block; a thread votes for a block if it holds for any of its elements, so the result depends
            on the layout that the compiler chose. Blocks need Triton 3.9.

    Returns:
        i32 scalar, or an i32 block of the shape of ``pred`` with the warp's bits in each element.
    """
    bits = constant(mask, "mask")
    if not 0 < bits < 1 << 32:
        raise TLXError(f"mask has 32 bits, at least one of them set; {bits:#x} has not")
    return _semantic.ballot(bits, pred)


@builtin
def warp_redux(x: Any, op: str, _semantic: Any = None) -> Any:
    """Each element becomes the extremum over the 32 threads of its warp, register by register (``redux.sync``, sm_100).

    Args:
        x: fp32 scalar or block.
        op: "max", "min", "abs_max" or "abs_min", known at compile time.
    """
    name = constant(op, "op", str)
    if name not in ("max", "min", "abs_max", "abs_min"):
        raise TLXError(f'unknown op {name!r}: use "max", "min", "abs_max" or "abs_min"')
    return _semantic.redux(x, name)


@builtin
def stoch_round(src: Any, dst_ty: Any, rand_bits: Any, _semantic: Any = None) -> Any:
    """Stochastic rounding of fp32 by the hardware (``cvt.rs``, sm_100).

    Args:
        src: fp32 block; each thread holds a multiple of 4 (fp8) or 2 (16 bits) neighbouring elements.
        dst_ty: float8e5, float8e4nv, float16 or bfloat16; fp8 saturates.
        rand_bits: 32 random bits for each element, u32 or i32, of the shape of ``src``. One of each group is used.

    Returns:
        Block of ``dst_ty`` with the shape of ``src``.
    """
    ty = unwrap(dst_ty)
    if ty not in _ROUNDED:
        raise TLXError(f"stoch_round rounds to {', '.join(map(str, _ROUNDED))}, not to {ty}")
    return _semantic.stochastic(src, ty, rand_bits)
