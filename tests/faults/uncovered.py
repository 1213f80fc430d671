"""Rows of known faults without a test.

    python tests/faults/uncovered.py [--note KNOWN_FAULTS.md]

A test covers the rows whose numbers stand in its name: `test_fault_14_…`, `test_fault_4_5_…`. With `--note`, the
numbers in `rows.toml` are compared with those of the note's tables that ask to CONVERT, GUARD or REFUSE. Exit status 1
if anything is left over.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
#: What a row may ask of the converter; what it asks of tests, the verifier or the benchmarks is theirs.
ASKED = ("CONVERT", "GUARD", "REFUSE")


def rows(file: Path = HERE / "rows.toml") -> dict[int, list[str]]:
    """Number of each row → what it asks."""
    return {row["number"]: row["asks"] for row in tomllib.loads(file.read_text())["row"]}


def covered(folder: Path = HERE) -> set[int]:
    """The numbers in the names of the tests."""
    found: set[int] = set()
    for file in folder.glob("test_*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef) and (numbers := re.match(r"test_fault((?:_\d+)+)", node.name)):
                found |= set(map(int, numbers[1].strip("_").split("_")))
    return found


def asked(note: str) -> dict[int, list[str]]:
    """The rows of a note's tables, by number, that ask something of the converter: `| 14 | … | **CONVERT**: … |`."""
    found = {}
    for number, text in re.findall(r"^\|\s*(\d+)\s*\|(.*)$", note, re.MULTILINE):
        if marks := [mark for mark in ASKED if f"**{mark}**" in text]:
            found[int(number)] = marks
    return found


def differences(note: str) -> list[str]:
    """How `rows.toml` and the note differ, in words."""
    ours, theirs = rows(), asked(note)
    told = [f"row {number} of the note is not in rows.toml" for number in sorted(theirs.keys() - ours.keys())]
    told += [f"row {number} of rows.toml is not in the note" for number in sorted(ours.keys() - theirs.keys())]
    for number in sorted(ours.keys() & theirs.keys()):
        if set(ours[number]) != set(theirs[number]):
            told.append(f"row {number} asks {theirs[number]} in the note, {ours[number]} here")
    return told


def main() -> int:
    """Prints what is left over; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--note", type=Path, help="the list of known faults")
    options = parser.parse_args()
    left = [f"row {number} has no test" for number in sorted(rows().keys() - covered())]
    if options.note:
        left += differences(options.note.read_text())
    print("\n".join(left) or f"{len(rows())} rows, each with a test")
    return int(bool(left))


if __name__ == "__main__":
    sys.exit(main())
