"""Tiles loaded from shared memory in a loop: wide loads, and sums for which no warp waits for another."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("triton")

import triton.language as tl

import tlx

pytestmark = pytest.mark.triton


@tlx.jit
def summed(desc, out, n, AXIS: tl.constexpr, SIDE: tl.constexpr):
    tile = tlx.local_alloc((64, 128), tl.float16, 1)
    bar = tlx.alloc_barriers(1)
    total = tl.zeros((SIDE,), tl.float32)
    for k in range(n):
        tlx.barrier_expect_bytes(bar[0], 16384)
        tlx.async_descriptor_load(desc, tile[0], [0, k], bar[0])
        tlx.barrier_wait(bar[0], k & 1)
        wide = tlx.local_load(tile[0]).to(tl.float32)
        total += tl.sum(wide * wide, AXIS)
    tl.store(out + tl.arange(0, SIDE), total)


def layout_of_load(**constexprs):
    """Elements per thread, and warps, of the layout in which the tile is loaded; and the text."""
    signature = {"desc": "tensordesc<fp16[64, 128]>", "out": "*fp32", "n": "i32"}
    text = tlx.compile(summed, signature, constexprs, num_warps=4).asm["ttgir"]
    (name,) = re.findall(r"ttg\.local_load .*tensor<64x128xf16, (#\w+)>", text)
    (found,) = re.findall(rf"^{name} = #ttg.blocked<{{sizePerThread = (\[.*?\]), .*warpsPerCTA = (\[.*?\])", text, re.M)
    return *found, text


@pytest.mark.parametrize(
    ("axis", "side", "each", "warps"),
    [
        (1, 64, "[1, 8]", "[4, 1]"),
        (-1, 64, "[1, 8]", "[4, 1]"),
        (0, 128, "[1, 4]", "[1, 4]"),
        (-2, 128, "[1, 4]", "[1, 4]"),
    ],
)
def test_no_warp_waits_for_another(axis, side, each, warps):
    found, standing, text = layout_of_load(AXIS=axis, SIDE=side)
    assert (found, standing) == (each, warps)
    loop = text[text.index("scf.for") : text.index("scf.yield")]
    assert "convert_layout" not in loop
