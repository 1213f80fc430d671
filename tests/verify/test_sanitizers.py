"""Triton's sanitizers take our kernels: compiled here, run by the rung `ran` where `TLXIFY_CONSAN=1` asks for it."""

from __future__ import annotations

import inspect

import pytest

pytest.importorskip("triton")

from triton.backends.nvidia import compiler

import tlx
from tests.tlx.launch import gemm

pytestmark = [pytest.mark.triton, pytest.mark.slow]


@pytest.mark.skipif("fpsan" not in inspect.getsource(compiler), reason="this Triton has no floating-point sanitizer")
def test_the_floating_point_sanitizer_compiles_a_conversion():
    tiles = {"BLOCK_M": 64, "BLOCK_N": 16, "BLOCK_K": 16, "ACTIVATION": "", "STAGES": 2, "CONSUMERS": 1}
    names = [parameter.name for parameter in gemm.matmul_ws.params if not parameter.is_constexpr]
    signature = dict.fromkeys(names, "i32")
    signature |= {"a_desc": "tensordesc<fp16[64,16]>", "b_desc": "tensordesc<fp16[16,16]>", "c_ptr": "*fp16"}
    constants = {**tiles, "A_TRANSPOSED": False, "B_TRANSPOSED": False, "CONSUMER_WARPS": 4, "CONSUMER_REGISTERS": 104}
    plain = tlx.compile(gemm.matmul_ws, signature, constants)
    watched = tlx.compile(gemm.matmul_ws, signature, constants, options={"instrumentation_mode": "fpsan"})
    # Floats are compared as what they were computed from: no product is left to the tensor cores.
    assert "wgmma.mma_async" in plain.asm["ptx"]
    assert "wgmma.mma_async" not in watched.asm["ptx"]
