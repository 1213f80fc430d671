"""The parent's side of a benchmark: what to measure, children to measure it, and the report of what came back."""

from __future__ import annotations

import json
import tempfile
import time
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

SESSION, WARMING = "tlxify.bench.session:measure", "tlxify.bench.session:warm"
ROUNDS = 15
#: Seconds with which no child is started again.
LEAST = 10.0


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
    together: bool = False,
) -> Report:
    """Measures each kernel in a child process of its own.

    Args:
        kernels: what to measure.
        tool: name and version, for the report.
        rounds: turns of each contender.
        reference: "module:callable", called with those of the kernel's arguments that it names; run in the child.
        progress: called with a line per launch.
        limits: of each kernel, or of all `together`.
        together: one child measures all kernels, which saves its start. Rows come in the kernels' order either way.

    Raises:
        NoGpu: there is no GPU, or no torch.
    """
    if (reason := missing_for_gpu()) is not None:
        raise NoGpu(reason)
    limits = replace(limits or Limits(), memory=None)  # CUDA maps far more than it uses
    report = Report((), tool=tool, rounds=rounds)
    for group in [kernels] if together else [[kernel] for kernel in kernels]:
        rows, about = _measure(group, rounds, reference, progress, limits)
        known = {name: about[name] for name in ("device", "torch", "triton", "ceilings") if name in about}
        report = replace(report, rows=(*report.rows, *rows), **known)
    return report


def warm(kernel: Measured, limits: Limits, progress: Callable[[str], None] = lambda text: None) -> None:
    """Has everything compiled that measuring the kernel will launch, into Triton's cache on disk.

    It launches, so several at a time are as good as one; what fails here will say so when it is measured.
    """
    options = {"kernels": [_batch(kernel, kernel.titles())], "rounds": 0, "reference": None}
    run_job(Job(WARMING, kernel.conversion, Rung.RAN, options, replace(limits, memory=None)), progress)


def _batch(kernel: Measured, titles: Sequence[str]) -> dict[str, Any]:
    """The last `len(titles)` launches of a kernel, as a child is told of them."""
    skipped = len(kernel.cases) - len(titles)
    return {
        "conversion": kernel.conversion,
        "cases": list(zip(titles, kernel.cases[skipped:], strict=True)),
        "works": list(kernel.works()[skipped:]),
        "pinned": kernel.pinned,
        "contents": dict(kernel.contents),
    }


def _measure(
    kernels: Sequence[Measured],
    rounds: int,
    reference: str | None,
    progress: Callable[[str], None],
    limits: Limits,
) -> tuple[list[Row], dict[str, Any]]:
    """Rows for all cases: a launch that ends the child is a row that says so, and a new child goes on after it."""
    todo = [
        (number, title, work)
        for number, kernel in enumerate(kernels)
        for title, work in zip(kernel.titles(), kernel.works(), strict=True)
    ]
    rows: list[Row] = []
    about: dict[str, Any] = {}

    def failed(entry: tuple[int, str, Work], text: str) -> Row:
        number, title, work = entry
        return Row(kernels[number].conversion.kernel, title, flops=work.flops, bytes=work.bytes, failure=text)

    with tempfile.TemporaryDirectory(prefix="tlxify-") as folder:
        begun = time.monotonic()
        while todo:
            left_s = limits.seconds - (time.monotonic() - begun)
            if rows and left_s < LEAST:
                rows += [failed(entry, f"no time left of {limits.seconds:g} seconds") for entry in todo]
                break
            path = Path(folder) / f"{len(rows)}.jsonl"
            path.touch()
            left = dict.fromkeys(number for number, _, _ in todo)
            titles = {number: [title for other, title, _ in todo if other == number] for number in left}
            options = {
                "kernels": [_batch(kernels[number], titles[number]) for number in left],
                "rows": str(path),
                "rounds": rounds,
                "reference": reference,
            }
            conversion = kernels[todo[0][0]].conversion
            within = replace(limits, seconds=left_s)
            outcome = run_job(Job(SESSION, conversion, Rung.RAN, options, within), progress)
            if "skipped" in outcome.figures:
                raise NoGpu(str(outcome.figures["skipped"]))
            done, began, machine = _rows(path)
            about |= machine | outcome.figures
            rows += done
            if outcome.findings and len(done) < len(todo):
                text = outcome.findings[0].text
                rows.append(failed(todo[len(done)], text))
                # A child that did not get as far as a launch will not get further the next time.
                if not began:
                    rows += [failed(entry, text) for entry in todo[len(done) + 1 :]]
                    break
            todo = todo[len(done) + 1 :] if outcome.findings else todo[len(done) :]
            if not outcome.findings and not done:
                break
    return rows, about


def _rows(path: Path) -> tuple[list[Row], bool, dict[str, Any]]:
    """The rows of a child, whether it began any, and what it said of the machine."""
    rows, began = [], False
    about: dict[str, Any] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        if "about" in told:
            about = told["about"]
        elif "began" in told:
            began = True
        else:
            rows.append(row_of(told))
    return rows, began, about
