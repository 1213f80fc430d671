"""The kernels that coverage is a share of, and what was measured of each, kept in `benchmarks/results/coverage.json`.

A row of the results is a row of `denominator.json` with the verdicts (`off`, `on`: the profit gate), how checking its
protocol and simulating it ended (`protocol`, `simulated`), how its dots get their operands (`dots`) and the commit at
which that was measured (`revision`). Rows may be of several commits; those of early ones have no `protocol` and `dots`.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "benchmarks" / "results" / "coverage.json"

Row = dict[str, Any]


def denominator() -> list[Row]:
    """The kernels of `denominator.json`."""
    rows: list[Row] = json.loads((HERE / "denominator.json").read_text())["kernels"]
    return rows


def keep(rows: list[Row], tool: str) -> None:
    """Writes the results: `rows` where they were measured just now, for the other kernels what was known of them."""
    known = json.loads(RESULTS.read_text())["kernels"] if RESULTS.exists() else []
    found = {_identity(row): row for row in [*known, *rows]}
    kernels = [found[key] for row in denominator() if (key := _identity(row)) in found]
    RESULTS.write_text(json.dumps({"schema": 1, "tool": tool, "kernels": kernels}, indent=1) + "\n")


def revision() -> str:
    """The commit of this checkout, "" outside of one."""
    asked = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True, check=False
    )
    return asked.stdout.strip()


def revisions(rows: list[Row]) -> tuple[str, ...]:
    """The commits at which the results were measured, that of most kernels first."""
    counts = Counter(row.get("revision", "") for row in rows)
    return tuple(name for name, _ in counts.most_common() if name)


def _identity(row: Row) -> tuple[str, str, str, int]:
    """What tells a kernel of the denominator from the others."""
    return row["package"], row["path"], row["name"], row["line"]
