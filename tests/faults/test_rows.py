"""Every row of known faults that asks something of the converter has a test."""

from __future__ import annotations

from tests.faults import uncovered
from tests.faults.trying import INPUTS
from tests.faults.uncovered import ASKED, HERE, asked, rows


def test_no_row_is_uncovered():
    assert sorted(rows().keys() - uncovered.covered()) == []


def test_a_row_asks_what_can_be_asked():
    assert all(asks and set(asks) <= set(ASKED) for asks in rows().values())


def test_a_row_without_a_test_is_found(tmp_path):
    for file in HERE.glob("test_*.py"):
        (tmp_path / file.name).write_text(file.read_text().replace("def test_fault_14_", "def test_other_14_"))
    assert rows().keys() - uncovered.covered(tmp_path) == {14}


def test_rows_of_a_note():
    note = "| # | T |\n|---|---|\n| 14 | x | **CONVERT**: **VERIFY** |\n| 15 | x | **VERIFY** |\n| 9 | **REFUSE** |\n"
    assert asked(note) == {14: ["CONVERT"], 9: ["REFUSE"]}


def test_every_input_is_used():
    texts = "".join(file.read_text() for file in HERE.glob("test_*.py"))
    assert [file.stem for file in INPUTS.glob("*.py") if f'"{file.stem}"' not in texts] == []
