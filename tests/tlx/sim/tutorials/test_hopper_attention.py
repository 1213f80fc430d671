"""The attention tutorials for Hopper: right on every schedule, with nothing to find."""

import numpy as np
import pytest

import tlx

from ..launch import SCHEDULES, descriptor, padded
from .wheel import load, needs_wheel

pytestmark = needs_wheel

CONTEXT, HEAD, ROWS = 80, 16, 32
BLOCK = 16

KERNELS = {
    "hopper_fa_ws.py": ("_attn_fwd_ws", {"NUM_BUFFERS": 2}),
    "hopper_fa_ws_pipelined.py": ("_attn_fwd_ws_pipelined", {"NUM_BUFFERS": 2}),
    "hopper_fa_ws_pipelined_pingpong.py": ("_attn_fwd_ws_pipelined_pingpong", {"NUM_BUFFERS": 2}),
    "hopper_fa_ws_pipelined_pingpong_persistent.py": (
        "_attn_fwd_ws_pipelined_pingpong_persistent",
        {"NUM_BUFFERS_Q": 1, "NUM_BUFFERS_KV": 2},
    ),
}


def attention(q, k, v, scale, causal=False):
    """The result, and the base-2 logarithm of each row's sum."""
    scores = scale * (q.astype(np.float32) @ k.astype(np.float32).T)
    if causal:
        scores = np.where(np.tri(len(scores), dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    total = weights.sum(1)
    return weights / total[:, None] @ v.astype(np.float32), np.log2(np.exp(scores).sum(1))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("file", KERNELS)
def test_attention(file, schedule):
    name, buffers = KERNELS[file]
    heads, context = 2, 96
    rng = np.random.default_rng(0)
    q, k, v, out = (padded(rng, heads * context, HEAD) for _ in range(4))
    lse = np.zeros((heads, context), np.float32)
    rows = ROWS // 2
    tiles = descriptor(q, [rows, HEAD]), descriptor(k, [BLOCK, HEAD]), descriptor(v, [BLOCK, HEAD])
    args = (0.5, lse, 1, heads, *tiles, descriptor(out, [rows, HEAD]), context)
    constants = dict(
        HEAD_DIM=HEAD, BLOCK_M=ROWS, BLOCK_N=BLOCK, FP8_OUTPUT=False, NUM_MMA_WARPS=8, NUM_MMA_GROUPS=2,
        num_warps=4, **buffers,
    )  # fmt: skip
    grid = (4,) if "persistent" in file else (context // ROWS, heads)
    tlx.sim.run(getattr(load(file), name), grid, args, constants, schedule=schedule).raise_for_findings()
    for head in range(heads):
        part = slice(head * context, (head + 1) * context)
        wanted, log = attention(q[part], k[part], v[part], 0.5)
        np.testing.assert_allclose(out[part], wanted, rtol=5e-3, atol=4e-3)
        np.testing.assert_allclose(lse[head], log, rtol=1e-3, atol=1e-3)
