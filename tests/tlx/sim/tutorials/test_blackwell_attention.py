"""Attention on Blackwell: right on every schedule, with nothing to find."""

import numpy as np
import pytest

import tlx

from ..launch import SCHEDULES, descriptor, padded
from .test_hopper_attention import attention
from .wheel import load, needs_wheel

pytestmark = needs_wheel


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_fa_ws(schedule):
    heads, context, head, block, rows = 2, 64, 16, 16, 32
    rng = np.random.default_rng(0)
    q, k, v, out = (padded(rng, heads * context, head) for _ in range(4))
    lse = np.zeros((heads, context), np.float32)
    tiles = descriptor(q, [rows // 2, head]), descriptor(k, [block, head]), descriptor(v, [block, head])
    args = (0.5, lse, 1, heads, *tiles, descriptor(out, [rows // 2, head]), context)
    constants = {
        "HEAD_DIM": head, "BLOCK_M": rows, "BLOCK_N": block, "FP8_OUTPUT": False, "NUM_BUFFERS_KV": 3,
        "NUM_BUFFERS_QK": 1, "NUM_MMA_GROUPS": 2,
    }  # fmt: skip
    kernel = load("blackwell_fa_ws.py")._attn_fwd_ws
    report = tlx.sim.run(kernel, (context // rows, heads), args, constants, schedule=schedule, fences="compiled")
    report.raise_for_findings()
    for i in range(heads):
        part = slice(i * context, (i + 1) * context)
        wanted, log = attention(q[part], k[part], v[part], 0.5)
        np.testing.assert_allclose(out[part], wanted, rtol=5e-3, atol=4e-3)
        np.testing.assert_allclose(lse[i], log, rtol=1e-3, atol=1e-3)


def run_persistent(file, name, schedule, more, causal=False, heads=2, context=64):
    """The pipelined kernels, which take their tiles by launch control."""
    head, block, rows = 16, 16, 32
    rng = np.random.default_rng(0)
    q, k, v, out = (padded(rng, heads * context, head) for _ in range(4))
    lse = np.zeros((heads, context), np.float32)
    tiles = descriptor(q, [rows // 2, head]), descriptor(k, [block, head]), descriptor(v, [block, head])
    args = (0.5, lse, 1, heads, *tiles, descriptor(out, [rows // 2, head]), context)
    constants = {
        "HEAD_DIM": head, "BLOCK_M": rows, "BLOCK_N": block, "STAGE": 3 if causal else 1, "NUM_BUFFERS_Q": 1,
        "NUM_BUFFERS_KV": 3, "NUM_BUFFERS_QK": 1, "NUM_MMA_GROUPS": 2, "NUM_MMA_SLICES": 2, "GROUP_SIZE_N": 1, **more,
    }  # fmt: skip
    grid = (context // rows * heads,)
    report = tlx.sim.run(getattr(load(file), name), grid, args, constants, schedule=schedule, fences="compiled")
    report.raise_for_findings()
    for i in range(heads):
        part = slice(i * context, (i + 1) * context)
        wanted, log = attention(q[part], k[part], v[part], 0.5, causal)
        np.testing.assert_allclose(out[part], wanted, rtol=5e-3, atol=4e-3)
        np.testing.assert_allclose(lse[i], log, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("rescale", [False, True])
def test_pipelined_persistent(schedule, causal, rescale):
    more = {"RESCALE_OPT": rescale, "USE_WHERE": rescale, "USE_WARP_BARRIER": causal}
    run_persistent("blackwell_fa_ws_pipelined_persistent.py", "_attn_fwd_ws", schedule, more, causal)
