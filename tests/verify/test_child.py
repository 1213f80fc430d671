"""Foreign code in a child: crashes, hangs, chatter and hunger for memory are findings, never a fault of the parent."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from tlxify.verdict import Rung
from tlxify.verify import Limits, verify
from tlxify.verify.child import Job, run_job

from . import samples

pytestmark = pytest.mark.triton


def run(head: str, limits: Limits | None = None, options: dict | None = None):
    """The first seconds of the sample's simulation, with statements put at the top of its module."""
    future = "import os, sys, time\n"
    conversion = replace(samples.conversion(), module_text=f"{future}{head}\n{samples.TEXT}")
    steps: list[str] = []
    job = Job("simulate", conversion, Rung.SIMULATED, options or {"share": (0, 20)}, limits or Limits(60.0))
    return run_job(job, steps.append), steps


def test_a_job_reports_figures_and_progress():
    outcome, steps = run("")
    assert not outcome.findings
    assert outcome.figures["runs"] > 0
    assert steps
    assert all(step.startswith("simulated:") for step in steps)


def test_what_a_module_prints_does_not_disturb():
    outcome, _ = run("print('{\"result\": {}}'); os.write(1, b'{\"result\": {}}\\n'); os.system('echo hello')")
    assert outcome.figures["runs"] > 0


@pytest.mark.parametrize(
    ("head", "text"),
    [
        ("os.abort()", "SIGABRT"),
        ("os._exit(3)", "status 3"),
        ("raise RuntimeError('no such luck')", "no such luck"),
        ("sys.exit(0)", "SystemExit: 0"),
    ],
)
def test_a_crash_is_a_finding(head, text):
    outcome, _ = run(head)
    (finding,) = outcome.findings
    assert finding.code == "crash"
    assert text in finding.text
    assert finding.file == "gemm_module.py"


def test_a_hang_is_a_finding_and_ends():
    begun = time.monotonic()
    outcome, _ = run("time.sleep(600)", Limits(seconds=3.0))
    assert time.monotonic() - begun < 30
    (finding,) = outcome.findings
    assert finding.code == "timeout"


def test_hunger_for_memory_is_a_finding():
    outcome, _ = run("block = bytearray(64 << 30)", Limits(60.0, 16 << 30))
    (finding,) = outcome.findings
    assert finding.code == "crash"
    assert "MemoryError" in finding.text


def test_a_module_without_the_binding_is_a_finding():
    text = samples.TEXT[: samples.TEXT.rindex("gemm = tlx.specialized(")]
    verdict = verify(replace(samples.conversion(), module_text=text), upto=Rung.SIMULATED)
    assert verdict.rung == Rung.NONE
    assert "not bound to tlx.specialized" in verdict.findings[0].text


def test_switches_of_the_user_do_not_reach_the_child(monkeypatch):
    monkeypatch.setenv("TLXIFY", "0")
    monkeypatch.setenv("TLXIFY_DISABLE", "gemm")
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    outcome, _ = run("")
    assert not outcome.findings
    assert outcome.figures["specialized"] > 0


def test_a_child_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    outcome, _ = run("import tempfile; tempfile.mkdtemp(); os.abort()")
    assert outcome.findings
    assert list(tmp_path.iterdir()) == []


def test_what_a_child_told_before_it_died_counts():
    outcome = run_job(Job("tests.verify.jobs:dies", samples.conversion(), Rung.RAN), lambda text: None)
    assert outcome.figures == {"steps": 2}
    assert [finding.code for finding in outcome.findings] == ["found", "crash"]
    assert "status 3; the last step was: one step" in outcome.findings[1].text


def test_a_child_verifies_the_conversion_whatever_the_user_runs(monkeypatch):
    for name, value in {"TLXIFY": "0", "TLXIFY_SHADOW": "1", "TLXIFY_POLICY": "bitwise"}.items():
        monkeypatch.setenv(name, value)
    outcome = run_job(Job("tests.verify.jobs:switches", samples.conversion(), Rung.RAN), lambda text: None)
    assert outcome.figures == {"TLXIFY_POLICY": "always"}


def test_a_kernel_that_does_not_end_is_a_finding_by_name():
    """It took all the time that the child had, and what was wrong nobody said."""
    region = "    with tlx.async_tasks():"
    text = samples.TEXT.replace(region, f"    while True:\n        pass\n{region}", 1)
    assert text != samples.TEXT
    job = Job(
        "simulate",
        replace(samples.conversion(), module_text=text),
        Rung.SIMULATED,
        {"share": (0, 20), "minimal": True},
        Limits(300.0),
    )
    outcome = run_job(job, lambda text: None)
    (finding,) = outcome.findings
    assert finding.code == "no-end"
    assert "has not ended after 1000000 turns" in finding.text
    assert text.splitlines()[finding.line - 1] == "    while True:"
    assert "replay: " in finding.detail
