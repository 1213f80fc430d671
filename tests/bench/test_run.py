"""The parent's side: what a child reports, and what becomes of launches that end it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from tests.verify.samples import conversion
from tlxify.bench import run
from tlxify.bench.report import Row
from tlxify.bench.run import Measured, NoGpu, bench
from tlxify.facts import Facts
from tlxify.verdict import Evidence, Rung
from tlxify.verify.child import Outcome
from tlxify.verify.sizing import full_size_case

FACTS = Facts("gemm", (), (), (), (), (), ())


def measured(count=3):
    found = conversion()
    cases = tuple(
        dataclasses.replace(full_size_case(found.contract, 0, tiles=1 + number), name="x") for number in range(count)
    )
    return Measured(found, FACTS, cases)


@pytest.fixture
def child(monkeypatch):
    """A child that measures every launch but those in `deadly`, which end it."""
    asked = []

    def set_up(deadly=(), figures=None, silent=False):
        def run_job(job, progress):
            cases = [case for kernel in job.options["kernels"] for case in kernel["cases"]]
            asked.append([title for title, _ in cases])
            if silent:
                return Outcome(figures or {}, (Evidence(Rung.RAN, False, "crash", "no CUDA"),))
            path = Path(job.options["rows"])
            path.write_text(json.dumps({"about": {"device": "H200", "torch": "2.9"}}) + "\n")
            for title, _ in cases:
                with path.open("a") as file:
                    file.write(json.dumps({"began": title}) + "\n")
                    if title in deadly:
                        return Outcome({}, (Evidence(Rung.RAN, False, "timeout", f"no result; last {title}"),))
                    file.write(json.dumps(dataclasses.asdict(Row("gemm", title, path="specialized"))) + "\n")
            return Outcome({"device": "H200", "ceilings": {"tflops": 1.0, "gbps": 2.0}, **(figures or {})}, ())

        monkeypatch.setattr(run, "run_job", run_job)
        monkeypatch.setattr(run, "missing_for_gpu", lambda: None)
        return asked

    return set_up


def test_every_launch_becomes_a_row(child):
    asked = child()
    kernel = measured()
    report = bench([kernel], tool="t", rounds=5)
    assert [row.launch for row in report.rows] == list(kernel.titles())
    assert (report.device, report.ceilings, report.rounds) == ("H200", {"tflops": 1.0, "gbps": 2.0}, 5)
    assert len(asked) == 1


def test_a_launch_that_hangs_costs_no_other(child):
    kernel = measured()
    titles = kernel.titles()
    asked = child(deadly=[titles[1]])
    report = bench([kernel])
    assert [(row.launch, bool(row.failure)) for row in report.rows] == [
        (titles[0], False),
        (titles[1], True),
        (titles[2], False),
    ]
    assert asked == [list(titles), [titles[2]]]
    assert (report.device, report.torch) == ("H200", "2.9")
    assert "timeout" not in report.rows[1].failure
    assert "no result" in report.rows[1].failure


def test_a_run_that_is_cut_short_says_on_which_machine(child):
    kernel = measured(1)
    child(deadly=kernel.titles())
    report = bench([kernel])
    assert [bool(row.failure) for row in report.rows] == [True]
    assert (report.device, report.torch) == ("H200", "2.9")


def test_several_kernels_may_share_a_child(child):
    kernels = [measured(2), measured(1), measured(3)]
    hanging = kernels[0].titles()[1]
    asked = child(deadly=[hanging])
    report = bench(kernels, together=True)
    titles = [title for kernel in kernels for title in kernel.titles()]
    assert [row.launch for row in report.rows] == titles
    assert [row.launch for row in report.rows if row.failure] == [hanging] * titles.count(hanging)
    assert asked[:2] == [titles, titles[2:]]


def test_a_child_that_never_begins_is_not_started_for_ever(child):
    asked = child(silent=True)
    report = bench([measured()])
    assert [row.failure for row in report.rows] == ["no CUDA"] * 3
    assert len(asked) == 1


def test_without_a_gpu_nothing_is_claimed(child, monkeypatch):
    child(figures={"skipped": "torch sees no GPU"})
    with pytest.raises(NoGpu, match="sees no GPU"):
        bench([measured()])
    monkeypatch.setattr(run, "missing_for_gpu", lambda: "torch is not installed")
    with pytest.raises(NoGpu, match="not installed"):
        bench([measured()])
