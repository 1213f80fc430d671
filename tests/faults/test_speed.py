"""Section D: what is worth converting, and within which budgets."""

from __future__ import annotations

import itertools

import pytest

from tests.faults.trying import converted, dispatched, outcome, product, refused, text_of

pytestmark = pytest.mark.triton


def test_fault_57_a_tall_product_is_persistent():
    kernel = converted("specialized_loop")
    assert kernel.plan.persistence is not None
    config = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "num_warps": 8, "num_stages": 4}
    found = dispatched("specialized_loop", product(65536, 1024, 1024), grid=(512, 8), config=config)
    assert found.path == "specialized", found.text
    assert found.grid == (132,)
    assert (found.kwargs["GRID_0"], found.kwargs["GRID_1"]) == (512, 8)


def test_fault_57_rings_run_on_from_tile_to_tile():
    text = text_of(converted("specialized_loop"))
    producer = text.partition("# Producer")[2].partition("# Consumer")[0]
    assert producer.index("filled = 0") < producer.index("for tile in range(")


@pytest.mark.parametrize("name", ["row_sums", "load_only_loop"])
def test_fault_59_sums_alone_are_left_alone(name):
    assert refused(name) == "TLX301"
    assert outcome(name).verdict_word == "no-dot"


def test_fault_60_elementwise_kernels_are_left_alone():
    assert refused("gated") == "TLX301"
    assert "no `tl.dot`" in outcome("gated").diagnostics[0].message


@pytest.mark.parametrize(("warps", "rows"), list(itertools.product((4, 8), (64, 128, 256))))
def test_fault_65_registers_of_every_task_are_said_and_fit(warps, rows):
    assert "registers=CONSUMER_REGISTERS" in text_of(converted("specialized_loop"))
    for columns in (64, 128, 256):
        config = {"BLOCK_M": rows, "BLOCK_N": columns, "BLOCK_K": 64, "num_warps": warps, "num_stages": 2}
        found = dispatched("specialized_loop", product(512, 512, 256), config=config)
        assert found.path == "specialized", found.text
        plan = found.plan
        consumers = 32 * plan.consumers * plan.consumer_warps * plan.consumer_registers
        assert plan.consumer_registers % 8 == 0
        assert consumers + 128 * 24 <= 65_536 // plan.resident
