"""The numbers behind the word, counted by hand."""

from __future__ import annotations

import pytest

from tlxify.bench.roofline import H200
from tlxify.limits.chip import CHIP

from .kernels import limit


def test_a_cycle_of_the_tensor_cores_is_the_measured_ceiling_over_sms_and_clock():
    assert CHIP.tensor("fp16") * 132 * 1.755e9 == pytest.approx(790e12)
    assert CHIP.tensor("fp16") == pytest.approx(3410, abs=0.5)
    assert CHIP.tensor("fp16") < 989.4e12 / 132 / 1.83e9 == pytest.approx(4096, rel=1e-3)
    assert (CHIP.tensor("i8"), CHIP.tensor("fp32")) == pytest.approx((2 * 3410.17, 3410.17 / 2), rel=1e-4)
    assert CHIP.rates().ridge == pytest.approx(H200.tflops * 1e3 / H200.gbps)


def test_a_product_by_hand():
    tiles = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "GROUP_M": 8}
    found = limit("gemm/matmul.py", [tiles], M=4096, N=8192, K=2048)
    assert (found.flops, found.bytes) == (2 * 4096 * 8192 * 2048, 2 * (4096 * 2048 + 2048 * 8192 + 4096 * 8192))
    trip = found.trip
    assert trip is not None
    assert (trip.where, trip.count) == ("line 60", 2048 / 64)
    assert trip.effort.flops == 2 * 128 * 256 * 64
    assert trip.effort.bytes == 2 * (128 * 64 + 64 * 256)
    assert (trip.effort.ordinary, trip.effort.special) == (0, 0)
    assert trip.whole.ordinary == 128 * 256, "the cast of the result"
    programs = 32 * 32
    assert found.shares.tensor == pytest.approx(found.flops / 790e6)
    assert found.shares.l2 == pytest.approx(programs * 32 * 49152 / 11_500e3)
    assert found.shares.device == pytest.approx(found.bytes / 4300e3)
    assert found.shares.vector == pytest.approx(programs * 128 * 256 / 128 / 132 / 1755)
    assert found.shares.idle == pytest.approx((8 * 132 / programs - 1) * found.shares.tensor)


def test_attention_by_hand():
    rows, keys, depth = 128, 64, 128
    found = limit("attention/forward.py", [{"BLOCK_M": rows, "BLOCK_N": keys}], Q_LEN=2048, K_LEN=4096, HEAD_DIM=depth)
    trip = found.trip
    assert trip is not None
    assert trip.count == 4096 / keys
    assert trip.effort.flops == 4 * rows * keys * depth
    assert trip.effort.bytes == 2 * 2 * keys * depth, "K and V; Q is loaded once"
    # exp2 of the scores and of the rescaling factors; six things per score, one per element of the sum, four per row.
    assert trip.effort.special == rows * keys + rows
    assert trip.effort.ordinary == 6 * rows * keys + rows * depth + 4 * rows
    assert trip.effort.vector(found.rates) == pytest.approx((49152 + 16384 + 512) / 128 + (8192 + 128) / 16)
    assert trip.whole.bytes == trip.count * trip.effort.bytes + 2 * rows * depth


def test_the_mean_program_of_causal_attention():
    found = limit("attention/causal.py", [{"BLOCK_M": 128, "BLOCK_N": 64}], N_CTX=4096, HEAD_DIM=64)
    assert found.trip is not None
    assert found.trip.count == pytest.approx(sum(128 * pid / 64 for pid in range(32)) / 32)


def test_each_dot_has_the_rate_of_its_own_operands():
    fp16 = limit("quantized/dequantized_activations.py", M=4096, N=4096, K=4096)
    assert fp16.trip is not None
    assert [product.dtype for product in fp16.trip.effort.products] == ["fp16"], "int8 is cast before it is multiplied"
    i8 = limit("quantized/int8_rows.py", M=4096, N=4096, K=4096)
    assert i8.trip is not None
    assert [(product.dtype, product.rate) for product in i8.trip.effort.products] == [("i8", CHIP.tensor("i8"))]
    assert i8.rates.tflops == pytest.approx(1580)


def test_two_dots_of_a_trip_and_one_behind_the_loop():
    found = limit("fused/low_rank.py", M=4096, N=4096, K=4096)
    assert found.trip is not None
    assert len(found.trip.effort.products) == 2
    assert len(found.trip.whole.products) == 3
    assert found.trip.whole.tensor > found.trip.count * found.trip.effort.tensor
