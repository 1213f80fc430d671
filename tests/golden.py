"""Golden files: how a case is read, and how an expectation is brought up to date."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CASES = ROOT / "tests" / "cases"


@dataclass(frozen=True)
class Case:
    """One file under tests/cases."""

    path: Path
    source: str
    flags: str
    #: Expected text, or None for a refusal.
    output: str | None
    code: str = ""
    line: int = 0


def read(path: Path) -> Case:
    text = path.read_text()
    flags = re.search(r"^# flags: (.*)$", text, re.MULTILINE)
    refused = re.search(r"^# declined: (\w+) at (\d+)\n\Z", text, re.MULTILINE)
    if refused:
        return Case(path, text[: refused.start()], flags[1] if flags else "", None, refused[1], int(refused[2]))
    source, output = text.split("# output\n")
    return Case(path, source, flags[1] if flags else "", output)


def write(case: Case, output: str) -> None:
    case.path.write_text(f"{case.source}# output\n{output}")


def needs_block_pointers(text: str) -> None:
    """Skips a test that runs a source with block pointers where Triton has none any more (3.9)."""
    from tlx.lowering.versions import VERSION

    if "make_block_ptr" in text and VERSION >= (3, 9):
        pytest.skip("this Triton has no block pointers: the source cannot be run")
