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
