"""Attention on Blackwell: right on every schedule, with nothing to find."""

import numpy as np
import pytest

import tlx

from ..launch import SCHEDULES, descriptor, padded
from .test_hopper_attention import attention
from .wheel import load, needs_wheel

pytestmark = needs_wheel


#: file → kernel, and whether its grid is one of tiles by heads
KERNELS = {
    "blackwell_fa_ws.py": ("_attn_fwd_ws", True),
    "blackwell_fa_ws_pipelined.py": ("_attn_fwd_ws", True),
    "blackwell_fa_ws_persistent.py": ("_attn_fwd_ws", False),
    "blackwell_fa_ws_pipelined_persistent.py": ("_attn_fwd_ws", False),
    "blackwell_fa_clc.py": ("_attn_fwd_clc", False),
}


def simulate(file, schedule, causal=False, rescale=False, programs=None, warp=False, heads=2, context=64, slots=3):
    """Runs a kernel and compares; ``programs`` are fewer than tiles for those that loop over tiles by themselves.

    ``slots`` are those of the ring of keys and values.
    """
    name, flat = KERNELS[file]
    kernel = getattr(load(file), name)
    head, block, rows = 16, 16, 32
    rng = np.random.default_rng(0)
    q, k, v, out = (padded(rng, heads * context, head) for _ in range(4))
    lse = np.zeros((heads, context), np.float32)
    tiles = descriptor(q, [rows // 2, head]), descriptor(k, [block, head]), descriptor(v, [block, head])
    args = (0.5, lse, 1, heads, *tiles, descriptor(out, [rows // 2, head]), context)
    constants = {
        "HEAD_DIM": head, "BLOCK_M": rows, "BLOCK_N": block, "STAGE": 3 if causal else 1, "FP8_OUTPUT": False,
        "NUM_BUFFERS_Q": 1, "NUM_BUFFERS_KV": slots, "NUM_BUFFERS_QK": 1, "NUM_MMA_GROUPS": 2, "NUM_MMA_SLICES": 2,
        "GROUP_SIZE_N": 1, "RESCALE_OPT": rescale, "USE_WHERE": rescale, "USE_WARP_BARRIER": warp, "NUM_SMS": 2,
        "NUM_CLC_STAGES": 1,
    }  # fmt: skip
    constants = {name: value for name, value in constants.items() if name in kernel.arg_names}
    count = context // rows
    grid = (count, heads) if flat else (programs or count * heads,)
    report = tlx.sim.run(kernel, grid, args, constants, schedule=schedule, fences="compiled")
    report.raise_for_findings()
    for i in range(heads):
        part = slice(i * context, (i + 1) * context)
        wanted, log = attention(q[part], k[part], v[part], 0.5, causal)
        np.testing.assert_allclose(out[part], wanted, rtol=5e-3, atol=4e-3)
        np.testing.assert_allclose(lse[i], log, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("file", KERNELS)
def test_attention(file, schedule):
    simulate(file, schedule, programs=3 if file == "blackwell_fa_ws_persistent.py" else None)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("file", [file for file in KERNELS if file != "blackwell_fa_ws.py"])
def test_causal(file, schedule):
    simulate(file, schedule, causal=True)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("file", ["blackwell_fa_ws_pipelined_persistent.py", "blackwell_fa_clc.py"])
def test_rescaled_only_where_needed(file, schedule):
    simulate(file, schedule, rescale=True, warp=True)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("file", KERNELS)
def test_everything_is_used_again(file, schedule):
    """All tiles by one program where the kernel does not ask for more of them; six trips through two slots."""
    simulate(file, schedule, programs=1 if file == "blackwell_fa_ws_persistent.py" else None, context=96, slots=2)
