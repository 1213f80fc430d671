"""Breaks of hand-written kernels are noticed, and the reasons to survive are told apart by running them."""

import numpy as np
import pytest
import triton.language as tl

import tlx

from .judge import Death, Judge, learn
from .launches import recorded
from .subjects import Subject, kernels, prepare
from .survivors import reviewed


@tlx.jit
def kernel(out, n, EXTRA: tl.constexpr, SLOTS: tl.constexpr):
    bars = tlx.alloc_barriers(SLOTS)
    more = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(out, n)
            tlx.barrier_arrive(bars[0])
            if EXTRA:
                tlx.barrier_wait(more[0], 0)
        with tlx.async_task(num_warps=4):
            tlx.barrier_wait(bars[0], 0)
            tlx.barrier_wait(bars[0], 0)


def launched():
    tlx.sim.run(kernel, (1,), (np.zeros(1, np.int32), 7, False, 1)).raise_for_findings()


def outcome(what, line=None):
    """What a judge says about one break of the kernel: how it is noticed, or why it is not."""
    prepared = prepare(Subject("test", "test_judge.py", (launched,)))
    judge = Judge(prepared.launches)
    learn(prepared.launches)
    (item,) = [b for b in prepared.breaks if b.mutant.what == what and (line is None or line in b.mutant.text)][:1]
    return judge.death(item) or judge.classes(item)


def test_a_deadlock_is_noticed():
    assert outcome("delete arrive: barrier_arrive") == Death("deadlock", "late")


def test_a_statement_never_run_is_dead_code():
    assert outcome("delete wait: barrier_wait", "more[0]") == ("dead-code",)


def test_the_only_slot_shifted_is_the_same_slot():
    assert outcome("shift slot", "barrier_arrive(bars[0])") == ("equal-trace",)


def test_a_wait_for_what_is_over_only_costs_time():
    assert outcome("delete wait: barrier_wait", "bars[0]") == ("speed-only",)


def test_other_results_are_noticed():
    (launch,) = recorded(launched)
    launch.original("late")
    launch.args = (launch.args[0], 8, False, 1)
    assert launch.run("late") != launch.known["late"]


#: where the quick subset is taken from; `make mutate` runs everything
QUICK = [subject for subject in kernels() if subject.file.endswith(("/gemm_ws.py", "/multicast_gemm.py"))]


@pytest.mark.parametrize("subject", QUICK, ids=lambda subject: subject.file)
def test_breaks_are_noticed(subject):
    prepared = prepare(subject)
    learn(prepared.launches)
    judge = Judge(prepared.launches)
    assert len(prepared.breaks) > 25
    listed = reviewed()
    with tlx.sim.session():
        for item in prepared.breaks:
            if judge.death(item) is None:
                entry = [e for e in listed if e.covers(subject.file, item.mutant.text, item.mutant.what)]
                assert entry, f"{item.mutant.what}: {item.mutant.text}"
                assert entry[0].kind in judge.classes(item)


def test_what_a_launch_runs_is_broken():
    prepared = prepare(Subject("test", "", (launched,)))
    assert [launch.functions.keys() for launch in prepared.launches] == [{kernel.fn}]
    assert {item.function.fn for item in prepared.breaks} == {kernel.fn}
