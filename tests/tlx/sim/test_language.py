"""How tasks see the names around them, and what breaks the rules of the language."""

import numpy as np
import pytest
import triton
import triton.language as tl

import tlx

from .launch import SCHEDULES, descriptor


@tlx.jit
def captures(out, n):
    step = 10
    outside = 5
    with tlx.async_tasks():
        with tlx.async_task("default"):
            outside += 1  # read and bound: a copy of its own
            tl.store(out, outside)
        with tlx.async_task(num_warps=4, replicate=2):
            who: tl.constexpr = tlx.async_task_replica_id()
            local = step * (who + 1)
            if n > 2:
                outside = local
            tl.store(out + 1 + who, outside)
    tl.store(out + 3, outside)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_names_are_captured_by_value_and_nothing_comes_back(schedule):
    for n, wanted in ((3, [6, 10, 20, 5]), (1, [6, 5, 5, 5])):
        out = np.zeros(4, np.int32)
        tlx.sim.run(captures, (1,), (out, n), schedule=schedule).raise_for_findings()
        assert out.tolist() == wanted


def test_a_name_bound_in_a_task_only_is_unknown_afterwards():
    @tlx.jit
    def leak(out):
        with tlx.async_tasks():  # noqa: SIM117
            with tlx.async_task("default"):
                inside = 1
                tl.store(out, inside)
        tl.store(out, inside)

    with pytest.raises(tlx.sim.SimulationError, match="inside"):
        tlx.sim.run(leak, (1,), (np.zeros(1, np.int32),))


@tlx.jit
def two_regions(out, FLAG: tl.constexpr):
    for round in range(2):
        with tlx.async_tasks():
            with tlx.async_task("default"):
                tl.store(out + round, round + 1)
            if FLAG:
                with tlx.async_task(num_warps=1):
                    tl.store(out + 2 + round, round + 10)


@pytest.mark.parametrize(("flag", "wanted"), [(True, [1, 2, 10, 11]), (False, [1, 2, 0, 0])])
def test_regions_in_a_loop_and_tasks_under_a_constexpr_if(flag, wanted):
    out = np.zeros(4, np.int32)
    tlx.sim.run(two_regions, (1,), (out, flag)).raise_for_findings()
    assert out.tolist() == wanted


def test_statements_between_tasks_are_refused():
    @tlx.jit
    def kernel(out):
        with tlx.async_tasks():
            x = 1
            with tlx.async_task("default"):
                tl.store(out, x)

    with pytest.raises(tlx.sim.SimulationError, match="holds async_task blocks only"):
        tlx.sim.run(kernel, (1,), (np.zeros(1, np.int32),))


def test_return_in_a_task_is_refused():
    @tlx.jit
    def kernel(out):
        with tlx.async_tasks():  # noqa: SIM117
            with tlx.async_task("default"):
                return

    with pytest.raises(tlx.sim.SimulationError, match="return inside a task"):
        tlx.sim.run(kernel, (1,), (np.zeros(1, np.int32),))


def test_a_region_needs_one_default_task():
    @tlx.jit
    def kernel(out):
        with tlx.async_tasks():  # noqa: SIM117
            with tlx.async_task(num_warps=4):
                tl.store(out, 1)

    with pytest.raises(tlx.sim.SimulationError, match="exactly one default task"):
        tlx.sim.run(kernel, (1,), (np.zeros(1, np.int32),))


@tlx.jit
def views(x_desc, out, ROWS: tl.constexpr, COLS: tl.constexpr):
    tile = tlx.local_alloc((ROWS, COLS), tl.float32, 1)
    bar = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(bar[0], ROWS * COLS * tlx.size_of(tlx.dtype_of(x_desc)))
    tlx.async_descriptor_load(x_desc, tile[0], [0, 0, 0], bar[0])
    tlx.barrier_wait(bar[0], 0)
    turned = tlx.local_load(tlx.local_trans(tile[0]))
    part = tlx.local_load(tlx.local_slice(tile[0], [2, 4], [4, 4]))
    flat = tlx.local_load(tlx.local_reshape(tile[0], [ROWS * COLS]))
    bits = tlx.local_load(tlx.local_reinterpret(tile[0], tl.int32))
    tl.store(out, tl.sum(turned * tl.arange(0, COLS)[:, None]))
    tl.store(out + 1, tl.sum(part))
    tl.store(out + 2, tl.sum(flat * tl.arange(0, ROWS * COLS)))
    tl.store(out + 3, tl.sum((bits == 1065353216).to(tl.int32)))


