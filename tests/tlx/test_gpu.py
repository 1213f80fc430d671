"""The kernels compute what they should, on a Hopper GPU, against torch."""

from __future__ import annotations

import pytest

pytest.importorskip("triton")
pytest.importorskip("torch")

import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.tlx.kernels.attention_ws import attention_ws
from tests.tlx.kernels.gemm_default_consumers import gemm_default_consumers
from tests.tlx.kernels.gemm_persistent import gemm_persistent
from tests.tlx.kernels.gemm_ws import gemm_ws

pytestmark = [pytest.mark.triton, pytest.mark.torch, pytest.mark.gpu]

#: ragged in every direction, but with rows that TMA can address
SHAPES = [(512, 512, 512), (304, 520, 200), (128, 256, 64), (64, 8, 8), (1000, 1000, 1000)]


def cdiv(a, b):
    return -(-a // b)


def operands(m, n, k, dtype):
    torch.manual_seed(0)
    a = torch.randn((m, k), device="cuda").to(dtype)
    b = torch.randn((k, n), device="cuda").to(dtype)
    return a, b, torch.full((m, n), float("nan"), device="cuda", dtype=dtype)


def described(tensor, *block):
    return TensorDescriptor.from_tensor(tensor, list(block))


def agree(got, a, b):
    want = a.double() @ b.double()
    # Products are exact in fp32 sums of K terms; what is left is the rounding of the result.
    bound = torch.finfo(got.dtype).eps * (want.abs() + (a.double().abs() @ b.double().abs()) * 2**-10)
    assert (got.double() - want).abs().le(bound + 1e-6).all()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_two_consumer_groups(shape, dtype):
    m, n, k = shape
    a, b, c = operands(m, n, k, dtype)
    gemm_ws[(cdiv(m, 128) * cdiv(n, 256),)](
        described(a, 64, 64), described(b, 64, 256), c, m, n, k, c.stride(0), c.stride(1),
        BLOCK_M=128, BLOCK_N=256, BLOCK_K=64, GROUP_M=8, ACTIVATION="", STAGES=4, num_warps=4,
    )  # fmt: skip
    agree(c, a, b)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("transposed", ["", "a", "b", "ab"])
@pytest.mark.parametrize("tma_store", [False, True])
@pytest.mark.parametrize(("consumers", "warps"), [(2, 4), (1, 8)])
def test_persistent(shape, transposed, tma_store, consumers, warps):
    m, n, k = shape
    a, b, c = operands(m, n, k, torch.bfloat16)
    rows = 128 // consumers
    a_desc = described(a.T.contiguous(), 64, rows) if "a" in transposed else described(a, rows, 64)
    b_desc = described(b.T.contiguous(), 256, 64) if "b" in transposed else described(b, 64, 256)
    if "a" in transposed and m % 8:
        pytest.skip("TMA cannot address the rows of a.T")
    programs = 8  # few, so that each runs through several tiles
    gemm_persistent[(programs,)](
        a_desc, b_desc, described(c, rows, 256), c, m, n, k, c.stride(0), c.stride(1),
        PROGRAMS=programs, BLOCK_M=128, BLOCK_N=256, BLOCK_K=64, GROUP_M=8,
        A_IS_KM="a" in transposed, B_IS_NK="b" in transposed,
        CONSUMERS=consumers, CONSUMER_WARPS=warps, CONSUMER_REGISTERS=232, TMA_STORE=tma_store, STAGES=3, num_warps=4,
    )  # fmt: skip
    agree(c, a, b)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("consumers", "warps", "registers"), [(2, 4, 24), (1, 8, 40), (2, 4, None)])
def test_default_consumers(shape, consumers, warps, registers):
    m, n, k = shape
    a, b, c = operands(m, n, k, torch.float16)
    gemm_default_consumers[(cdiv(m, 128) * cdiv(n, 256),)](
        described(a, 128 // consumers, 64), described(b, 64, 256), c, m, n, k, c.stride(0), c.stride(1),
        BLOCK_M=128, BLOCK_N=256, BLOCK_K=64, GROUP_M=8, CONSUMERS=consumers, PRODUCER_REGISTERS=registers, STAGES=4,
        num_warps=warps,
    )  # fmt: skip
    agree(c, a, b)


@pytest.mark.parametrize("context", [128, 1024])
def test_attention(context):
    torch.manual_seed(0)
    heads = 6
    q, k, v = (torch.randn((heads, context, 128), device="cuda", dtype=torch.float16) for _ in range(3))
    out = torch.full_like(q, float("nan"))
    flat = [tensor.view(heads * context, 128) for tensor in (q, k, v, out)]
    blocks = (64, 128, 128, 64)
    scale = 128**-0.5
    attention_ws[(cdiv(context, 128), heads)](
        *(described(tensor, block, 128) for tensor, block in zip(flat, blocks, strict=True)),
        scale * 1.4426950408889634, context, BLOCK_M=128, BLOCK_N=128, HEAD=128, GROUPS=2, STAGES=2, num_warps=4,
    )  # fmt: skip
    want = torch.softmax(q.double() @ k.double().transpose(1, 2) * scale, -1) @ v.double()
    assert (out.double() - want).abs().max() < 2e-3
