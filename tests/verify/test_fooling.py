"""Kernels made to fool a verifier: each must end in a finding, and in the right one."""

from __future__ import annotations

import re
from dataclasses import replace
from textwrap import indent

import pytest

from tlxify.verify.inputs import edge_cases
from tlxify.verify.simulate import simulate
from tlxify.verify.tally import Tally

from . import samples

pytestmark = pytest.mark.triton

CONVERTED = samples.TEXT.index("@tlx.jit")
STORE = "tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=(rows[:, None] < M) & (columns[None, :] < N))"
EPILOGUE = '                if ACTIVATION == "relu":\n'


def fooled(old: str, new: str) -> str:
    """The sample with the first `old` replaced in its specialized kernel alone."""
    head, tail = samples.TEXT[:CONVERTED], samples.TEXT[CONVERTED:]
    assert old in tail, old
    return head + tail.replace(old, new, 1)


def before_the_epilogue(lines: str) -> str:
    """The sample with lines put behind its dot loop."""
    return fooled(EPILOGUE, indent(lines, " " * 16) + EPILOGUE)


def simulated(text: str, *names: str) -> Tally:
    """The edge cases (those of some names, if given) on a changed sample. These faults show in any order of events."""
    every = [replace(case, schedules=("late",)) for case in edge_cases(samples.CONTRACT)]
    cases = [case for case in every if not names or case.name.startswith(names)]
    assert cases
    return simulate(samples.conversion(text), cases=cases, enough=1)


def codes(tally: Tally) -> set[str]:
    return {finding.code for finding in tally.findings.values()}


MISMATCHES = {
    "writes nothing": fooled(STORE, "pass"),
    "returns early": fooled("    ROWS: tl.con", "    if M > 40:\n        return\n    ROWS: tl.con"),
    "constant output": before_the_epilogue("acc = acc * 0.0\n"),
    "nearly zero": before_the_epilogue("acc = acc * 1e-3\n"),
    "skips the last row block": fooled("rows[:, None] < M)", "rows[:, None] < (tl.cdiv(M, BLOCK_M) - 1) * BLOCK_M)"),
    "skips the last rows": fooled("mask=(rows[:, None] < M)", "mask=(rows[:, None] < M // BLOCK_M * BLOCK_M)"),
    "right for whole tiles of K only": before_the_epilogue("if K % 64 != 0:\n    acc = acc * 1.01\n"),
    "right for few trips only": before_the_epilogue("if tl.cdiv(K, BLOCK_K) > 2 * STAGES:\n    acc = acc * 1.01\n"),
    "wrong in the second config only": before_the_epilogue("if CONSUMERS == 1:\n    acc = acc + 0.02\n"),
    "wrong at the config's own tiles only": before_the_epilogue("if BLOCK_N == 64:\n    acc = acc + 0.02\n"),
    "wrong for one layout only": before_the_epilogue("if A_TRANSPOSED:\n    acc = acc + 0.02\n"),
    "wrong for bf16 only": before_the_epilogue(
        "if c_ptr.dtype.element_ty == tl.bfloat16:\n    acc = acc * 1.05\n"
    ),
    "wrong for one option only": fooled("acc = tl.maximum(acc, 0.0)", "acc = tl.maximum(acc, 0.02)"),
    "swallows NaN": before_the_epilogue("acc = tl.where(acc == acc, acc, 0.0)\n"),
    "clips large values": before_the_epilogue("acc = tl.minimum(acc, 1000.0)\n"),
}  # fmt: skip


@pytest.mark.parametrize("trap", MISMATCHES)
def test_a_trap_is_a_mismatch(trap):
    tally = simulated(MISMATCHES[trap])
    assert codes(tally) == {"mismatch"}
    (finding,) = tally.findings.values()
    assert finding.text.startswith("c_ptr[")
    assert finding.line > 0


def test_yesterdays_answer_does_not_help_a_kernel_that_writes_nothing():
    # The sound kernel leaves its answer in memory that the next launch may be given.
    case = next(case for case in edge_cases(samples.CONTRACT) if case.name == "2 trips")
    for _ in range(3):
        assert not simulate(samples.conversion(), cases=[case]).findings
        assert codes(simulate(samples.conversion(MISMATCHES["writes nothing"]), cases=[case])) == {"mismatch"}


def test_writing_past_the_end_is_out_of_bounds():
    tally = simulated(fooled("(columns[None, :] < N)", "(columns[None, :] < N + 1)"))
    assert codes(tally) == {"global-out-of-bounds"}


def test_writing_between_the_rows_hits_a_canary():
    tally = simulated(fooled("(columns[None, :] < N)", "(columns[None, :] < N + (rows[:, None] < M - 1))"))
    assert codes(tally) == {"canary"}


def test_writing_to_an_input_hits_a_canary():
    text = fooled('"A_TRANSPOSED": a.transposed', '"c_ptr": a_ptr, "A_TRANSPOSED": a.transposed')
    assert "canary" in codes(simulated(text, "3 trips"))