def test_views_move_no_data():
    x = np.arange(128, dtype=np.float32).reshape(1, 8, 16)
    out = np.zeros(4, np.float32)
    # A box with leading ones goes straight into a tile without them.
    tlx.sim.run(views, (1,), (descriptor(x, [1, 8, 16]), out), {"ROWS": 8, "COLS": 16}).raise_for_findings()
    tile = x[0]
    flat = x.ravel()
    wanted = [(tile * np.arange(16)).sum(), tile[2:6, 4:8].sum(), (flat * np.arange(128)).sum(), 1]
    np.testing.assert_allclose(out, wanted, rtol=1e-6)


@tlx.jit
def pipelined(x, out, tiles, STAGES: tl.constexpr, BLOCK: tl.constexpr):
    ring = tlx.local_alloc((BLOCK,), tl.float32, STAGES)
    at = tl.arange(0, BLOCK)
    for k in tl.static_range(STAGES - 1):
        tlx.async_load(x + k * BLOCK + at, ring[k], mask=k < tiles)
        tlx.async_load_commit_group()
    total = tl.zeros((BLOCK,), tl.float32)
    for k in range(tiles):
        tlx.async_load_wait_group(STAGES - 2)
        total += tlx.local_load(ring[k % STAGES])
        following = k + STAGES - 1
        tlx.async_load(x + following * BLOCK + at, ring[following % STAGES], mask=(following < tiles) & (at >= 0))
        tlx.async_load_commit_group()
    tlx.async_load_wait_group(0)
    tl.store(out + at, total)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_cp_async_pipeline(schedule):
    x, out = np.random.default_rng(0).standard_normal(5 * 16).astype(np.float32), np.zeros(16, np.float32)
    tlx.sim.run(pipelined, (1,), (x, out, 5, 3, 16), schedule=schedule).raise_for_findings()
    np.testing.assert_allclose(out, x.reshape(5, 16).sum(0), rtol=1e-6)


@tlx.jit
def ping_pong(out, rounds):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(out + 9, rounds)
        with tlx.async_task(num_warps=4, replicate=2):
            who: tl.constexpr = tlx.async_task_replica_id()
            if who == 1:
                tlx.named_barrier_arrive(9, 256)
            for i in range(rounds):
                tlx.named_barrier_wait(9 + who, 256)
                tl.atomic_xchg(out + 1 + 2 * i + who, tl.atomic_add(out, 1))
                tlx.named_barrier_arrive(10 - who, 256)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_named_barriers_take_turns(schedule):
    out = np.zeros(10, np.int32)
    tlx.sim.run(ping_pong, (1,), (out, 4), schedule=schedule).raise_for_findings()
    assert np.array_equal(np.diff(out[1:9]), np.ones(7))


@tlx.jit
def turns_by_mbarrier(out, rounds):
    # One barrier that completes twice per round: each replica always waits for the same parity.
    turn = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(out + 9, rounds)
        with tlx.async_task(num_warps=4, replicate=2):
            who: tl.constexpr = tlx.async_task_replica_id()
            for i in range(rounds):
                tlx.barrier_wait(turn[0], 1 - who)
                tl.store(out + 1 + 2 * i + who, tl.atomic_add(out, 1))
                tlx.barrier_arrive(turn[0])


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_barrier_that_completes_twice_per_round(schedule):
    out = np.zeros(10, np.int32)
    tlx.sim.run(turns_by_mbarrier, (1,), (out, 4), schedule=schedule).raise_for_findings()
    assert np.array_equal(np.diff(out[1:9]), np.ones(7))


