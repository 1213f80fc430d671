"""The parent's side of a benchmark: what to measure, children to measure it, and the report of what came back."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..conversion import Conversion
from ..facts import Facts
from ..verdict import Rung
from ..verify.cases import Case
from ..verify.child import Job, Limits, run_job
from ..verify.requirements import missing_for_gpu
from .report import Report, Row, row_of
from .shapes import title
from .sizes import sizes_of
from .work import Work, work_of

SESSION = "tlxify.bench.session:measure"
ROUNDS = 15


class NoGpu(Exception):
    """There is nothing to measure on; the text says what is missing."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One kernel with the launches that are to be measured."""

    conversion: Conversion
    facts: Facts
    cases: tuple[Case, ...]
    #: No other config than each case's own is tried.
    pinned: bool = False
    #: Files of what some tensors hold, by parameter; all others are random.
    contents: tuple[tuple[str, str], ...] = ()

    def titles(self) -> tuple[str, ...]:
        """A name for each case, the same in every run."""
        return tuple(title(self.conversion.contract, case) for case in self.cases)

    def works(self) -> tuple[Work, ...]:
        """What each case has to do."""
        contract = self.conversion.contract
        return tuple(work_of(contract, self.facts, sizes_of(contract, case)) for case in self.cases)


def bench(
    kernels: Sequence[Measured],
    *,
    tool: str = "",
    rounds: int = ROUNDS,
    reference: str | None = None,
    progress: Callable[[str], None] = lambda text: None,
    limits: Limits | None = None,
) -> Report:
    """Measures each kernel in a child process of its own.

    Args:
        kernels: what to measure.
        tool: name and version, for the report.
        rounds: turns of each contender.
        reference: "module:callable", called with those of the kernel's arguments that it names; run in the child.
        progress: called with a line per launch.
        limits: of each child.

    Raises:
        NoGpu: there is no GPU, or no torch.
    """
    if (reason := missing_for_gpu()) is not None:
        raise NoGpu(reason)
    limits = replace(limits or Limits(), memory=None)  # CUDA maps far more than it uses
    report = Report((), tool=tool, rounds=rounds)
    for kernel in kernels:
        rows, about = _measure(kernel, rounds, reference, progress, limits)
        known = {name: about[name] for name in ("device", "torch", "triton", "ceilings") if name in about}
        report = replace(report, rows=(*report.rows, *rows), **known)
    return report


def _measure(
    kernel: Measured, rounds: int, reference: str | None, progress: Callable[[str], None], limits: Limits
) -> tuple[list[Row], dict[str, Any]]:
    """Rows for all cases: a launch that ends the child is a row that says so, and a new child goes on after it."""
    todo = list(zip(kernel.titles(), kernel.cases, kernel.works(), strict=True))
    rows: list[Row] = []
    about: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="tlxify-") as folder:
        while todo:
            path = Path(folder) / f"{len(rows)}.jsonl"
            path.touch()
            options = {
                "cases": [(name, case) for name, case, _ in todo],
                "works": [work for _, _, work in todo],
                "rows": str(path),
                "rounds": rounds,
                "reference": reference,
                "pinned": kernel.pinned,
                "contents": dict(kernel.contents),
            }
            outcome = run_job(Job(SESSION, kernel.conversion, Rung.RAN, options, limits), progress)
            if "skipped" in outcome.figures:
                raise NoGpu(str(outcome.figures["skipped"]))
            about |= outcome.figures
            done, began = _rows(path)
            rows += done
            if outcome.findings and len(done) < len(todo):
                text = outcome.findings[0].text
                name, _, work = todo[len(done)]
                rows.append(Row(kernel.conversion.kernel, name, flops=work.flops, bytes=work.bytes, failure=text))
                # A child that did not get as far as a launch will not get further the next time.
                if not began:
                    rows += [Row(kernel.conversion.kernel, name, failure=text) for name, _, _ in todo[len(done) + 1 :]]
                    break
            todo = todo[len(done) + 1 :] if outcome.findings else todo[len(done) :]
            if not outcome.findings and not done:
                break
    return rows, about


def _rows(path: Path) -> tuple[list[Row], bool]:
    """The rows of a child, and whether it began any."""
    rows, began = [], False
    for line in path.read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        began = True
        if "began" not in told:
            rows.append(row_of(told))
    return rows, began
