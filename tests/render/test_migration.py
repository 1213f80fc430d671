"""The summary of a run over a tree."""

from __future__ import annotations

import pytest
from rich.console import Console

from tlxify.migrate.record import FileRecord, Finding, KernelRecord
from tlxify.render.migration import SIGNS, WIDTH, bar, summary


@pytest.mark.parametrize("counts", [[1, 0, 0, 0], [900, 1, 1, 1], [0, 3, 0, 7], [0, 0, 0, 0]])
def test_a_bar_shows_every_verdict_that_occurs_and_no_other(counts: list[int]):
    text = bar(counts, max(counts)).plain
    assert [sign in text for sign in SIGNS.values()] == [count > 0 for count in counts]
    assert len(text) <= WIDTH + len(counts)


def shown(*records: FileRecord) -> str:
    console = Console(width=120, no_color=True)
    with console.capture() as captured:
        for part in summary(records):
            console.print(part, soft_wrap=True)
    return captured.get()


def test_troubles_are_named_with_their_place_and_plain_verdicts_are_only_counted():
    kernels = (
        KernelRecord("plain", 3, "GEMM", "declined", ("TLX201",), "an address", reportable=True),
        KernelRecord("broken", 9, "GEMM", "declined", ("TLX120",), "internal error: [bold] oops", reportable=True),
        KernelRecord("racy", 20, "attention", "converted", ("TLX601",), "race: slot 0", "protocol", passed=False),
    )
    text = shown(FileRecord("m.py", kernels), FileRecord("n.py", findings=(Finding("TLX101", "not valid Python"),)))
    assert "m.py:9: TLX120: broken: internal error: [bold] oops" in text
    assert "m.py:20: TLX601: racy: race: slot 0" in text
    assert "n.py: TLX101: not valid Python" in text
    assert "plain" not in text
    assert "3 kernels in 2 files: 1 converted, 2 declined; 1 failed verification and stay as they were" in text


def test_an_empty_run_says_so():
    assert "0 kernels in 0 files: nothing to convert" in shown()
