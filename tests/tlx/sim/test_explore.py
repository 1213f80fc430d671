"""The search runs every order once: as many as brute force finds classes of interleavings, with the same outcomes."""

import numpy as np
import pytest
import triton.language as tl

import tlx
from tlx.sim.footprint import Watcher
from tlx.sim.recording import candidates

from ..kernels.attention_ws import attention_ws
from ..kernels.gemm_ws import gemm_ws
from .launch import descriptor, padded


@tlx.jit
def two_writers(x_desc, out):
    """Two tasks write the same slot and the kernel reads it: the last one wins."""
    slot = tlx.local_alloc((16,), tl.float32, 1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.local_store(slot[0], tl.full((16,), 1.0, tl.float32))
        with tlx.async_task(num_warps=4, replicate=2):
            tlx.local_store(slot[0], tl.full((16,), 2.0, tl.float32) + tlx.async_task_replica_id())
    tl.store(out + tl.arange(0, 16), tlx.local_load(slot[0]))


@tlx.jit
def meeting(x_desc, out):
    """Arrivals of one phase have no order that matters, what each task does before is its own affair."""
    met = tlx.alloc_barriers(1, arrive_count=2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(met[0], 0)
            tl.store(out + tl.arange(0, 16), tl.full((16,), 3.0, tl.float32))
        with tlx.async_task(num_warps=4, replicate=2):
            tlx.barrier_arrive(met[0])


@tlx.jit
def three_arrivals(x_desc, out):
    """One arrival too many: which of them falls into the next phase is open."""
    met = tlx.alloc_barriers(1, arrive_count=2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_arrive(met[0])
        with tlx.async_task(num_warps=4):
            tlx.barrier_arrive(met[0])
            tlx.barrier_arrive(met[0])


@tlx.jit
def adders(x_desc, out):
    """Atomics on one address keep their order, on others not."""
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.atomic_add(out, 1.0)
            tl.atomic_add(out + 8, 1.0)
        with tlx.async_task(num_warps=4):
            tl.atomic_xchg(out, 10.0)
            tl.atomic_xchg(out + 9, 1.0)


@tlx.jit
def unexpected_copy(x_desc, out):
    """Half the bytes are announced: the phase may end with either copy."""
    slots = tlx.local_alloc((4, 16), tl.float32, 2)
    full = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_expect_bytes(full[0], 256)
            tlx.async_descriptor_load(x_desc, slots[0], [0, 0], full[0])
            tlx.async_descriptor_load(x_desc, slots[1], [4, 0], full[0])
        with tlx.async_task(num_warps=4):
            tlx.barrier_wait(full[0], 0)


@tlx.jit
def handover(x_desc, out):
    """A copy, a reader, and the slot given back: everything is ordered."""
    slot = tlx.local_alloc((4, 16), tl.float32, 1)
    full = tlx.alloc_barriers(1)
    empty = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for k in range(1):
                tlx.barrier_wait(empty[0], (k & 1) ^ 1)
                tlx.barrier_expect_bytes(full[0], 256)
                tlx.async_descriptor_load(x_desc, slot[0], [4 * k, 0], full[0])
        with tlx.async_task(num_warps=4):
            for k in range(1):
                tlx.barrier_wait(full[0], k & 1)
                tl.store(out + tl.arange(0, 16), tl.sum(tlx.local_load(slot[0]), 0))
                tlx.barrier_arrive(empty[0])


@tlx.jit
def lagging(x_desc, out):
    """The default task may be a phase ahead of the waiter, who then takes the wrong parity for its own."""
    turn = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_arrive(turn[0])
            tlx.barrier_arrive(turn[0])
        with tlx.async_task(num_warps=4):
            tlx.barrier_wait(turn[0], 0)


@tlx.jit
def named(x_desc, out):
    """A named barrier between stores and a load."""
    slot = tlx.local_alloc((16,), tl.float32, 1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.local_store(slot[0], tl.full((16,), 1.0, tl.float32))
            tlx.named_barrier_wait(9, 256)
        with tlx.async_task(num_warps=4):
            tlx.named_barrier_wait(9, 256)
            tl.store(out + tl.arange(0, 16), tlx.local_load(slot[0]))


@tlx.jit
def early_bytes(x_desc, out):
    """Bytes may land before another task announces them: the phase waits for both."""
    slot = tlx.local_alloc((4, 16), tl.float32, 1)
    full = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_expect_bytes(full[0], 256)
        with tlx.async_task(num_warps=4):
            tlx.async_descriptor_load(x_desc, slot[0], [0, 0], full[0])
            tlx.barrier_wait(full[0], 0)


@tlx.jit
def overtaken(x_desc, out):
    """Whether the waiter is already waiting when its barrier runs ahead makes no difference to what is wrong."""
    turn = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(turn[0], 1)
            tl.store(out + tl.arange(0, 16), tl.full((16,), 1.0, tl.float32))
        with tlx.async_task(num_warps=4):
            tlx.barrier_arrive(turn[0])


@tlx.jit
def unannounced(x_desc, out):
    """A copy may be bound to any of three phases, and land in that one or a later one."""
    slot = tlx.local_alloc((4, 16), tl.float32, 1)
    turn = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_arrive(turn[0])
            tlx.barrier_arrive(turn[0])
        with tlx.async_task(num_warps=4):
            tlx.async_descriptor_load(x_desc, slot[0], [0, 0], turn[0])


KERNELS = (
    two_writers,
    meeting,
    three_arrivals,
    adders,
    unexpected_copy,
    handover,
    lagging,
    named,
    early_bytes,
    overtaken,
    unannounced,
)
#: orders each has, up to equivalence, where that can be told by thinking
ORDERS = {two_writers: 6, meeting: 1, adders: 2, handover: 1, named: 1, early_bytes: 1, overtaken: 2, unannounced: 6}


class Enumerate:
    """A picker that makes every sequence of choices, one after the other."""

    fine = True

    def __init__(self):
        self.path = []

    def start(self):
        self.depth = 0
        return self

    def interrupts(self, in_flight):
        return True

    def pick(self, agents, operations, current):
        able = candidates(agents, operations, current, True)
        if self.depth == len(self.path):
            self.path.append([0, len(able)])
        taken = able[self.path[self.depth][0]]
        self.depth += 1
        return taken

    def next(self):
        while self.path:
            self.path[-1][0] += 1
            if self.path[-1][0] < self.path[-1][1]:
                return True
            self.path.pop()
        return False


def order_of(watcher):
    """What equivalent runs have in common: the order of every two steps that depend on each other."""
    counts, names = {}, []
    for step in watcher.steps:
        counts[step.runner] = counts.get(step.runner, 0) + 1
        names.append((step.runner, counts[step.runner]))
    pairs = (
        (names[i], names[j])
        for j, later in enumerate(watcher.steps)
        for i, earlier in enumerate(watcher.steps[:j])
        if earlier.footprint.clashes(later.footprint)
    )
    return frozenset(names), frozenset(pairs)


def launch():
    x = np.arange(8 * 16, dtype=np.float32).reshape(8, 16)
    return (descriptor(x, [4, 16]), np.zeros(16, np.float32))


def brute_force(kernel):
    """Interleavings, the classes they fall into, their results and findings."""
    picker, classes, results, codes, runs = Enumerate(), set(), set(), set(), 0
    while True:
        args, watcher = launch(), Watcher()
        report = tlx.sim.run(kernel, (1,), args, schedule=picker.start(), observer=watcher)
        watcher.close()
        runs += 1
        assert runs < 5_000, "too many interleavings to enumerate"
        classes.add(order_of(watcher))
        results.add(args[0].base.numpy().tobytes() + args[1].tobytes())
        codes |= report.codes
        if not picker.next():
            return runs, classes, results, codes


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.fn.__name__)
def test_as_many_orders_as_there_are_classes(kernel):
    with tlx.sim.session():
        runs, classes, results, codes = brute_force(kernel)
        found = tlx.sim.explore(kernel, (1,), launch(), keep_going=True)
    print(kernel.fn.__name__, runs, found)
    assert found.complete
    assert found.orders == len(classes)
    assert found.results == len(results)
    assert {finding.code for finding in found.findings} == codes
    assert found.orders + found.cut <= runs
    assert found.orders == ORDERS.get(kernel, found.orders)


def gemm(k_tiles, stages):
    rng = np.random.default_rng(0)
    k = 16 * k_tiles
    a, b, c = padded(rng, 32, max(k, 1)), padded(rng, max(k, 1), 16), np.zeros((32, 16), np.float16)
    args = (descriptor(a, [16, 16]), descriptor(b, [16, 16]), c, 32, 16, k, 16, 1)
    constants = {"BLOCK_M": 32, "BLOCK_N": 16, "BLOCK_K": 16, "GROUP_M": 1, "ACTIVATION": "", "STAGES": stages}
    return args, constants


@pytest.mark.parametrize("k_tiles", [0, 1, 3, 5])
def test_a_kernel_that_orders_everything_has_one_order(k_tiles):
    found = tlx.sim.explore(gemm_ws, (1,), *gemm(k_tiles, 2))
    assert (found.orders, found.cut, found.complete, found.results, found.ok) == (1, 0, True, 1, True)


def test_attention_has_one_order():
    rng = np.random.default_rng(3)
    tiles = [descriptor(padded(rng, 64, 16), [16, 16]) for _ in range(4)]
    constants = {"BLOCK_M": 32, "BLOCK_N": 16, "HEAD": 16, "GROUPS": 2, "STAGES": 2}
    found = tlx.sim.explore(attention_ws, (1, 1), (*tiles, 0.3, 64), constants)
    assert (found.orders, found.complete, found.ok) == (1, True, True)


@tlx.jit
def rare(x_desc, out):
    """The second task must run between two steps of the third, which come late; few schedules do that."""
    met = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_arrive(met[0])
        with tlx.async_task(num_warps=4):
            if (tl.atomic_add(out + 1, 1.0) == 1.0) & (tl.load(out + 2) == 0.0):
                tlx.barrier_arrive(met[0])  # BUG: a second arrival, in one order of many
            tlx.barrier_wait(met[0], 0)
        with tlx.async_task(num_warps=4):
            for _ in range(8):
                tlx.fence("async_shared")
            tl.atomic_add(out + 1, 1.0)
            tlx.fence("async_shared")
            tl.store(out + 2, 1.0)


def test_a_bug_in_a_rare_order_is_found_and_replayed():
    plain = [tlx.sim.run(rare, (1,), launch(), schedule=s) for s in ("late", "eager", *range(20))]
    assert sum(not report.ok for report in plain) <= 2
    found = tlx.sim.explore(rare, (1,), launch())
    assert found.findings
    for finding in found.findings:
        again = tlx.sim.run(rare, (1,), launch(), schedule=eval(finding.schedule))
        assert (finding.code, finding.site, finding.what) in {(f.code, f.site, f.what) for f in again.findings}


def test_the_number_of_runs_is_bounded():
    counts = []
    found = tlx.sim.explore(two_writers, (1,), launch(), limit=3, keep_going=True, progress=counts.append)
    assert not found.complete
    assert found.orders + found.cut == 3
    assert counts == [1, 2, 3]
    assert "there are more" in str(found)


def test_the_arguments_start_every_order_as_they_were_given():
    args = launch()
    args[1][:] = 5.0
    tlx.sim.explore(adders, (1,), args, keep_going=True)
    assert args[1][8] == 6.0
    assert args[1][0] in (10.0, 11.0)
