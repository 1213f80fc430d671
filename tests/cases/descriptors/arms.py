# Two arms load one tile, one of them without a mask along K: one load stands for both, where K is whole tiles.
# flags: --tier descriptors
import triton
import triton.language as tl


@triton.jit
def kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, EVEN_K: tl.constexpr,
):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(tl.cdiv(K, BLOCK_K)):
        offs_k = k * BLOCK_K + tl.arange(0, BLOCK_K)
        a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :]
        b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :]
        if EVEN_K:
            a = tl.load(a_ptrs, mask=offs_m[:, None] < M, other=0.0)
            b = tl.load(b_ptrs, mask=offs_n[None, :] < N, other=0.0)
        else:
            # The last tile is ragged.
            a = tl.load(a_ptrs, mask=(offs_m[:, None] < M) & (offs_k[None, :] < K), other=0.0)
            b = tl.load(b_ptrs, mask=(offs_k[:, None] < K) & (offs_n[None, :] < N), other=0.0)
        acc += tl.dot(a, b)
    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :]
    tl.store(c_ptrs, acc.to(tl.float16), mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))
# output
@triton.jit
def _kernel_desc(
    a_desc,
    b_desc,
    c_ptr,
    M,
    N,
    K,
    stride_cm,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(tl.cdiv(K, BLOCK_K)):
        # The last tile is ragged.
        a = a_desc.load([tl.program_id(0) * BLOCK_M, k * BLOCK_K])
        b = b_desc.load([k * BLOCK_K, tl.program_id(1) * BLOCK_N])
        acc += tl.dot(a, b)
    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :]
    tl.store(c_ptrs, acc.to(tl.float16), mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


def _kernel_guard(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm, **_):
    """The specialized launch's own arguments; where a check fails, tlx.Fallback: the original kernel runs."""
    a = tlx.tma_view("a_ptr", a_ptr, shape=(M, K), strides=(stride_am, 1))
    tlx.require(not a.transposed, "stride", "a_ptr is stored column by column")
    b = tlx.tma_view("b_ptr", b_ptr, shape=(K, N), strides=(stride_bk, 1))
    tlx.require(not b.transposed, "stride", "b_ptr is stored column by column")
    tlx.require_dtypes(
        {"a_ptr": a_ptr, "b_ptr": b_ptr},
        ("fp16", "bf16", "fp32", "fp8e4nv", "fp8e5", "i8", "i16", "i32", "u8"),
        same=False,
    )
    # What goes through descriptors is not ordered with stores: it must not overlap what is written.
    tlx.require_disjoint("c_ptr", c_ptr, (M, N), (stride_cm, 1), reads=(a, b))
    return {"a_desc": a, "b_desc": b}


def _kernel_boxes(BLOCK_M, BLOCK_K, BLOCK_N, EVEN_K, K, **_):
    """One load's TMA box per descriptor, in elements, axes in the order of the guard's views."""
    # What the converted kernel relies on: any other config is left to the original.
    tlx.require(not EVEN_K or K % BLOCK_K == 0, "claim", "not so: not EVEN_K or K % BLOCK_K == 0")
    return {"a_desc": tlx.Box((BLOCK_M, BLOCK_K)), "b_desc": tlx.Box((BLOCK_K, BLOCK_N))}


def specialize_kernel(original):
    """`original`, running _kernel_desc wherever the guard allows it."""
    return tlx.specialized(
        original,
        _kernel_desc,
        guard=_kernel_guard,
        boxes=_kernel_boxes,
        schedule=tlx.Schedule(plain=True),
        fingerprint="e80f9d34c741c0c1",
    )
