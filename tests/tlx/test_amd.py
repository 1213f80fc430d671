"""Kernels for AMD GPUs: LDS rings, copies straight to LDS, buffer instructions. Compiled only."""

# ruff: noqa: SIM117
from __future__ import annotations

import pytest

pytest.importorskip("triton")

import triton.language as tl
from triton.compiler.errors import CompilationError

import tlx
from tlx.lowering import versions

pytestmark = pytest.mark.triton


def amdgcn(kernel, signature, constants=None, target="gfx950", **options):
    return tlx.compile(kernel, signature, constants, target=target, **options).asm["amdgcn"]


@tlx.jit
def ring(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr, DEPTH: tl.constexpr, STAGES: tl.constexpr):
    rows, columns, depth = tl.arange(0, BLOCK), tl.arange(0, BLOCK), tl.arange(0, DEPTH)
    a_ring = tlx.local_alloc((BLOCK, DEPTH), tl.float16, STAGES)
    b_ring = tlx.local_alloc((DEPTH, BLOCK), tl.float16, STAGES)
    a_ptrs = a_ptr + rows[:, None] * K + depth[None, :]
    b_ptrs = b_ptr + depth[:, None] * BLOCK + columns[None, :]
    for k in tl.static_range(STAGES - 1):
        tlx.async_load(a_ptrs + k * DEPTH, a_ring[k])
        tlx.async_load(b_ptrs + k * DEPTH * BLOCK, b_ring[k])
        tlx.async_load_commit_group()
    acc = tlx.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(tl.cdiv(K, DEPTH)):
        tlx.async_load_wait_group(STAGES - 2)
        acc = tl.dot(tlx.local_load(a_ring[k % STAGES]), tlx.local_load(b_ring[k % STAGES]), acc)
        following = k + STAGES - 1
        left = K - following * DEPTH
        tlx.async_load(a_ptrs + following * DEPTH, a_ring[following % STAGES], mask=depth[None, :] < left)
        tlx.async_load(b_ptrs + following * DEPTH * BLOCK, b_ring[following % STAGES], mask=depth[:, None] < left)
        tlx.async_load_commit_group()
    tl.store(c_ptr + rows[:, None] * BLOCK + columns[None, :], acc.to(tl.float16))


RING = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp16", "K": "i32"}
ALIGNED = list(RING)


def test_a_ring_in_lds():
    constants = {"BLOCK": 128, "DEPTH": 64, "STAGES": 2}
    text = amdgcn(ring, RING, constants, num_warps=8, divisible_by_16=ALIGNED)
    assert "v_mfma_f32_" in text
    # Straight to LDS: no register in between.
    assert "global_load_lds_dwordx4" in text or "buffer_load_dwordx4" in text


@tlx.jit
def views(out, src):
    at = tl.arange(0, 64)
    tile = tlx.local_alloc((64, 64), tl.float32, 2)
    offsets = at[:, None] * 64 + at[None, :]
    tlx.local_store(tile[0], tlx.buffer_load(src, offsets, mask=offsets < 1000, other=0.0))
    turned = tlx.local_load(tlx.local_trans(tile[0]))
    tlx.local_store(tile[1], turned * 2.0)
    tlx.buffer_store(tlx.local_load(tile[1]), out, offsets)
    tlx.buffer_atomic_add(out, offsets, turned, mask=offsets < tlx.assume_uniform(64))
    part = tlx.local_load(tlx.local_slice(tile[1], [0, 0], [32, 64]))
    tl.store(out + tl.arange(0, 32), tl.sum(part, 1))


@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
def test_views_and_buffer_instructions(target):
    text = amdgcn(views, {"out": "*fp32", "src": "*fp32"}, target=target)
    assert "buffer_load_dword" in text
    assert "buffer_store_dword" in text
    assert "buffer_atomic_add_f32" in text
    assert "ds_write" in text
    assert "ds_read" in text


@tlx.jit
def straight(out, src):
    at = tl.arange(0, 64)
    tile = tlx.local_alloc((64, 64), tl.float32, 1)
    tlx.buffer_load_to_local(tile[0], src, at[:, None] * 64 + at[None, :])
    tlx.async_load_commit_group()
    tlx.async_load_wait_group(0)
    tl.store(out + at, tl.sum(tlx.local_load(tile[0]), 1))


def test_buffer_loads_to_lds():
    assert "lds" in amdgcn(straight, {"out": "*fp32", "src": "*fp32"})
    with pytest.raises(
        CompilationError, match=r"buffer_load_to_local needs gfx950; this kernel is compiled for gfx942"
    ):
        tlx.compile(straight, {"out": "*fp32", "src": "*fp32"}, target="gfx942")


@tlx.jit
def filled(out, src, n, OTHER: tl.constexpr, BUFFER: tl.constexpr):
    at = tl.arange(0, 512)
    tile = tlx.local_alloc((512,), tl.float32, 1)
    if BUFFER:
        tlx.buffer_load_to_local(tile[0], src, at, mask=at < n, other=OTHER)
    else:
        tlx.async_load(src + at, tile[0], mask=at < n, other=OTHER)
    tlx.async_load_commit_group()
    tlx.async_load_wait_group(0)
    tl.store(out + at, tlx.local_load(tile[0]))


