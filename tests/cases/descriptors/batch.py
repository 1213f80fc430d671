# A batch is an axis of the descriptor; the block has none of it. One load stands within a larger expression.
# flags: --tier descriptors
import triton
import triton.language as tl


@triton.jit
def kernel(
    x_ptr, y_ptr, M, N, stride_xb, stride_xm, stride_xn, stride_yb, stride_ym,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    b = tl.program_id(2)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    x_ptrs = x_ptr + b * stride_xb + rows[:, None] * stride_xm + columns[None, :] * stride_xn
    y = tl.maximum(tl.load(x_ptrs, mask=inside, other=0.0).to(tl.float32), 0.0) * 2.0
    tl.store(y_ptr + b * stride_yb + rows[:, None] * stride_ym + columns[None, :], y.to(tl.float16), mask=inside)
# output
@triton.jit
def _kernel_desc(
    x_desc,
    y_ptr,
    M,
    N,
    stride_yb,
    stride_ym,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    X_TRANSPOSED: tl.constexpr,
):
    b = tl.program_id(2)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    y = (
        tl.maximum(
            (
                x_desc.load([b, tl.program_id(1) * BLOCK_N, tl.program_id(0) * BLOCK_M]).reshape(BLOCK_N, BLOCK_M).T
                if X_TRANSPOSED
                else x_desc.load([b, tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N]).reshape(BLOCK_M, BLOCK_N)
            ).to(tl.float32),
            0.0,
        )
        * 2.0
    )
    tl.store(y_ptr + b * stride_yb + rows[:, None] * stride_ym + columns[None, :], y.to(tl.float16), mask=inside)


def _kernel_guard(x_ptr, y_ptr, M, N, stride_xb, stride_xm, stride_xn, stride_yb, stride_ym, **_):
    """The specialized launch's own arguments; where a check fails, tlx.Fallback: the original kernel runs."""
    x = tlx.tma_view("x_ptr", x_ptr, shape=(None, M, N), strides=(stride_xb, stride_xm, stride_xn))
    tlx.require_dtypes(
        {"x_ptr": x_ptr}, ("fp16", "bf16", "fp32", "fp8e4nv", "fp8e5", "i8", "i16", "i32", "u8"), same=False
    )
    # What goes through descriptors is not ordered with stores: it must not overlap what is written.
    tlx.require_disjoint("y_ptr", y_ptr, (None, M, N), (stride_yb, stride_ym, 1), reads=(x,))
    return {"x_desc": x, "X_TRANSPOSED": x.transposed}


def _kernel_boxes(BLOCK_M, BLOCK_N, **_):
    """One load's TMA box per descriptor, in elements, axes in the order of the guard's views."""
    return {"x_desc": tlx.Box((1, BLOCK_M, BLOCK_N))}


def specialize_kernel(original):
    """`original`, running _kernel_desc wherever the guard allows it."""
    return tlx.specialized(
        original,
        _kernel_desc,
        guard=_kernel_guard,
        boxes=_kernel_boxes,
        schedule=tlx.Schedule(plain=True),
        fingerprint="0377b2518ad33711",
    )
