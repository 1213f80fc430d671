"""Bulk copies, reductions by TMA, prefetches, gathers, votes and slices at run-time offsets."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("triton")

import triton.language as tl
from triton.compiler.errors import CompilationError

import tlx
from tlx.lowering import versions

pytestmark = pytest.mark.triton
assembly = pytest.mark.skipif(not versions.CLUSTERS, reason=versions.too_old("a bulk copy"))


def ptx_of(kernel, signature, constants=None):
    return re.sub(r"[ \t]+", " ", tlx.compile(kernel, signature, constants).asm["ptx"])


@tlx.jit
def reduces(desc, KIND: tl.constexpr, DTYPE: tl.constexpr):
    tile = tlx.local_alloc((64, 64), DTYPE, 1)
    tlx.local_store(tile[0], tl.zeros((64, 64), DTYPE))
    tlx.fence("async_shared")
    tlx.async_descriptor_store(desc, tile[0], [0, 0], "evict_first", KIND)
    tlx.async_descriptor_store_wait(0)


@pytest.mark.parametrize(
    ("kind", "dtype", "name"),
    [
        ("add", tl.float32, "fp32"),
        ("add", tl.float16, "fp16"),
        ("min", tl.int32, "i32"),
        ("max", tl.int32, "i32"),
        ("xor", tl.int32, "i32"),
    ],
)
def test_stores_that_combine(kind, dtype, name):
    ptx = ptx_of(reduces, {"desc": f"tensordesc<{name}[64,64]>"}, {"KIND": kind, "DTYPE": dtype})
    assert f"cp.reduce.async.bulk.tensor.2d.global.shared::cta.{kind}." in ptx


@pytest.mark.parametrize(
    ("kind", "dtype", "name", "message"),
    [
        ("and", tl.float32, "fp32", "combines bits of integers, not fp32"),
        ("mul", tl.float32, "fp32", "unknown store_reduce 'mul'"),
        ("add", tl.int8, "i8", "32- and 64-bit integers and floats of 16 and 32 bits, not int8"),
    ],
)
def test_stores_that_cannot_combine(kind, dtype, name, message):
    with pytest.raises(CompilationError, match=message):
        tlx.compile(reduces, {"desc": f"tensordesc<{name}[64,64]>"}, {"KIND": kind, "DTYPE": dtype})


@tlx.jit
def bulk(out, src, n):
    line = tlx.local_alloc((1024,), tl.float32, 2)
    bars = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(bars[0], 4096)
    tlx.async_load(src, line[0], bulk=True, barrier=bars[0])
    tlx.barrier_wait(bars[0], 0)
    tlx.async_store(out, line[0], n * 16)
    tlx.async_descriptor_store_wait(0)


@assembly
def test_bulk_copies():
    ptx = ptx_of(bulk, {"out": "*fp32", "src": "*fp32", "n": "i32"})
    assert re.search(
        r"@%tlx_q cp\.async\.bulk\.shared::cluster\.global\.mbarrier::complete_tx::bytes \[%r\d+\], \[%rd\d+\], %r\d+,",
        ptx,
    )
    assert re.search(r"@%tlx_q cp\.async\.bulk\.global\.shared::cta\.bulk_group \[%rd\d+\], \[%r\d+\], %r\d+;", ptx)
    assert "@%tlx_q cp.async.bulk.commit_group" in ptx
    assert re.search(r"mov\.b32 %r\d+, 4096;", ptx)


@tlx.jit
def hints(out, desc, n):
    at = tl.arange(0, 128)
    tlx.prefetch(out + at, "L1", mask=at < n)
    tlx.prefetch(out)
    if n > 3:
        tlx.async_descriptor_prefetch_tensor(desc, [n, 0], pred=n > 4)
        tlx.prefetch(desc, tensormap=True)
    tl.store(out + at, 1.0)


@assembly
def test_prefetches():
    ptx = ptx_of(hints, {"out": "*fp32", "desc": "tensordesc<fp16[64,128]>", "n": "i32"})
    assert "@p prefetch.global.L1" in ptx
    assert "@p prefetch.global.L2" in ptx
    # Two swizzle atoms of 64 elements.
    assert ptx.count("cp.async.bulk.prefetch.tensor.2d.L2.global") == 2
    assert "prefetch.tensormap [%tlx_d]" in ptx
    assert "mov.b64 %tlx_d, hints_param_1;" in ptx


@tlx.jit
def chosen(out, picks):
    rows, columns = tl.arange(0, 64)[:, None], tl.arange(0, 64)[None, :]
    tile = tlx.local_alloc((64, 64), tl.float32, 2)
    index = tl.load(picks + rows * 64 + columns)
    tlx.local_scatter(tile[1], tlx.local_gather(tile[0], index, 0), index, 1)
    tl.store(out + rows * 64 + columns, tlx.local_load(tile[1]))


@pytest.mark.skipif(not versions.GATHER, reason=versions.too_old("a gather", versions.GATHER_SINCE))
def test_gathers_and_scatters():
    text = tlx.compile(chosen, {"out": "*fp32", "picks": "*i32"}).asm["ttgir"]
    assert "ttg.local_gather" in text
    assert "ttg.local_scatter" in text


@tlx.jit
def votes(out, n):
    tl.store(out, tlx.vote_ballot_sync(0xFFFFFFFF, tlx.thread_id(0) < n))


@tlx.jit
def block_votes(out, n):
    at = tl.arange(0, 512)
    tl.store(out + at, tlx.vote_ballot_sync(0xFFFFFFFF, at < n))


def test_votes():
    assert "vote.sync.ballot.b32" in ptx_of(votes, {"out": "*i32", "n": "i32"})


@assembly
def test_votes_of_blocks():
    ptx = ptx_of(block_votes, {"out": "*i32", "n": "i32"})
    assert ptx.count("vote.sync.ballot.b32") == 1


@pytest.mark.skipif(versions.CLUSTERS, reason="this Triton takes addresses in assembly")
@pytest.mark.parametrize(
    ("kernel", "signature", "what"),
    [
        (bulk, {"out": "*fp32", "src": "*fp32", "n": "i32"}, r"async_load\(bulk=True\)"),
        (hints, {"out": "*fp32", "desc": "tensordesc<fp16[64,128]>", "n": "i32"}, "async_descriptor_prefetch_tensor"),
        (block_votes, {"out": "*i32", "n": "i32"}, "vote_ballot_sync of a block"),
    ],
)
def test_an_old_triton_says_what_it_takes(kernel, signature, what):
    with pytest.raises(CompilationError, match=rf"{what} needs Triton 3\.9 or newer; this is"):
        tlx.compile(kernel, signature)


@tlx.jit
def rows_at(out, n, ROWS: tl.constexpr, WIDTH: tl.constexpr, COLUMN: tl.constexpr):
    tile = tlx.local_alloc((64, WIDTH), tl.float16, 1)
    tlx.local_store(tile[0], tl.zeros((64, WIDTH), tl.float16))
    part = tlx.local_slice(tile[0], [n * ROWS, COLUMN], [ROWS, WIDTH])
    tl.store(out, tl.sum(tlx.local_load(part).to(tl.float32)))


def test_a_slice_at_a_run_time_row():
    text = tlx.compile(rows_at, {"out": "*fp32", "n": "i32"}, {"ROWS": 16, "WIDTH": 64, "COLUMN": 0}).asm["ttgir"]
    assert "memdesc_index" in text


@pytest.mark.parametrize(
    ("rows", "width", "column", "message"),
    [
        (16, 128, 0, "16 rows of 256 bytes do not lie together in a tile swizzled by 128 bytes"),
        (4, 64, 0, "4 rows of 128 bytes do not lie together"),
        (16, 64, 32, "of slices of whole rows"),
    ],
)
def test_slices_that_need_a_constant(rows, width, column, message):
    with pytest.raises(CompilationError, match=message):
        tlx.compile(rows_at, {"out": "*fp32", "n": "i32"}, {"ROWS": rows, "WIDTH": width, "COLUMN": column})


@tlx.jit
def ring_of_descriptors(out, base, m, n):
    places = tlx.allocate_tensor_descriptor(3)
    tile = tlx.local_alloc((64, 64), tl.float16, 1)
    bars = tlx.alloc_barriers(1)
    for i in range(m):
        slot = i % 3
        tlx.make_tensor_descriptor(places[slot], base + i * 64, [n, 64], [64, 1], [64, 64])
        desc = tlx.reinterpret_tensor_descriptor(places[slot], [64, 64], tl.float16)
        tlx.barrier_expect_bytes(bars[0], 8192)
        tlx.async_descriptor_load(desc, tile[0], [0, 0], bars[0])
        tlx.barrier_wait(bars[0], i & 1)
    tl.store(out, tl.sum(tlx.local_load(tile[0]).to(tl.float32)))


def test_a_ring_of_descriptors_has_memory_for_each():
    compiled = tlx.compile(ring_of_descriptors, {"out": "*fp32", "base": "*fp16", "m": "i32", "n": "i32"})
    assert compiled.handle.metadata.global_scratch_size == 3 * 128


@tlx.jit
def other_place(base, n):
    places = tlx.allocate_tensor_descriptor(2)
    tlx.make_tensor_descriptor(places[n], base, [64, 64], [64, 1], [64, 64])
    tlx.reinterpret_tensor_descriptor(places[n + 1], [64, 64], tl.float16)


def test_only_the_last_descriptor_can_be_read():
    with pytest.raises(CompilationError, match="only the place in which the last descriptor was made can be read"):
        tlx.compile(other_place, {"base": "*fp16", "n": "i32"})