@pytest.mark.parametrize(("other", "what"), [(None, "0.0"), (0.0, "0.0"), (7.0, "7.0")])
@pytest.mark.parametrize("buffer", [False, True], ids=["pointers", "buffer"])
def test_masked_elements_are_filled(other, what, buffer):
    signature = {"out": "*fp32", "src": "*fp32", "n": "i32"}
    done = tlx.compile(
        filled, signature, {"OTHER": other, "BUFFER": buffer}, target="gfx950", divisible_by_16=list(signature)
    )
    fill = next(line for line in done.asm["ttgir"].split("\n") if "arith.constant dense" in line)
    name, _, constant = fill.partition("=")
    assert float(constant.partition("<")[2].partition(">")[0]) == float(what)
    copy = next(
        line for line in done.asm["ttgir"].split("\n") if "buffer_load_to_local" in line or "async_copy" in line
    )
    assert f" other {name.strip()}" in copy or f"other = {name.strip()}" in copy


@tlx.jit
def hints(out):
    at = tl.arange(0, 256)
    block = at[:, None] + at[None, :]
    tlx.amd_sched_barrier()
    tl.store(out + tl.arange(0, 256), tl.sum(tlx.extract_slice(block, [256, 128], [0, 128]), 1))


@pytest.mark.skipif(not versions.AMD_HINTS, reason=versions.too_old("amd_sched_barrier"))
def test_hints():
    assert "amdg.extract_slice" in tlx.compile(hints, {"out": "*i32"}, target="gfx950").asm["source"]


@tlx.jit
def stages(out, src, n):
    at = tl.arange(0, 256)
    total = tl.zeros((256,), tl.float32)
    for i in range(n):
        with tlx.warp_pipeline_stage("load", priority=1):
            line = tl.load(src + i * 256 + at)
        with tlx.warp_pipeline_stage("add", priority=0):
            total += line
    tl.store(out + at, total)


def test_stages_of_a_warp_pipeline():
    if versions.warp_pipeline_stage() is None:
        with pytest.raises(CompilationError, match=r"warp_pipeline_stage is not available: .* needs Triton 3\.7"):
            tlx.compile(stages, {"out": "*fp32", "src": "*fp32", "n": "i32"}, target="gfx950", num_warps=8)
    else:
        assert "s_setprio" in amdgcn(stages, {"out": "*fp32", "src": "*fp32", "n": "i32"}, num_warps=8)


@tlx.jit
def nvidia_only(out, WHAT: tl.constexpr):
    if WHAT == "an mbarrier":
        tlx.alloc_barriers(1)
    if WHAT == "a named barrier":
        tlx.named_barrier_wait(9, 256)
    if WHAT == "async_tasks":
        with tlx.async_tasks():
            with tlx.async_task("default"):
                tl.store(out, 1)
    if WHAT == "%clock64":
        tl.store(out, tlx.clock64())
    if WHAT == "fence":
        tlx.fence("async_shared")
    if WHAT == "vote_ballot_sync":
        tlx.vote_ballot_sync(0xFFFFFFFF, True)
    if WHAT == "prefetch":
        tlx.prefetch(out)
    if WHAT == "async_dot":
        tile = tlx.local_alloc((64, 64), tl.float16, 1)
        tlx.async_dot(tile[0], tile[0])


@pytest.mark.parametrize(
    "what",
    [
        "an mbarrier",
        "a named barrier",
        "async_tasks",
        "%clock64",
        "async_dot",
        "fence",
        "vote_ballot_sync",
        "prefetch",
    ],
)
def test_what_amd_does_not_have(what):
    with pytest.raises(CompilationError, match=f"{what} needs an NVIDIA GPU; this kernel is compiled for gfx950"):
        tlx.compile(nvidia_only, {"out": "*i64"}, {"WHAT": what}, target="gfx950")


@tlx.jit
def misused(out, WHAT: tl.constexpr):
    at = tl.arange(0, 64)
    if WHAT == "mask":
        tlx.buffer_store(tl.zeros((64,), tl.float32), out, at, mask=at)
    if WHAT == "wide offsets":
        tlx.buffer_load(out, at.to(tl.int64))
    if WHAT == "small tile":
        tlx.buffer_load_to_local(tlx.local_alloc((64,), tl.float32, 1)[0], out, at)
    if WHAT == "split":
        tlx.extract_slice(tl.zeros((256, 256), tl.float32), [256, 128], [0, 128])


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("mask", "the mask of buffer_store must be a block of booleans, not a block of int32"),
        ("wide offsets", "buffer_load takes a block of 32-bit offsets"),
        ("small tile", "has less than an element for each of 256 threads"),
        ("split", r"no data moves between threads, so \[256, 128\] from \[0, 128\] must be multiples of"),
    ],
)
def test_misuse(what, message):
    if what == "split" and not versions.AMD_HINTS:
        pytest.skip(versions.too_old("extract_slice"))
    with pytest.raises(CompilationError, match=message):
        tlx.compile(misused, {"out": "*fp32"}, {"WHAT": what}, target="gfx950")


def test_what_nvidia_does_not_have():
    with pytest.raises(CompilationError, match="buffer_load needs an AMD GPU; this kernel is compiled for sm_90"):
        tlx.compile(views, {"out": "*fp32", "src": "*fp32"})


def test_other_gpus():
    with pytest.raises(tlx.TLXError, match="gfx942 and gfx950, not for hip gfx90a"):
        tlx.compile(views, {"out": "*fp32", "src": "*fp32"}, target="gfx90a")
