"""What a report holds on disk, and when a later one is worse."""

from __future__ import annotations

import json

import pytest

from tlxify.bench.figures import Spread
from tlxify.bench.report import Report, Row, Unusable, compare, read, regressed


def row(launch="M=1", speedup=1.2, spread=0.002, **changes):
    ms = {"source": Spread(1.2, 1.1, 1.3), "converted": Spread(1.0, 0.9, 1.1)}
    ratio = {"source": Spread(speedup, speedup - spread / 2, speedup + spread / 2)}
    return Row(**{"kernel": "k", "launch": launch, "ms": ms, "speedup": ratio, "flops": 2e12, "bytes": 1e9, **changes})


def failed(launch):
    return Row("k", launch, failure="hangs")


def states(old, new):
    return [change.state for change in compare(Report(tuple(old)), Report(tuple(new)))]


def test_a_report_survives_the_disk(tmp_path):
    report = Report((row(floor=0.5), row("M=2", failure="hangs")), "tlxify 1", "H200", "2", "3", 15, {"tflops": 790.0})
    path = tmp_path / "r.json"
    path.write_text(json.dumps(report.data()))
    assert read(path) == report
    assert json.loads(path.read_text())["rows"][0]["tflops"] == {"source": 1666.6667, "converted": 2000.0}
    assert json.loads(path.read_text())["rows"][0]["share"]["converted"] == 0.5


@pytest.mark.parametrize("text", ["[]", "{}", '{"format": 2, "rows": []}', "not json", '{"format": 1, "rows": [3]}'])
def test_other_files_are_refused(tmp_path, text):
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(Unusable):
        read(path)


@pytest.mark.parametrize(
    ("now", "state"),
    [(1.2, "same"), (1.18, "same"), (1.17, "slower"), (1.23, "faster")],
)
def test_two_per_cent_are_noise(now, state):
    assert states([row()], [row(speedup=now)]) == [state]


def test_wide_intervals_tolerate_more():
    assert states([row(spread=0.1)], [row(speedup=1.13, spread=0.1)]) == ["same"]
    assert states([row(spread=0.1)], [row(speedup=1.05, spread=0.1)]) == ["slower"]


def test_a_faster_machine_is_no_progress_and_a_slower_one_no_regression():
    slow = row(ms={"source": Spread(12.0, 11.0, 13.0), "converted": Spread(10.0, 9.0, 11.0)})
    assert states([row()], [slow]) == ["same"]


def test_dropping_a_launch_is_a_regression():
    old = Report((row(), row("M=2"), row("M=3")))
    new = Report((row(), failed("M=3"), row("M=4")))
    changes = compare(old, new)
    assert [(change.launch, change.state) for change in changes] == [
        ("M=1", "same"),
        ("M=2", "missing"),
        ("M=3", "missing"),
        ("M=4", "new"),
    ]
    assert regressed(changes)
    assert not regressed(compare(old, old))
    failed_then = Report((failed("M=1"),))
    assert not regressed(compare(failed_then, Report(())))
