"""A source kernel, and all that a converter would write for it, for tests that launch nothing."""

import triton
import triton.language as tl

import tlx.launch as launch

SCALE = tl.constexpr(2.0)


@triton.jit
def twice(x):
    return x * SCALE


@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr,
    M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    ACTIVATION: tl.constexpr = "",
):  # fmt: skip
    pid = tl.program_id(0)
    tiles_n = tl.cdiv(N, BLOCK_N)
    offs_m = pid // tiles_n * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid % tiles_n * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        offs_k = k + tl.arange(0, BLOCK_K)
        a_mask = (offs_m[:, None] < M) & (offs_k[None, :] < K)
        b_mask = (offs_k[:, None] < K) & (offs_n[None, :] < N)
        a = tl.load(a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak, mask=a_mask, other=0.0)
        b = tl.load(b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn, mask=b_mask, other=0.0)
        acc = tl.dot(a, b, acc)
    if ACTIVATION == "twice":
        acc = twice(acc)
    c_mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    tl.store(c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn, acc.to(tl.float16), mask=c_mask)


def guard(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn, **_):
    a = launch.tma_view("a_ptr", a_ptr, shape=(M, K), strides=(stride_am, stride_ak))
    b = launch.tma_view("b_ptr", b_ptr, shape=(K, N), strides=(stride_bk, stride_bn))
    launch.require_dtypes({"a_ptr": a_ptr, "b_ptr": b_ptr}, ("fp16", "bf16"))
    launch.require_disjoint("c_ptr", c_ptr, shape=(M, N), strides=(stride_cm, stride_cn), reads=(a, b))
    return {"a_desc": a, "b_desc": b, "A_TRANSPOSED": a.transposed, "B_TRANSPOSED": b.transposed}


def boxes(BLOCK_M, BLOCK_N, BLOCK_K, CONSUMERS, **_):
    return {
        "a_desc": launch.Box((BLOCK_M // CONSUMERS, BLOCK_K), count=CONSUMERS),
        "b_desc": launch.Box((BLOCK_K, BLOCK_N)),
    }


def persistent(
    a_desc, b_desc, c_ptr, M, N, K, stride_cm, stride_cn, GRID_0, BLOCK_M, BLOCK_N, BLOCK_K, ACTIVATION,
    A_TRANSPOSED, B_TRANSPOSED, STAGES, CONSUMERS, CONSUMER_WARPS, CONSUMER_REGISTERS,
):  # fmt: skip
    """The parameters of the converted kernel; a recording stands in for its body."""
