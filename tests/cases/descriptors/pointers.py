# Pointers that a loop moves become coordinates; what only led to them is gone. The store stays a store.
# flags: --tier descriptors
import triton
import triton.language as tl


@triton.jit
def kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    # The compiler is asked for this depth, and still is.
    for k in tl.range(0, K, BLOCK_K, num_stages=4):
        a = tl.load(a_ptrs, mask=(offs_m[:, None] < M) & (k + offs_k[None, :] < K), other=0.0)
        b = tl.load(b_ptrs, mask=(k + offs_k[:, None] < K) & (offs_n[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn
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
    stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    A_TRANSPOSED: tl.constexpr,
    B_TRANSPOSED: tl.constexpr,
):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    # The compiler is asked for this depth, and still is.
    for k in tl.range(0, K, BLOCK_K, num_stages=4):
        a = (
            a_desc.load([k, tl.program_id(0) * BLOCK_M]).T
            if A_TRANSPOSED
            else a_desc.load([tl.program_id(0) * BLOCK_M, k])
        )
        b = (
            b_desc.load([tl.program_id(1) * BLOCK_N, k]).T
            if B_TRANSPOSED
            else b_desc.load([k, tl.program_id(1) * BLOCK_N])
        )
        acc = tl.dot(a, b, acc)
    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn
    tl.store(c_ptrs, acc.to(tl.float16), mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


def _kernel_guard(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn, **_):
    """The specialized launch's own arguments; where a check fails, tlx.Fallback: the original kernel runs."""
    a = tlx.tma_view("a_ptr", a_ptr, shape=(M, K), strides=(stride_am, stride_ak))
    b = tlx.tma_view("b_ptr", b_ptr, shape=(K, N), strides=(stride_bk, stride_bn))
    tlx.require_dtypes(
        {"a_ptr": a_ptr, "b_ptr": b_ptr},
        ("fp16", "bf16", "fp32", "fp8e4nv", "fp8e5", "i8", "i16", "i32", "u8"),
        same=False,
    )
    # What goes through descriptors is not ordered with stores: it must not overlap what is written.
    tlx.require_disjoint("c_ptr", c_ptr, (M, N), (stride_cm, stride_cn), reads=(a, b))
    return {"a_desc": a, "b_desc": b, "A_TRANSPOSED": a.transposed, "B_TRANSPOSED": b.transposed}


def _kernel_boxes(BLOCK_M, BLOCK_K, BLOCK_N, **_):
    """One load's TMA box per descriptor, in elements, axes in the order of the guard's views."""
    return {"a_desc": tlx.Box((BLOCK_M, BLOCK_K)), "b_desc": tlx.Box((BLOCK_K, BLOCK_N))}


def specialize_kernel(original):
    """`original`, running _kernel_desc wherever the guard allows it."""
    return tlx.specialized(
        original,
        _kernel_desc,
        guard=_kernel_guard,
        boxes=_kernel_boxes,
        schedule=tlx.Schedule(plain=True),
        fingerprint="a86f2ff9b362f6fd",
    )
