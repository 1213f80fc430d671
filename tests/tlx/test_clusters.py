"""Clusters: what crosses CTAs reaches the machine on Triton 3.9, and says what it needs before.

No GPU here runs Triton 3.9, so this is compiled only: instructions, their operands and their predicates.
"""

from __future__ import annotations

import re

import pytest

pytest.importorskip("triton")

import triton
import triton.language as tl
from triton.compiler.errors import CompilationError

import tlx
from tlx.lowering import versions

pytestmark = pytest.mark.triton
clustered = pytest.mark.skipif(not versions.CLUSTERS, reason=versions.too_old("a cluster"))

PAIR = {"num_ctas": 2}


@tlx.jit
def neighbours(out, desc):
    tile = tlx.local_alloc((64, 64), tl.float16, 2)
    bars = tlx.alloc_barriers(2)
    rank = tlx.cluster_cta_rank()
    tlx.barrier_expect_bytes(bars[0], 8192)
    tlx.async_descriptor_load(desc, tile[0], [64 * rank, 0], bars[0], multicast_targets=[0, 1])
    tlx.barrier_wait(bars[0], 0)
    tlx.barrier_arrive(bars[1], 2, remote_cta_rank=rank ^ 1)
    tlx.barrier_arrive(tlx.remote_view(bars[1], 0), pred=rank > 0)
    block = tl.full((64, 64), 1.0, tl.float16)
    tlx.remote_shmem_store(tile[1], block, rank ^ 1)
    tlx.async_remote_shmem_store(tile[1], block, rank ^ 1, bars[1])
    tlx.async_remote_shmem_copy(tile[1], tile[0], 1, bars[1])
    tl.store(out + tl.program_id(0), tlx.cluster_size_1d())
    tlx.cluster_barrier()


SIGNATURE = {"out": "*i32", "desc": "tensordesc<fp16[64,64]>"}


@clustered
def test_what_crosses_ctas():
    compiled = tlx.compile(neighbours, SIGNATURE, options=PAIR)
    ptx = re.sub(r"[ \t]+", " ", compiled.asm["ptx"])
    assert compiled.handle.metadata.num_ctas == 2
    load = re.search(
        r"@%tlx_q cp\.async\.bulk\.tensor\.2d\.shared::cluster\.global\.mbarrier::complete_tx::bytes"
        r"\.multicast::cluster \[%tlx_a\], \[%tlx_d, \{%tlx_b, (%r\d+)\}\], \[%r\d+\], (%rs\d+);",
        ptx,
    )
    assert load
    # Both CTAs, and the descriptor is the kernel's second argument.
    assert re.search(rf"mov\.b16 {load[2]}, 3;", ptx)
    assert "mov.b64 %tlx_d, neighbours_param_1;" in ptx
    arrivals = re.findall(r"mbarrier\.arrive\.release\.cluster\.shared::cluster\.b64 _, \[%tlx_a\], (\d+);", ptx)
    assert arrivals == ["2", "1"]
    copies = re.findall(
        r"cp\.async\.bulk\.shared::cluster\.shared::cta\S* \[%tlx_a\], \[%r\d+\], (\d+), \[%tlx_b\]", ptx
    )
    assert copies == ["8192", "8192"]
    assert "st.shared::cluster.v4.b32" in ptx
    # Barriers are seen by others before the first of them arrives.
    published = ptx.index("fence.mbarrier_init.release.cluster")
    assert published < ptx.index("barrier.cluster.wait.acquire") < ptx.index("mapa.shared::cluster")
    assert ptx.count("barrier.cluster.arrive") == 2
    # Each CTA is a program of its own.
    assert "%ctaid.x" in ptx
    assert "%clusterid" not in ptx


@tlx.jit
def published(out):
    bars = tlx.alloc_barriers(1)
    tlx.fence_mbarrier_init_cluster()
    tlx.cluster_barrier()
    tlx.barrier_arrive(bars[0], remote_cta_rank=0)
    tlx.barrier_wait(bars[0], 0)
    tl.store(out, 1)


@clustered
def test_barriers_are_published():
    ptx = tlx.compile(published, {"out": "*i32"}, options=PAIR).asm["ptx"]
    order = [
        ptx.index(word) for word in ("mbarrier.init", "fence.mbarrier_init.release.cluster", "barrier.cluster.arrive")
    ]
    assert order == sorted(order)
    assert order[-1] < ptx.index("mapa.shared::cluster")


@triton.jit
def arrive_there(bar):
    tlx.barrier_arrive(bar)


