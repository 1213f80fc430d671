# A kernel without a dot: rows are scaled and turned. Its block pointers exist no longer in Triton 3.9.
# flags: --tier descriptors
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, s_ptr, y_ptr, M, N, stride_x, stride_y, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    i = tl.program_id(0)
    j = tl.program_id(1)
    x_block = tl.make_block_ptr(
        x_ptr, (M, N), (stride_x, 1), (i * BLOCK_M, j * BLOCK_N), (BLOCK_M, BLOCK_N), (1, 0)
    )
    y_block = tl.make_block_ptr(
        y_ptr, (N, M), (stride_y, 1), (j * BLOCK_N, i * BLOCK_M), (BLOCK_N, BLOCK_M), (1, 0)
    )
    rows = i * BLOCK_M + tl.arange(0, BLOCK_M)
    scale = tl.load(s_ptr + rows, mask=rows < M, other=0.0)
    x = tl.load(x_block, boundary_check=(0, 1), padding_option="zero")
    y = x.to(tl.float32) * scale[:, None]
    tl.store(y_block, tl.trans(y).to(y_ptr.dtype.element_ty), boundary_check=(0, 1))
# output
@triton.jit
def _kernel_desc(
    x_desc,
    s_ptr,
    y_ptr,
    M,
    N,
    stride_y,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    i = tl.program_id(0)
    j = tl.program_id(1)
    rows = i * BLOCK_M + tl.arange(0, BLOCK_M)
    scale = tl.load(s_ptr + rows, mask=rows < M, other=0.0)
    x = x_desc.load([i * BLOCK_M, j * BLOCK_N])
    y = x.to(tl.float32) * scale[:, None]
    stored_rows = j * BLOCK_N + tl.arange(0, BLOCK_N)
    stored_columns = i * BLOCK_M + tl.arange(0, BLOCK_M)
    tl.store(
        y_ptr + stored_rows[:, None].to(tl.int64) * stride_y + stored_columns[None, :].to(tl.int64),
        tl.trans(y).to(y_ptr.dtype.element_ty),
        mask=(stored_rows[:, None] < N) & (stored_columns[None, :] < M),
    )


def _kernel_guard(x_ptr, y_ptr, M, N, stride_x, stride_y, **_):
    """The specialized launch's own arguments; where a check fails, tlx.Fallback: the original kernel runs."""
    x = tlx.tma_view("x_ptr", x_ptr, shape=(M, N), strides=(stride_x, 1))
    tlx.require(not x.transposed, "stride", "x_ptr is stored column by column")
    tlx.require_dtypes(
        {"x_ptr": x_ptr}, ("fp16", "bf16", "fp32", "fp8e4nv", "fp8e5", "i8", "i16", "i32", "u8"), same=False
    )
    # What goes through descriptors is not ordered with stores: it must not overlap what is written.
    tlx.require_disjoint("y_ptr", y_ptr, (N, M), (stride_y, 1), reads=(x,))
    return {"x_desc": x}


def _kernel_boxes(BLOCK_M, BLOCK_N, **_):
    """One load's TMA box per descriptor, in elements, axes in the order of the guard's views."""
    return {"x_desc": tlx.Box((BLOCK_M, BLOCK_N))}


def specialize_kernel(original):
    """`original`, running _kernel_desc wherever the guard allows it."""
    return tlx.specialized(
        original,
        _kernel_desc,
        guard=_kernel_guard,
        boxes=_kernel_boxes,
        schedule=tlx.Schedule(plain=True),
        fingerprint="3f5332509522052b",
    )
