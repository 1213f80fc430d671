"""Layouts of shared memory that a kernel asks for: what becomes of them, and what is said of those that do not fit."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("triton")

import triton.language as tl
from triton.compiler.errors import CompilationError

import tlx

pytestmark = pytest.mark.triton

BASES = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]]
ONES, ROWS = [1, 1], [1, 0]

#: a layout of 64 x 64 elements of 16 bits → how it appears in Triton's IR
LAYOUTS = {
    tlx.swizzled_layout(3, 3, 3): "swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>",
    tlx.swizzled_layout(
        2, 2, 5, order=[0, 1]
    ): "swizzled_shared<{vec = 4, perPhase = 2, maxPhase = 4, order = [0, 1]}>",
    tlx.swizzled_layout.make_default(2): "swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>",
    tlx.swizzled_shared_layout_encoding(4, 2, 8, ROWS, ONES, ONES, ONES, ROWS): (
        "swizzled_shared<{vec = 4, perPhase = 2, maxPhase = 8, order = [1, 0]}>"
    ),
    tlx.swizzled_shared_layout_encoding.make_default(rank=2): (
        "swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>"
    ),
    tlx.nv_mma_shared_layout_encoding.make_default([64, 64], tl.float16): (
        "nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>"
    ),
    tlx.nv_mma_shared_layout_encoding([64, 64], ROWS, tl.float16, ONES, ONES, ROWS, False, False): (
        "nvmma_shared<{swizzlingByteWidth = 0, transposed = false, elementBitWidth = 16}>"
    ),
    tlx.nv_mma_shared_layout_encoding.make_default((64, 64), tl.float16).make_permute((1, 0)): (
        "nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>"
    ),
    tlx.padded_shared_layout_encoding.with_identity_for([[64, 8]], [64, 64]): (
        "padded_shared<[64:+8] {order = [1, 0], shape = [64, 64]}>"
    ),
    tlx.padded_shared_layout_encoding.with_bases([[64, 8]], BASES, [64, 64]): (
        "padded_shared<[64:+8] {order = [1, 0], shape = [64, 64]}>"
    ),
    tlx.shared_linear_layout_encoding(BASES): f"shared_linear<{{offset = {BASES}}}, alignment = 16>",
}


@tlx.jit
def through(x, y, LAYOUT: tl.constexpr, HOW: tl.constexpr):
    at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tiles = tlx.local_alloc((64, 64), tl.float16, 2, layout=LAYOUT)
    if HOW == "copied":
        tlx.async_load(x + at, tiles[1])
        tlx.async_load_commit_group()
        tlx.async_load_wait_group(0)
    else:
        tlx.local_store(tiles[1], tl.load(x + at))
    if HOW == "transposed":
        tl.store(y + at, tlx.local_load(tlx.local_trans(tiles[1])))
    elif HOW == "sliced":
        part = tl.arange(0, 32)[:, None] * 64 + tl.arange(0, 32)[None, :]
        tl.store(y + part, tlx.local_load(tlx.local_slice(tiles[1], [32, 0], [32, 32])))
    elif HOW == "squared":
        tl.store(y + at, tlx.async_dot_wait(0, tlx.async_dot(tiles[1], tiles[1])).to(tl.float16))
    elif HOW == "reused":
        other = tlx.local_alloc((64, 64), tl.float16, 2, reuse=tiles)
        tl.store(y + at, tlx.local_load(other[1]))
    elif HOW == "reinterpreted":
        tl.store(y + at, tlx.local_load(tlx.local_reinterpret(tiles[1], tl.int16)).to(tl.float16, bitcast=True))
    else:
        tl.store(y + at, tlx.local_load(tiles[1]))


def compiled(layout, how="stored", target="sm_90"):
    return tlx.compile(through, {"x": "*fp16", "y": "*fp16"}, {"LAYOUT": layout, "HOW": how}, target=target)


def refused(layout, how="stored", target="sm_90"):
    with pytest.raises((CompilationError, tlx.TLXError)) as caught:
        compiled(layout, how, target)
    return str(caught.value)


@pytest.mark.parametrize("how", ["stored", "transposed", "sliced"])
@pytest.mark.parametrize(("layout", "text"), LAYOUTS.items(), ids=[str(n) for n in range(len(LAYOUTS))])
def test_a_tile_gets_the_layout_that_is_asked_for(layout, text, how):
    made = compiled(layout, how)
    assert f"= #ttg.{text}" in made.asm["ttgir"]
    assert made.shared == (2 * 64 * 72 - 8) * 2 if "padded" in text else 2 * 64 * 64 * 2


@pytest.mark.parametrize("layout", LAYOUTS, ids=[str(n) for n in range(len(LAYOUTS))])
def test_no_value_depends_on_it(layout):
    x, y = np.arange(4096, dtype=np.float16).reshape(64, 64), np.zeros((64, 64), np.float16)
    tlx.sim.run(through, (1,), (x, y), {"LAYOUT": layout, "HOW": "transposed"}).raise_for_findings()
    np.testing.assert_array_equal(y, x.T)


def test_lds_may_be_padded_and_swizzled():
    # A wave's copy is 64 lanes of 16 bytes that lie together, so padding comes after a multiple of that.
    padded = tlx.padded_shared_layout_encoding.with_identity_for([[512, 16]], [64, 64], [1, 0])
    assert "#ttg.padded_shared<[512:+16]" in compiled(padded, "copied", "gfx950").asm["ttgir"]
    assert "maxPhase = 8" in compiled(tlx.swizzled_layout(3, 3, 3), "stored", "gfx942").asm["ttgir"]
    default = tlx.nv_mma_shared_layout_encoding.make_default([64, 64], tl.float16)
    assert "nv_mma_shared_layout_encoding needs an NVIDIA GPU" in refused(default, target="gfx950")


def test_the_default_is_what_a_tile_gets_anyway():
    default = tlx.nv_mma_shared_layout_encoding.make_default([64, 64], tl.float16)
    for how in ("squared", "copied", "reused", "reinterpreted"):
        with_it, without = (compiled(layout, how).asm["ptx"] for layout in (default, None))
        assert with_it == without


@pytest.mark.parametrize(
    ("layout", "how", "said"),
    [
        (tlx.swizzled_layout(3, 3, 3), "squared", "operand A has a layout that wgmma cannot read"),
        (tlx.swizzled_layout(3, 3, 3), "reused", "a whole tile or buffer in its default layout"),
        (tlx.swizzled_layout(3, 3, 3), "reinterpreted", "a whole tile or buffer in its default layout"),
        (tlx.swizzled_layout(3, 0, 6), "copied", "can copy only 2 bytes per thread"),
        (
            tlx.nv_mma_shared_layout_encoding([64, 64], [0, 1], tl.float16, ONES, ONES, ROWS, False, True),
            "copied",
            "writes 2 bytes at a time, since its tile is transposed",
        ),
        (tlx.padded_shared_layout_encoding.with_identity_for([[64, 8]], [64, 64]), "copied", "cp.async cannot write"),
        (tlx.padded_shared_layout_encoding.with_identity_for([[64, 8]], [32, 64]), "stored", "for a tile of [64, 64]"),
        (tlx.swizzled_layout(3, 3, 1), "stored", "shift + base must be at least 6"),
        (tlx.swizzled_layout(3, 3, 3, order=[0]), "stored", "must list the axes 0 to 1, the fastest first, not (0,)"),
        (tlx.shared_linear_layout_encoding([[1], [2]]), "stored", "are vectors of 2 numbers"),
        (tlx.nv_mma_shared_layout_encoding.make_default([64, 64], tl.int8), "stored", "both must be the tile's"),
        (tlx.tensor_memory_layout_encoding.make_default([64, 64]), "stored", "is no layout of shared memory"),
        ("swizzled", "stored", "layout is a layout of shared memory, not 'swizzled'"),
    ],
)
def test_a_layout_that_does_not_fit_is_refused(layout, how, said):
    assert said in refused(layout, how)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: tlx.swizzled_layout(-1), "three numbers of bits"),
        (lambda: tlx.swizzled_shared_layout_encoding(3, 1, 1, ROWS, ONES, ONES, ONES, ROWS), "a power of two, not 3"),
        (lambda: tlx.swizzled_shared_layout_encoding(1, 1, 1, ROWS, ONES, [2, 1], ONES, ROWS), "a program is one CTA"),
        (lambda: tlx.padded_shared_layout_encoding.with_identity_for([], [64]), "as many intervals as paddings"),
        (lambda: tlx.padded_shared_layout_encoding.with_identity_for([[8, 8], [8, 4]], [64]), "intervals must differ"),
        (lambda: tlx.shared_linear_layout_encoding([[1]], [[1]]), "block_bases must be empty"),
        (lambda: tlx.shared_layout_encoding().gluon([64], tl.int8), "no layout by itself"),
    ],
)
def test_what_is_no_layout(make, said):
    with pytest.raises(tlx.TLXError, match=said):
        make()


@tlx.jit
def stored(tile, value):
    tlx.local_store(tile, value)


@tlx.jit
def made_inside(y, EXTENT: tl.constexpr):
    at = tl.arange(0, EXTENT)[:, None] * EXTENT + tl.arange(0, EXTENT)[None, :]
    pairs: tl.constexpr = [[EXTENT, 8]]
    LAYOUT: tl.constexpr = tlx.padded_shared_layout_encoding.with_identity_for(pairs, [EXTENT, EXTENT], [1, 0])
    plain = tlx.local_alloc((EXTENT, EXTENT), tl.int32, 1, layout=tlx.swizzled_shared_layout_encoding.make_default(2))
    padded = tlx.local_alloc((EXTENT, EXTENT), tl.int32, 1, layout=LAYOUT)
    swizzled = tlx.local_alloc((EXTENT, EXTENT), tl.int32, 1, layout=tlx.swizzled_layout(bits=2, base=2, shift=3))
    stored(plain[0], at)
    stored(padded[0], tlx.local_load(plain[0]))
    stored(swizzled[0], tlx.local_load(padded[0]))
    tl.store(y + at, tlx.local_load(swizzled[0]))


def test_a_kernel_makes_them_and_hands_tiles_to_helpers():
    text = tlx.compile(made_inside, {"y": "*i32"}, {"EXTENT": 32}).asm["ttgir"]
    assert all(
        kind in text for kind in ("maxPhase = 1,", "padded_shared<[32:+8]", "vec = 4, perPhase = 1, maxPhase = 4")
    )
    y = np.zeros((32, 32), np.int32)
    tlx.sim.run(made_inside, (1,), (y,), {"EXTENT": 32}).raise_for_findings()
    np.testing.assert_array_equal(y.ravel(), np.arange(1024))


@tlx.jit
def copied_by_tma(desc, LAYOUT: tl.constexpr):
    tile = tlx.local_alloc((64, 64), tl.float16, 1, layout=LAYOUT)
    bars = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(bars[0], 8192)
    tlx.async_descriptor_load(desc, tile[0], [0, 0], bars[0])
    tlx.barrier_wait(bars[0], 0)


def test_tma_writes_to_the_layout_that_its_descriptor_has():
    signature = {"desc": "tensordesc<fp16[64,64]>"}
    default = tlx.nv_mma_shared_layout_encoding.make_default([64, 64], tl.float16)
    assert "cp.async.bulk.tensor" in tlx.compile(copied_by_tma, signature, {"LAYOUT": default}).asm["ptx"]
    flat = tlx.nv_mma_shared_layout_encoding([64, 64], ROWS, tl.float16, ONES, ONES, ROWS, False, False)
    for layout, said in (
        (flat, "the tile is swizzled by 0 bytes, and what the descriptor copies by 128"),
        (tlx.swizzled_layout(3, 3, 3), "TMA cannot reach a tile of layout"),
    ):
        with pytest.raises(CompilationError) as caught:
            tlx.compile(copied_by_tma, signature, {"LAYOUT": layout})
        assert said in str(caught.value)


def test_layouts_are_values():
    one, two = (tlx.swizzled_layout(3, 3, 3, order=order) for order in ([1, 0], (1, 0)))
    assert one == two
    assert hash(one) == hash(two)
    assert one != tlx.swizzled_layout(3, 3, 3)
    padded = tlx.padded_shared_layout_encoding.with_identity_for([[64, 8]], [64, 32], [1, 0])
    turned = padded.make_permute([1, 0])
    assert (turned.order, turned.shape) == ((0, 1), (32, 64))
    plain = tlx.swizzled_shared_layout_encoding.make_default(3)
    assert plain.make_permute((0, 2, 1)).order == (2, 0, 1)
    assert isinstance(plain, tlx.shared_layout_encoding)
    assert isinstance(plain, tlx.layout_encoding)
