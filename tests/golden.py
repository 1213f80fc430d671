"""Golden files: how a case is read, and how an expectation is brought up to date."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

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
