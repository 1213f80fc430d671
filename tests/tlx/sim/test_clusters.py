"""Clusters: multicast, remote arrivals and stores, and what holds CTAs together, on every schedule."""

import numpy as np
import pytest
import triton.language as tl

import tlx

from .kernels.multicast_gemm import multicast_gemm
from .launch import SCHEDULES, descriptor, padded

PAIR = {"ctas_per_cga": (2, 1, 1)}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("k", [0, 16, 40, 16 * 7])
def test_multicast(schedule, k):
    rng = np.random.default_rng(0)
    a, b = padded(rng, 64, max(k, 1)), padded(rng, max(k, 1), 64)
    c = np.full((64, 64), np.nan, np.float16)
    args = (descriptor(a, [16, 16]), descriptor(b, [16, 16]), descriptor(c, [16, 32]), k, 3, 16, 32)
    tlx.sim.run(multicast_gemm, (4, 2), args, PAIR, schedule=schedule).raise_for_findings()
    wanted = a[:, :k].astype(np.float32) @ b[:k].astype(np.float32)
    np.testing.assert_allclose(c, wanted, rtol=2e-3, atol=4e-3)


@tlx.jit
def exchange(x, out, SIZE: tl.constexpr, MODE: tl.constexpr):
    """Each CTA sends its row to the next one of the cluster, in one of three ways."""
    tile = tlx.local_alloc((SIZE,), tl.float32, 1)
    source = tlx.local_alloc((SIZE,), tl.float32, 1)
    arrived = tlx.alloc_barriers(1)
    tlx.fence_mbarrier_init_cluster()
    tlx.cluster_barrier()
    rank, size = tlx.cluster_cta_rank(), tlx.cluster_size_1d()
    to = (rank + 1) % size
    lanes = tl.arange(0, SIZE)
    row = tl.load(x + tl.program_id(0) * SIZE + lanes)
    if MODE == "store":
        tlx.remote_shmem_store(tile[0], row, to)
        tlx.cluster_barrier()
    else:
        tlx.barrier_expect_bytes(arrived[0], SIZE * 4)
        if MODE == "async":
            tlx.async_remote_shmem_store(tile[0], row, to, arrived[0])
        else:
            tlx.local_store(source[0], row)
            tlx.fence("async_shared")
            tlx.async_remote_shmem_copy(tile[0], source[0], to, arrived[0])
        tlx.barrier_wait(arrived[0], 0)
    tl.store(out + tl.program_id(0) * SIZE + lanes, tlx.local_load(tile[0]))
    tlx.cluster_barrier()


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("mode", ["store", "async", "copy"])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_exchange(schedule, mode, size):
    x = np.arange(8 * 16, dtype=np.float32).reshape(8, 16)
    out = np.zeros_like(x)
    options = {"ctas_per_cga": (size, 1, 1)}
    tlx.sim.run(exchange, (8,), (x, out, 16, mode), options, schedule=schedule).raise_for_findings()
    np.testing.assert_array_equal(out, np.roll(x.reshape(-1, size, 16), 1, axis=1).reshape(8, 16))


@tlx.jit
def remember(out):
    at = (tl.program_id(2) * tl.num_programs(1) + tl.program_id(1)) * tl.num_programs(0) + tl.program_id(0)
    tl.store(out + at, tlx.cluster_cta_rank())


def test_ranks_count_x_first():
    out = np.zeros((2, 4, 4), np.int32)
    tlx.sim.run(remember, (4, 4, 2), (out,), {"ctas_per_cga": (2, 2, 1)}).raise_for_findings()
    np.testing.assert_array_equal(out, np.tile([[0, 1], [2, 3]], (2, 2, 2)))


def test_a_grid_that_is_no_multiple():
    with pytest.raises(tlx.sim.SimulationError, match="cannot be launched in clusters"):
        tlx.sim.run(remember, (3,), (np.zeros(3, np.int32),), PAIR)


@tlx.jit
def wait_for_a_peer():
    bars = tlx.alloc_barriers(1)
    tlx.barrier_wait(tlx.remote_view(bars[0], tlx.cluster_cta_rank() ^ 1), 0)


def test_only_own_barriers_can_be_waited_for():
    with pytest.raises(tlx.sim.SimulationError, match="only a CTA's own barriers"):
        tlx.sim.run(wait_for_a_peer, (2,), (), PAIR)


@tlx.jit
def reach_beyond():
    bars = tlx.alloc_barriers(1)
    tlx.barrier_arrive(bars[0], remote_cta_rank=1)


def test_a_rank_outside_the_cluster():
    with pytest.raises(tlx.sim.SimulationError, match="CTA 1 of a cluster of 1 does not exist"):
        tlx.sim.run(reach_beyond, (1,), ())


@tlx.jit
def tasks_that_exit(out, SYNC: tl.constexpr):
    done = tlx.alloc_barriers(1)
    with tlx.async_tasks(no_ending_cluster_sync=not SYNC):
        with tlx.async_task("default"):
            rank = tlx.cluster_cta_rank()
            if rank == 0:
                tlx.barrier_wait(done[0], 0)
            tl.store(out + rank, rank)
        with tlx.async_task(num_warps=1):
            tlx.barrier_arrive(done[0], remote_cta_rank=0, pred=tlx.cluster_cta_rank() == 1)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("sync", [False, True])
def test_a_region_may_end_without_the_peers(schedule, sync):
    """Nothing reaches into CTA 1, and CTA 0 waits for what reaches into it: both ways are right."""
    out = np.full(2, -1, np.int32)
    tlx.sim.run(tasks_that_exit, (2,), (out, sync), PAIR, schedule=schedule).raise_for_findings()
    np.testing.assert_array_equal(out, [0, 1])
