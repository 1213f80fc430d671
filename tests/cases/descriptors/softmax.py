# What is loaded with another value than zero outside of the tensor stays a load through pointers; its neighbour need not.
# flags: --tier descriptors
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, r_ptr, y_ptr, M, N, stride_x, stride_r, stride_y, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, BLOCK_N)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    x = tl.load(x_ptr + rows[:, None] * stride_x + columns[None, :], mask=inside, other=float("-inf")).to(tl.float32)
    residual = tl.load(r_ptr + rows[:, None] * stride_r + columns[None, :], mask=inside, other=0.0)
    top = tl.max(x, 1)
    p = tl.exp(x - tl.where(top == float("-inf"), 0.0, top)[:, None])
    y = p / tl.maximum(tl.sum(p, 1), 1e-30)[:, None] + residual
    tl.store(y_ptr + rows[:, None] * stride_y + columns[None, :], y.to(tl.float16), mask=inside)
# output
@triton.jit
def _kernel_desc(
    x_ptr,
    r_desc,
    y_ptr,
    M,
    N,
    stride_x,
    stride_y,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, BLOCK_N)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    x = tl.load(x_ptr + rows[:, None] * stride_x + columns[None, :], mask=inside, other=float("-inf")).to(tl.float32)
    residual = r_desc.load([tl.program_id(0) * BLOCK_M, 0])
    top = tl.max(x, 1)
    p = tl.exp(x - tl.where(top == float("-inf"), 0.0, top)[:, None])
    y = p / tl.maximum(tl.sum(p, 1), 1e-30)[:, None] + residual
    tl.store(y_ptr + rows[:, None] * stride_y + columns[None, :], y.to(tl.float16), mask=inside)


def _kernel_guard(r_ptr, y_ptr, M, N, stride_r, stride_y, **_):
    """The specialized launch's own arguments; where a check fails, tlx.Fallback: the original kernel runs."""
    r = tlx.tma_view("r_ptr", r_ptr, shape=(M, N), strides=(stride_r, 1))
    tlx.require(not r.transposed, "stride", "r_ptr is stored column by column")
    tlx.require_dtypes(
        {"r_ptr": r_ptr}, ("fp16", "bf16", "fp32", "fp8e4nv", "fp8e5", "i8", "i16", "i32", "u8"), same=False
    )
    # What goes through descriptors is not ordered with stores: it must not overlap what is written.
    tlx.require_disjoint("y_ptr", y_ptr, (M, N), (stride_y, 1), reads=(r,))
    return {"r_desc": r}


def _kernel_boxes(BLOCK_M, BLOCK_N, **_):
    """One load's TMA box per descriptor, in elements, axes in the order of the guard's views."""
    return {"r_desc": tlx.Box((BLOCK_M, BLOCK_N))}


def specialize_kernel(original):
    """`original`, running _kernel_desc wherever the guard allows it."""
    return tlx.specialized(
        original,
        _kernel_desc,
        guard=_kernel_guard,
        boxes=_kernel_boxes,
        schedule=tlx.Schedule(plain=True),
        fingerprint="784c74b35726f0d7",
    )
