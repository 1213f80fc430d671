"""Hand-written matrix products compile to what a specialist expects of them."""

from __future__ import annotations

import pytest

pytest.importorskip("triton")

import tlx
from tests.tlx.kernels.attention_ws import attention_ws
from tests.tlx.kernels.gemm_default_consumers import gemm_default_consumers
from tests.tlx.kernels.gemm_persistent import gemm_persistent
from tests.tlx.kernels.gemm_ws import gemm_ws

pytestmark = pytest.mark.triton

DIMS = {"M": "i32", "N": "i32", "K": "i32", "stride_cm": "i32"}
ALIGNED = ["c_ptr", "stride_cm"]
TILE = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "GROUP_M": 8, "stride_cn": 1}


def desc(dtype, *block):
    return f"tensordesc<{dtype}[{','.join(map(str, block))}]>"


def assert_specialized(facts, *, consumers, product="HGMMA"):
    assert facts.stack == 0
    assert not facts.spills
    assert not facts.serialized, facts.log
    assert not facts.budget_ignored, facts.log
    assert not facts.injected_waits, facts.log
    assert facts.counts["USETMAXREG"] > 0
    assert len(facts.dot_loops) == consumers
    # All k-steps of one tile are in the loop, with a wait for the stage and its release.
    assert all(loop[product] >= 4 and loop["SYNCS"] >= 2 for loop in facts.dot_loops)
    assert len(facts.load_loops) == 1
    assert all("UTMALDG" not in loop for loop in facts.dot_loops), "consumers do not load"
    assert facts.dot_loop_conversions == ()


def test_two_consumer_groups():
    signature = {"a_desc": desc("fp16", 64, 64), "b_desc": desc("fp16", 64, 256), "c_ptr": "*fp16", **DIMS}
    constants = {**TILE, "ACTIVATION": "leaky_relu", "STAGES": 4}
    facts = tlx.compile(gemm_ws, signature, constants, divisible_by_16=ALIGNED).facts
    assert_specialized(facts, consumers=2)
    assert (facts.registers, facts.num_warps) == (168, 12)
    assert facts.shared < 232448
    # Two halves of A and one tile of B for each stage.
    assert facts.load_loops[0]["UTMALDG"] >= 3


@pytest.mark.parametrize(
    ("dtype", "out", "majors", "consumers", "warps", "store", "stages"),
    [
        pytest.param("fp16", "fp16", "row row", 2, 4, "tma", 3, id="2x4 warps, TMA store"),
        pytest.param("bf16", "bf16", "row row", 1, 8, "masked", 4, id="1x8 warps, masked store"),
        pytest.param("bf16", "fp32", "column column", 2, 4, "masked", 2, id="both operands transposed"),
        pytest.param("bf16", "bf16", "row column", 1, 8, "tma", 3, id="x @ w.T, TMA store"),
        pytest.param("fp8e4nv", "bf16", "row column", 2, 4, "masked", 3, id="fp8"),
    ],
)
def test_persistent(dtype, out, majors, consumers, warps, store, stages):
    a_major, b_major = majors.split()
    depth = 128 if dtype.startswith("fp8") else 64
    rows = 128 // consumers
    signature = {
        "a_desc": desc(dtype, rows, depth) if a_major == "row" else desc(dtype, depth, rows),
        "b_desc": desc(dtype, depth, 256) if b_major == "row" else desc(dtype, 256, depth),
        "c_desc": desc(out, rows, 256),
        "c_ptr": f"*{out}",
        **DIMS,
    }
    constants = {
        **TILE,
        "BLOCK_K": depth,
        "PROGRAMS": 132,
        "A_IS_KM": a_major == "column",
        "B_IS_NK": b_major == "column",
        "CONSUMERS": consumers,
        "CONSUMER_WARPS": warps,
        "CONSUMER_REGISTERS": 232,
        "TMA_STORE": store == "tma",
        "STAGES": stages,
    }
    facts = tlx.compile(gemm_persistent, signature, constants, divisible_by_16=ALIGNED).facts
    assert_specialized(facts, consumers=consumers, product="QGMMA" if dtype.startswith("fp8") else "HGMMA")
    assert (facts.counts["UTMASTG"] > 0) == (store == "tma")


def test_default_consumers_share_what_the_producer_leaves():
    signature = {"a_desc": desc("fp16", 64, 64), "b_desc": desc("fp16", 64, 256), "c_ptr": "*fp16", **DIMS}
    constants = {**TILE, "CONSUMERS": 2, "PRODUCER_REGISTERS": 24, "STAGES": 4}
    compiled = tlx.compile(gemm_default_consumers, signature, constants, divisible_by_16=ALIGNED)
    assert_specialized(compiled.facts, consumers=2)
    # (64512 - 128 * 24) / 256 threads
    assert "setmaxnreg.inc.sync.aligned.u32 \t240" in compiled.asm["ptx"]


def test_attention_keeps_probabilities_in_registers():
    signature = {name: desc("fp16", 64, 128) for name in ("q_desc", "out_desc")}
    signature |= {name: desc("fp16", 128, 128) for name in ("k_desc", "v_desc")}
    signature |= {"qk_scale": "fp32", "N_CTX": "i32"}
    constants = {"BLOCK_M": 128, "BLOCK_N": 128, "HEAD": 128, "GROUPS": 2, "STAGES": 2}
    facts = tlx.compile(attention_ws, signature, constants).facts
    assert_specialized(facts, consumers=2)
    # 8 steps of q·k and 8 of p·v; nothing goes through shared memory between them.
    assert all(loop["HGMMA"] == 16 and "STS" not in loop for loop in facts.dot_loops)
