"""Which of three words a launch gets: as engineers would say, and as was measured."""

from __future__ import annotations

import pytest

from .kernels import limit


def test_a_large_product_is_limited_by_the_tensor_cores():
    found = limit("gemm/matmul.py", M=8192, N=8192, K=8192)
    assert found.word == "tensor cores"
    assert found.intensity > 10 * found.rates.ridge


@pytest.mark.parametrize("sizes", [{"M": 8192, "N": 8192, "K": 64}, {"M": 16, "N": 16384, "K": 8192}])
def test_one_trip_and_few_rows_are_limited_by_memory(sizes):
    found = limit("gemm/matmul.py", **sizes)
    assert found.word == "memory"
    assert found.intensity < found.rates.ridge


def test_small_tiles_are_limited_by_what_l2_brings():
    small = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64, "GROUP_M": 8}
    found = limit("gemm/matmul.py", [small], M=4096, N=4096, K=4096)
    assert (found.word, found.shares.l2 > found.shares.device) == ("memory", True)


def test_half_the_columns_leave_attention_to_its_softmax():
    """As measured: from 128 columns to 64 the time of the best conversion fell by a third, its products by half."""
    assert limit("attention/forward.py", Q_LEN=4096, K_LEN=4096, HEAD_DIM=64).word == "orchestration"
    assert limit("attention/forward.py", Q_LEN=4096, K_LEN=4096, HEAD_DIM=128).word == "tensor cores"


def test_fewer_programs_than_sms_are_limited_by_that():
    found = limit("gemm/matmul.py", M=256, N=256, K=8192)
    assert found.word == "orchestration"
    assert found.spread is not None
    assert (found.spread.units, found.spread.waves, found.spread.sms) == (8, 1, 132)
    assert found.shares.idle > found.shares.tensor + found.shares.memory


def test_a_last_wave_with_hardly_any_program_costs_as_much_as_a_whole_one():
    tiles = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8}
    full = limit("gemm/matmul.py", [tiles], M=128 * 12, N=128 * 11, K=8192)
    more = limit("gemm/matmul.py", [tiles], M=128 * 19, N=128 * 7, K=8192)
    assert full.spread is not None
    assert more.spread is not None
    assert (full.spread.units, full.spread.idle, full.spread.waves) == (132, 0.0, 1)
    assert (more.spread.units, more.spread.waves) == (133, 2)
    assert more.shares.least == pytest.approx(2 * full.shares.least)


def test_tiles_that_programs_deal_out_are_spread_as_programs_are():
    found = limit("gemm/persistent.py", M=4096, N=4096, K=4096)
    assert found.spread is not None
    assert (found.spread.dealt, found.spread.units, found.spread.waves) == (True, 512, 4)


def test_the_config_that_could_be_fastest_is_taken_and_others_are_told():
    found = limit("gemm/matmul.py", M=4096, N=4096, K=4096)
    assert "BLOCK_M=128, BLOCK_N=256" in found.config
    others = [other for other in found.elsewhere if other.launch == found.launch]
    assert others
    assert {other.word for other in others} == {"memory"}
    assert min(other.microseconds for other in others) > found.shares.least


def test_without_sizes_it_is_about_the_launches_of_bench():
    found = limit("gemm/matmul.py")
    assert found.launch.startswith("M=4096, N=8192, K=4096")
    assert [other.launch.split(", ACT")[0] for other in found.elsewhere if other.launch != found.launch] == [
        "M=8192, N=16384, K=512",
        "M=2048, N=4096, K=16384",
    ]


def test_without_a_dot_bytes_alone_are_counted():
    found = limit("attention/delta.py")
    assert (found.word, found.flops, found.trip, found.spread) == ("memory", 0.0, None, None)
    assert found.shares.least == pytest.approx(found.bytes / 4.3e6)
