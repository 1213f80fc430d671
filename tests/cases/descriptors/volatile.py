# A volatile load asks for memory as it is when the load is reached: nobody may fetch it ahead.
# flags: --tier descriptors
import triton
import triton.language as tl


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, M, N, K, lda, ldb, ldc, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        depth = start + tl.arange(0, BLOCK_K)
        inside = (rows[:, None] < M) & (depth[None, :] < K)
        a = tl.load(a_ptr + rows[:, None] * lda + depth[None, :], mask=inside, other=0.0, volatile=True)
        b = tl.load(b_ptr + depth[:, None] * ldb + cols[None, :], mask=(depth[:, None] < K) & (cols[None, :] < N), other=0.0)
        acc += tl.dot(a, b)
    tl.store(c_ptr + rows[:, None] * ldc + cols[None, :], acc.to(tl.float16), mask=(rows[:, None] < M) & (cols[None, :] < N))
# output
@triton.jit
def _kernel_desc(
    a_ptr,
    b_desc,
    c_ptr,
    M,
    N,
    K,
    lda,
    ldc,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        depth = start + tl.arange(0, BLOCK_K)
        inside = (rows[:, None] < M) & (depth[None, :] < K)
        a = tl.load(a_ptr + rows[:, None] * lda + depth[None, :], mask=inside, other=0.0, volatile=True)
        b = b_desc.load([start, tl.program_id(1) * BLOCK_N])
        acc += tl.dot(a, b)
    tl.store(
        c_ptr + rows[:, None] * ldc + cols[None, :], acc.to(tl.float16), mask=(rows[:, None] < M) & (cols[None, :] < N)
    )


def _kernel_guard(b_ptr, c_ptr, M, N, K, ldb, ldc, **_):
    """The specialized launch's own arguments; where a check fails, tlx.Fallback: the original kernel runs."""
    b = tlx.tma_view("b_ptr", b_ptr, shape=(K, N), strides=(ldb, 1))
    tlx.require(not b.transposed, "stride", "b_ptr is stored column by column")
    tlx.require_dtypes(
        {"b_ptr": b_ptr}, ("fp16", "bf16", "fp32", "fp8e4nv", "fp8e5", "i8", "i16", "i32", "u8"), same=False
    )
    # What goes through descriptors is not ordered with stores: it must not overlap what is written.
    tlx.require_disjoint("c_ptr", c_ptr, (M, N), (ldc, 1), reads=(b,))
    return {"b_desc": b}


def _kernel_boxes(BLOCK_K, BLOCK_N, **_):
    """One load's TMA box per descriptor, in elements, axes in the order of the guard's views."""
    return {"b_desc": tlx.Box((BLOCK_K, BLOCK_N))}


def specialize_kernel(original):
    """`original`, running _kernel_desc wherever the guard allows it."""
    return tlx.specialized(
        original,
        _kernel_desc,
        guard=_kernel_guard,
        boxes=_kernel_boxes,
        schedule=tlx.Schedule(plain=True),
        fingerprint="1c813d28d8da8ec6",
    )