@tlx.jit
def carried(out, n):
    bars = tlx.alloc_barriers(2)
    there = tlx.remote_view(bars[0], 1)
    arrive_there(there)
    for _ in range(n):
        tlx.barrier_arrive(there)
        there = tlx.remote_view(bars[1], n & 1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(out, 1)
        with tlx.async_task(num_warps=4):
            tlx.barrier_arrive(there)


@clustered
def test_a_remote_view_stays_remote():
    # Handed to a helper, carried by a loop, captured by a task: never an arrival at this CTA's own barrier.
    ptx = re.sub(r"[ \t]+", " ", tlx.compile(carried, {"out": "*i32", "n": "i32"}, options=PAIR).asm["ptx"])
    assert ptx.count("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%tlx_a], 1;") >= 3
    assert not re.search(r"mbarrier\.arrive\.shared", ptx)


@tlx.jit
def signals_another(desc):
    tile = tlx.local_alloc((64, 64), tl.float16, 1)
    bars = tlx.alloc_barriers(1)
    tlx.async_descriptor_load(desc, tile[0], [0, 0], tlx.remote_view(bars[0], 1))


@clustered
def test_copies_signal_this_ctas_barriers_alone():
    with pytest.raises(CompilationError, match="async_descriptor_load takes a barrier of this CTA"):
        tlx.compile(signals_another, {"desc": "tensordesc<fp16[64,64]>"}, options=PAIR)


@tlx.jit
def wide_multicast(desc):
    tile = tlx.local_alloc((64, 256), tl.float16, 1)
    bars = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(bars[0], 32768)
    tlx.async_descriptor_load(desc, tile[0], [0, 512], bars[0], multicast_targets=[tlx.cluster_cta_rank()])
    tlx.barrier_wait(bars[0], 0)
    tlx.cluster_barrier()


@clustered
def test_a_wide_tile_is_one_instruction_for_each_swizzle_atom():
    ptx = tlx.compile(wide_multicast, {"desc": "tensordesc<fp16[64,256]>"}, options=PAIR).asm["ptx"]
    assert ptx.count("multicast::cluster") == 4
    assert re.findall(r"add\.s32 %tlx_b, %r\d+, (\d+)", ptx) == ["0", "64", "128", "192"]
    assert re.findall(r"add\.u32 %tlx_a, %r\d+, (\d+)", ptx) == ["0", "8192", "16384", "24576"]


@tlx.jit
def tasks(out):
    bars = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(bars[0], 0)
            tl.store(out, 1)
        with tlx.async_task(num_warps=1):
            tlx.barrier_arrive(bars[0], remote_cta_rank=tlx.cluster_cta_rank() ^ 1)


@clustered
def test_all_threads_meet_when_a_region_starts_and_ends():
    compiled = tlx.compile(tasks, {"out": "*i32"}, options=PAIR)
    # The default task, the one warp, and two fillers that complete its warp group.
    assert compiled.asm["ttgir"].count("barrier.cluster.arrive") == 2 * 4
    assert compiled.num_warps == 8


@tlx.jit
def kept_open(out):
    bars = tlx.alloc_barriers(1)
    with tlx.async_tasks(no_ending_cluster_sync=True):
        with tlx.async_task("default"):
            tlx.barrier_wait(bars[0], 0)
        with tlx.async_task(num_warps=4):
            tlx.barrier_arrive(bars[0], remote_cta_rank=0)


@clustered
def test_the_author_may_leave_out_the_meeting_at_the_end():
    assert tlx.compile(kept_open, {"out": "*i32"}, options=PAIR).asm["ttgir"].count("barrier.cluster.arrive") == 2


@tlx.jit
def misused(out, desc, WHAT: tl.constexpr):
    bars = tlx.alloc_barriers(2)
    tile = tlx.local_alloc((64, 64), tl.float16, 1)
    if WHAT == "arrive":
        tlx.barrier_arrive(bars[0], remote_cta_rank=1)
    if WHAT == "rank":
        tlx.barrier_arrive(bars[0], remote_cta_rank=2)
    if WHAT == "wait":
        tlx.barrier_wait(tlx.remote_view(bars[0], 1), 0)
    if WHAT == "two_ctas":
        tlx.async_descriptor_load(desc, tile[0], [0, 0], bars[0], two_ctas=True)
    if WHAT == "device":
        own = tl.make_tensor_descriptor(out, [64, 64], [64, 1], [64, 64])
        tlx.async_descriptor_load(own, tile[0], [0, 0], bars[0], multicast_targets=[0])
    if WHAT == "unlike":
        tlx.async_remote_shmem_copy(tile[0], tlx.local_trans(tile[0]), 0, bars[0])
    if WHAT == "region":
        tlx.cluster_barrier()
        with tlx.async_tasks():
            with tlx.async_task("default"):
                tlx.barrier_arrive(bars[0])
            with tlx.async_task(num_warps=1):
                tlx.barrier_wait(bars[0], 0)


@clustered
@pytest.mark.parametrize(
    ("what", "ctas", "message"),
    [
        ("arrive", 1, "the kernel is launched without clusters: give ctas_per_cga"),
        ("rank", 2, "there is no CTA 2 in a cluster of 2"),
        ("wait", 2, "can arrive at a barrier of another, but wait only at its own"),
        ("two_ctas", 2, "two_ctas of async_descriptor_load is not available"),
        ("device", 2, "needs a descriptor that the host made"),
        ("unlike", 2, "are not alike"),
    ],
)
def test_misuse(what, ctas, message):
    with pytest.raises(CompilationError, match=message):
        tlx.compile(misused, {**SIGNATURE, "out": "*fp16"}, {"WHAT": what}, options={"num_ctas": ctas})


@pytest.mark.skipif(versions.CLUSTERS, reason="this Triton has clusters")
def test_an_old_triton_says_what_it_takes():
    with pytest.raises(CompilationError, match=r"remote_cta_rank needs Triton 3\.9 or newer; this is"):
        tlx.compile(misused, {**SIGNATURE, "out": "*fp16"}, {"WHAT": "arrive"})
    with pytest.raises(tlx.TLXError, match=r"a cluster of 2 CTAs needs Triton 3\.9"):
        tlx.compile(misused, {**SIGNATURE, "out": "*fp16"}, {"WHAT": "none"}, options=PAIR)