def test_swapped_inputs_of_equal_shape_differ():
    # A @ A instead of A @ B, on square matrices: only independent data can tell.
    text = fooled('"b_desc": b,', '"b_desc": tlx.tma_view("a_ptr", a_ptr, (M, K), (stride_am, stride_ak)),')
    case = next(case for case in edge_cases(samples.CONTRACT) if case.name == "2 trips")
    square = replace(case, values=(("M", 32), ("N", 32), ("K", 32), ("ACTIVATION", "")))
    assert codes(simulate(samples.conversion(text), cases=[square])) == {"mismatch"}


def test_one_lost_tile_in_64_is_a_mismatch():
    lost = "acc = tlx.async_dot_wait(0, acc)\n" + indent(
        "if k % 64 == 63:\n    acc = acc - tl.dot(tlx.local_load(a), tlx.local_load(b))\n", " " * 20
    )
    text = fooled("acc = tlx.async_dot_wait(1, acc)\n", lost)
    assert not simulated(text, "1 trips", "7 trips").findings, "no shorter launch can tell"
    (finding,) = simulated(text, "65 trips").findings.values()
    assert finding.code == "mismatch"
    assert "at 65 trips" in finding.text


FORGIVING = """

class Forgiving:
    \"\"\"Runs the original whenever anything goes wrong, and calls it specialized.\"\"\"

    def __init__(self, bound):
        self.original, self.converted, self.bound = bound.original, bound.converted, bound

    def resolve(self, *, grid, config, processors, **given):
        from tlx.launch.schedule import Dispatch

        try:
            raise RuntimeError("the specialized kernel does not work here")
        except RuntimeError:
            tiles = {name: value for name, value in config.items() if name.startswith("BLOCK")}
            return Dispatch("specialized", "", "", self.original, grid, {**given, **tiles})


gemm = Forgiving(gemm)
"""


def test_a_fallback_that_calls_itself_specialized_is_a_finding():
    (finding,) = simulated(samples.TEXT + FORGIVING, "3 trips").findings.values()
    assert finding.code == "dispatch"
    assert "another kernel than the specialized one" in finding.text


def test_a_failure_that_the_launcher_survives_is_a_finding():
    # What the guard raises is caught: the original runs, and the program notices nothing.
    text = fooled('    tlx.require_disjoint("c_ptr"', '    1 // 0\n    tlx.require_disjoint("c_ptr"')
    (finding,) = simulated(text, "3 trips").findings.values()
    assert finding.code == "dispatch"
    assert "guard-error" in finding.text


def test_a_launch_that_always_falls_back_is_a_finding():
    never = 'tlx.require(False, "never", "no launch is good enough")\n    tlx.require_disjoint('
    tally = simulated(fooled("tlx.require_disjoint(", never), "1 trips")
    assert codes(tally) == {"dispatch"}
    assert all("never" in finding.text for finding in tally.findings.values())
    assert tally.specialized == 0


def test_a_guard_that_lets_overlap_through_is_a_finding():
    requirement = '    tlx.require_disjoint("c_ptr", c_ptr, (M, N), (stride_cm, stride_cn), reads=(a, b))\n'
    (finding,) = simulated(fooled(requirement, ""), "c_ptr overlap").findings.values()
    assert finding.code == "dispatch"
    assert "specialized kernel would run" in finding.text


#: Sources that are wrong themselves: what is said of each, and the edit.
FAILING = {
    "no mask on the columns": (
        "around c_ptr were overwritten|outside every tensor",
        *("(rows[:, None] < M) & (columns[None, :] < N)", "rows[:, None] < M"),
    ),
    "rows past the end": ("outside every tensor", " + tl.arange(0, BLOCK_M)) % M", " + tl.arange(0, BLOCK_M))"),
    # Behind the last column of a padded row is memory, but nobody's.
    "the gap between rows": (
        "differs from run to run",
        "    rows = pid_m",
        "    acc += tl.load(a_ptr + offs_m * stride_am + K, mask=offs_m < M - 1, other=0.0)[:, None]\n    rows = pid_m",
    ),
}


@pytest.mark.parametrize("how", FAILING)
def test_a_failing_source_is_no_fault_of_the_conversion(how):
    head, tail = samples.TEXT[:CONVERTED], samples.TEXT[CONVERTED:]
    said, old, new = FAILING[how]
    assert old in head
    tally = simulated(head.replace(old, new) + tail, "sizes", "ragged")
    assert re.search(said, tally.source_fails), tally.source_fails
    assert not tally.findings


def test_a_drawn_launch_that_fails_is_shrunk():
    # Wrong for heights that no edge case has: hypothesis finds one, and reports the smallest it can.
    text = before_the_epilogue("if M % 4 == 2:\n    acc = acc + 0.1\n")
    assert not simulated(text, "sizes", "1 trips").findings
    tally = simulate(samples.conversion(text), cases=[], drawn=60)
    (finding,) = tally.findings.values()
    assert finding.code == "mismatch"
    assert "drawn (M = 2," in finding.detail
    assert "at 1 trips" in finding.text