@tlx.jit
def thread_counted(x_desc, out, tiles, STAGES: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    ring = tlx.local_alloc((ROWS, COLS), tl.float16, STAGES)
    full = tlx.alloc_barriers(STAGES)
    empty = tlx.alloc_warp_barrier(STAGES, num_warps=4, num_arrivals=2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for k in range(tiles):
                slot, phase = tlx.get_bufidx_phase(k, STAGES)
                tlx.barrier_wait(empty[slot], phase ^ 1)
                tlx.barrier_expect_bytes(full[slot], ROWS * COLS * 2)
                tlx.async_descriptor_load(x_desc, ring[slot], [k * ROWS, 0], full[slot])
        with tlx.async_task(num_warps=4, replicate=2):
            total = tl.zeros((ROWS, COLS), tl.float32)
            for k in range(tiles):
                slot, phase = tlx.get_bufidx_phase(k, STAGES)
                tlx.barrier_wait(full[slot], phase)
                total += tlx.local_load(ring[slot]).to(tl.float32)
                tlx.fence("async_shared")
                tlx.barrier_arrive(empty[slot])
            at = tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :]
            tl.store(out + tlx.async_task_replica_id() * ROWS * COLS + at, total)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_warp_barriers_count_threads(schedule):
    x = np.random.default_rng(0).standard_normal((7 * 8, 16)).astype(np.float16)
    out = np.zeros((2, 8, 16), np.float32)
    tlx.sim.run(
        thread_counted, (1,), (descriptor(x, [8, 16]), out, 7, 3, 8, 16), schedule=schedule
    ).raise_for_findings()
    wanted = x.astype(np.float32).reshape(7, 8, 16).sum(0)
    np.testing.assert_allclose(out, np.stack([wanted, wanted]), atol=1e-5)


def test_a_kernel_that_does_not_end_is_given_up():
    @tlx.jit
    def endless(out):
        bar = tlx.alloc_barriers(1)
        while True:
            tlx.barrier_wait(bar[0], 1)

    with pytest.raises(tlx.sim.SimulationError, match="not ended after 1000 steps"):
        tlx.sim.run(endless, (1,), (np.zeros(1, np.int32),), max_steps=1000)


@triton.jit
def turning(out):
    while True:
        pass


@triton.jit
def looking(out):
    while tl.load(out) == 0:
        if tl.atomic_add(out, 0) == 1:
            tl.store(out, 1)


@triton.jit
def storing(out, count):
    done = 0
    while done < count:
        tl.store(out, done)
        done += 1


@pytest.mark.parametrize("kernel", [turning, looking])
def test_a_loop_of_which_nothing_comes_is_given_up(kernel):
    """Only barriers and atomics were counted: a plain `while True` ran until the limit of the process."""
    with pytest.raises(tlx.sim.EndlessError, match="has not ended after 20000 turns of this loop") as raised:
        tlx.sim.run(kernel, (1,), (np.zeros(1, np.int32),), max_turns=20_000)
    assert raised.value.site.text.startswith("while ")
    tlx.sim.run(storing, (2,), (np.zeros(1, np.int32), 100), max_turns=100).raise_for_findings()


def test_a_loop_that_waits_may_turn_as_often_as_it_likes():
    @tlx.jit
    def handing_over(out, count):
        bar = tlx.alloc_barriers(1)
        turn = 0
        while turn < count:
            tlx.barrier_arrive(bar[0])
            tlx.barrier_wait(bar[0], turn & 1)
            turn += 1

    tlx.sim.run(handing_over, (1,), (np.zeros(1, np.int32), 50), max_turns=5).raise_for_findings()


def test_closures_and_module_constants_are_seen_as_they_are_now():
    size = 4

    @triton.jit
    def fill(out, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        tl.store(out + at, at + size)

    out = np.zeros(8, np.int32)
    tlx.sim.run(fill, (1,), (out, 8))
    assert out[0] == 4
    size = 6
    tlx.sim.run(fill, (1,), (out, 8))
    assert out[0] == 6


def test_a_schedule_is_replayed_by_what_the_report_says():
    def run(schedule):
        from .bugs.test_missing_empty_wait import kernel

        x, out = np.ones((80, 16), np.float16), np.zeros((16, 16), np.float32)
        return tlx.sim.run(kernel, (1,), (descriptor(x, [16, 16]), out, 5, 2, 16, 16), schedule=schedule)

    first, again = run(11), run(tlx.sim.Seeded(11))
    assert first.findings == again.findings
    assert (first.steps, first.events, first.schedule) == (again.steps, again.events, "11")
    with pytest.raises(ValueError, match="schedule must be"):
        run("soon")
    with pytest.raises(tlx.sim.FindingsError, match="replay: program"):
        first.raise_for_findings()
