"""Shared memory, asynchronous copies, barriers: the instructions that reach the GPU."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("triton")

import triton.language as tl

import tlx

pytestmark = pytest.mark.triton

BLOCK = "tensordesc<fp16[128,64]>"


@tlx.jit
def whole_blocks(source, target):
    target.store([0, 0], source.load([0, 0]) * 2)
    target.store([128, 0], tl.load_tensor_descriptor(source, [128, 0]))


def test_descriptor_load_and_store():
    compiled = tlx.compile(whole_blocks, {"source": BLOCK, "target": BLOCK})
    ptx = compiled.asm["ptx"]
    assert compiled.facts.counts["UTMALDG"] == 2
    assert compiled.facts.counts["UTMASTG"] == 2
    # Block bytes announced, and the generic stores fenced before the TMA reads them.
    assert re.search(rf"expect_tx\S* _, \[\S+\], {128 * 64 * 2};", ptx)
    stored = [m.start() for m in re.finditer(r"st\.shared|stmatrix", ptx)]
    fences = [m.start() for m in re.finditer(r"fence\.proxy\.async", ptx)]
    for store in (m.start() for m in re.finditer(r"cp\.async\.bulk\.tensor\S*global\.shared", ptx)):
        last_write = max(position for position in stored if position < store)
        assert any(last_write < fence < store for fence in fences)


@tlx.jit
def batched(source, target, batch):
    tile = tlx.local_alloc((64, 64), tl.float16, 1)
    loaded = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(loaded[0], 64 * 64 * 2)
    tlx.async_descriptor_load(source, tile[0], [batch.to(tl.int64), 0, 0], loaded[0])
    tlx.barrier_wait(loaded[0], 0)
    tlx.async_descriptor_store(target, tile[0], [0, batch, 0, 0])
    tlx.async_descriptor_store_wait(0)


def test_leading_ones_of_a_block_need_no_place_in_the_tile():
    types = {"source": "tensordesc<fp16[1,64,64]>", "target": "tensordesc<fp16[1,1,64,64]>", "batch": "i32"}
    compiled = tlx.compile(batched, types)
    assert "cp.async.bulk.tensor.3d.shared" in compiled.asm["ptx"]
    assert "cp.async.bulk.tensor.4d.global" in compiled.asm["ptx"]
    assert compiled.asm["ttgir"].count("ttg.local_alloc") == 2


@tlx.jit
def device_descriptor(x, n):
    desc = tl.make_tensor_descriptor(x, [n, 64], [64, 1], [64, 64])
    desc.store([64, 0], desc.load([0, 0]) + 1)


def test_descriptor_made_on_the_device():
    compiled = tlx.compile(device_descriptor, {"x": "*fp16", "n": "i32"})
    assert compiled.handle.metadata.global_scratch_size == 128
    assert "tensormap.replace" in compiled.asm["ptx"]


@tlx.jit
def views(x, y):
    rows = tl.arange(0, 128)[:, None]
    columns = tl.arange(0, 64)[None, :]
    ring = tlx.local_alloc((128, 64), tl.float16, 2)
    tlx.local_store(ring[0], tl.load(x + rows * 64 + columns))
    upper = tlx.local_slice(ring[0], [0, 0], [64, 64])
    tlx.local_store(tlx.local_slice(ring[0], [64, 0], [64, 64]), tlx.local_load(upper) + 1)
    bits = tlx.local_reinterpret(ring[0], tl.int16)
    turned = tlx.local_trans(tlx.local_view(ring, 0))
    flat = tlx.local_reshape(ring[0], (64, 128))
    aliased = tlx.local_alloc((64, 64), tl.float32, 1, reuse=ring)
    tlx.local_store(aliased[0], tl.full((64, 64), 1.0, tl.float32))
    tl.store(y + rows * 64 + columns, tlx.local_load(bits).to(tl.float32) + tl.trans(tlx.local_load(turned)))
    tl.store(y, tl.sum(tlx.local_load(flat)))


def test_views_share_one_allocation():
    compiled = tlx.compile(views, {"x": "*fp16", "y": "*fp32"})
    assert compiled.asm["ttgir"].count("ttg.local_alloc") == 1
    # Two tiles of 16 KiB; anything above is scratch for the reductions and transposition.
    assert compiled.shared < 3 * 128 * 64 * 2


@tlx.jit
def copies(a, b, c, K, BLOCK: tl.constexpr, DEPTH: tl.constexpr, STAGES: tl.constexpr):
    rows = tl.arange(0, BLOCK)
    depth = tl.arange(0, DEPTH)
    a_ptrs = a + rows[:, None] * K + depth[None, :]
    b_ptrs = b + depth[:, None] * BLOCK + rows[None, :]
    a_ring = tlx.local_alloc((BLOCK, DEPTH), tlx.dtype_of(a), STAGES)
    b_ring = tlx.local_alloc((DEPTH, BLOCK), tlx.dtype_of(b), STAGES)
    for i in tl.range(0, STAGES - 1, loop_unroll_factor=STAGES - 1):
        loaded = tlx.async_load(a_ptrs, a_ring[i], mask=depth[None, :] < K - i * DEPTH)
        tlx.async_load(b_ptrs, b_ring[i], mask=depth[:, None] < K - i * DEPTH, other=0.0)
        tlx.async_load_commit_group([loaded])
        a_ptrs += DEPTH
        b_ptrs += DEPTH * BLOCK
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in tl.range(0, tl.cdiv(K, DEPTH), num_stages=0):
        tlx.async_load_wait_group(STAGES - 2)
        acc = tlx.async_dot(a_ring[k % STAGES], b_ring[k % STAGES], acc)
        acc = tlx.async_dot_wait(1, acc)
        i = k + STAGES - 1
        tlx.async_load(a_ptrs, a_ring[i % STAGES], mask=depth[None, :] < K - i * DEPTH)
        tlx.async_load(b_ptrs, b_ring[i % STAGES], mask=depth[:, None] < K - i * DEPTH)
        tlx.async_load_commit_group()
        a_ptrs += DEPTH
        b_ptrs += DEPTH * BLOCK
    acc = tlx.async_dot_wait(0, acc)
    tl.store(c + rows[:, None] * BLOCK + rows[None, :], acc)


def test_cp_async_pipeline():
    signature = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "K": "i32"}
    compiled = tlx.compile(
        copies, signature, {"BLOCK": 128, "DEPTH": 64, "STAGES": 3}, divisible_by_16=["a", "b", "c", "K"]
    )
    ptx = compiled.asm["ptx"]
    assert re.search(r"cp\.async\.cg\.shared\.global \[ \S+ \+ 0 \], \[ \S+ \+ 0 \], 0x10", ptx)
    assert "cp.async.wait_group 1" in ptx.replace("\t", "")
    assert not compiled.facts.serialized
    assert compiled.facts.dot_loop_conversions == ()
    assert len(compiled.facts.dot_loops) == 1


@tlx.jit
def synchronisation(out, n):
    phases = tlx.alloc_barriers(2, arrive_count=3)
    warps = tlx.alloc_warp_barrier(1, num_warps=4, num_arrivals=2)
    tlx.barrier_arrive(phases[0], 2)
    tlx.barrier_arrive(phases[1], pred=n > 3)
    tlx.barrier_arrive(warps[0])
    tlx.barrier_arrive(warps[0], pred=n > 4)
    tlx.barrier_expect_bytes(phases[0], 0)
    tlx.barrier_wait(phases[0], 1)
    tlx.barrier_wait(phases[n & 1], n & 1, n > 0)
    tlx.named_barrier_arrive(9, 256)
    tlx.named_barrier_wait(10, 128)
    tlx.fence("gpu")
    tlx.fence("sys")
    tl.store(out, tlx.thread_id(1) + tlx.cluster_cta_rank() + (tlx.clock64() - tlx.clock64()).to(tl.int32))


def test_barriers_and_fences():
    ptx = tlx.compile(synchronisation, {"out": "*i32", "n": "i32"}).asm["ptx"]
    inits = re.findall(r"mbarrier\.init\S* \[\S+\], (\d+);", ptx)
    assert inits == ["3", "3", str(4 * 32 * 2)]
    # What the async proxy will signal must see the initialised words.
    assert ptx.index("fence.proxy.async") > ptx.index("mbarrier.init")
    arrivals = re.findall(r"mbarrier\.arrive\.shared\S* _, \[\S+\](?:, (\d+))?;", ptx)
    assert arrivals == ["2", "", "128"]
    assert len(re.findall(r"cp\.async\.mbarrier\.arrive\.noinc\.shared\S*\s+\[\S+\];", ptx)) == 1
    assert re.search(r"mbarrier\.arrive\.expect_tx\S* _, \[\S+\], 0;", ptx)
    for instruction in ("bar.arrive 9, 256;", "bar.sync 10, 128;", "fence.acq_rel.gpu;", "fence.acq_rel.sys;"):
        assert instruction in ptx
    for register in ("%tid.y", "%cluster_ctarank", "%clock64"):
        assert register in ptx
    assert ptx.count("%clock64") == 2, "each reading counts"


@tlx.jit
def older_name(out):
    tlx.fence_async_shared()
    tl.store(out, 1)


def test_the_older_name_of_a_fence():
    assert "fence.proxy.async.shared::cta;" in tlx.compile(older_name, {"out": "*i32"}).asm["ptx"]


@tlx.jit
def dots(out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, DTYPE: tl.constexpr, OUT: tl.constexpr):
    a = tlx.local_alloc((M, K), DTYPE, 1)
    b = tlx.local_trans(tlx.local_alloc((N, K), DTYPE, 1)[0])
    acc = tlx.async_dot(a[0], b, out_dtype=OUT)
    acc = tlx.async_dot(tlx.local_load(a[0]), b, acc)
    acc = tlx.async_dot_wait(0, acc)
    rows = tl.arange(0, M)
    tl.store(out + rows[:, None] * N + tl.arange(0, N)[None, :], acc)


@pytest.mark.parametrize(
    ("shape", "dtype", "out", "instruction"),
    [
        ((64, 256, 64), tl.float16, tl.float32, "m64n256k16.f32.f16.f16"),
        ((64, 8, 64), tl.float16, tl.float16, "m64n8k16.f16.f16.f16"),
        ((128, 32, 32), tl.bfloat16, tl.float32, "m64n32k16.f32.bf16.bf16"),
        ((64, 64, 32), tl.float32, tl.float32, "m64n64k8.f32.tf32.tf32"),
        ((64, 128, 64), tl.float8e5, tl.float32, "m64n128k32.f32.e5m2.e5m2"),
        ((64, 256, 64), tl.int8, tl.int32, "m64n128k32.s32.s8.s8"),
    ],
    ids=lambda value: str(value),
)
def test_products(shape, dtype, out, instruction):
    m, n, k = shape
    constants = {"M": m, "N": n, "K": k, "DTYPE": dtype, "OUT": out}
    pointer = {"fp32": "*fp32", "fp16": "*fp16", "int32": "*i32"}[str(out)]
    ptx = tlx.compile(dots, {"out": pointer}, constants).asm["ptx"]
    assert f"wgmma.mma_async.sync.aligned.{instruction}" in ptx
    # Each call is a group of its own.
    assert ptx.count("wgmma.commit_group") == 2
