"""What a finding tells: two lines of source, who is involved, the barriers that matter, how to see it again."""

import importlib
from pathlib import Path

import pytest

from . import launch

BUGS = sorted(path.stem for path in (Path(__file__).parent / "bugs").glob("test_*.py"))

#: what only one line has to do with
ALONE = {"global-out-of-bounds"}


def findings_of(name, monkeypatch):
    """The findings at the marked line of a seeded bug, run as its own test does."""
    module = importlib.import_module(f"{__package__}.bugs.{name}")
    found = []

    def collect(report, kernel, *codes):
        line = launch.line_of(kernel)
        found.extend(f for f in report.findings if f.code in codes and line in (f.site.line, f.other and f.other.line))

    monkeypatch.setattr(module, "assert_found", collect)
    module.test_found("late")
    return found


@pytest.mark.parametrize("name", BUGS)
def test_details(name, monkeypatch):
    found = findings_of(name, monkeypatch)
    assert found
    for finding in found:
        assert finding.site.text
        assert finding.schedule
        assert finding.remedy.endswith(".")
        assert finding.agents or finding.barriers
        assert str(finding).count("  fix: ") == 1
        if finding.code == "deadlock":
            assert finding.barriers
        elif finding.code not in ALONE:
            assert finding.other is not None
            assert finding.other.text
