"""The summary of `tlxify migrate`: one bar per family, what the codes are about, and what needs a look."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from ..catalogue import CATALOGUE
from ..migrate.record import INTERNAL, LIMIT, FileRecord
from ..migrate.report import Summary

#: Verdict → style, in the order in which a bar shows them.
VERDICTS = {"converted": "green", "declined": "red", "unprofitable": "yellow", "no-dot": "bright_black"}
#: A sign per verdict, for those who see no colour.
SIGNS = {"converted": "█", "declined": "▒", "unprofitable": "░", "no-dot": "·"}
WIDTH = 40


def summary(records: Sequence[FileRecord]) -> Iterator[RenderableType]:
    """Everything at the end of a run, most important last, where a terminal shows it."""
    counts = Summary.of(records)
    yield family_table(counts)
    if counts.codes:
        yield code_table(counts)
    yield from troubles(records)
    yield headline(counts)


def family_table(counts: Summary) -> Table:
    """A bar per family: how many kernels ended with each verdict."""
    table = Table(box=None, pad_edge=False, title_justify="left")
    table.add_column("family")
    for verdict, style in VERDICTS.items():
        table.add_column(f"{SIGNS[verdict]} {verdict}", justify="right", style=style)
    table.add_column("")
    families = {family: 0 for family, _ in counts.families}
    for (family, _), count in counts.families.items():
        families[family] += count
    with_dot = [count for family, count in families.items() if family != "no dot"]
    longest = max(with_dot, default=max(families.values(), default=1))
    for family in sorted(families, key=lambda name: (name in ("no dot", "unknown"), -families[name])):
        by_verdict = [counts.families[family, verdict] for verdict in VERDICTS]
        table.add_row(family, *(str(count or "") for count in by_verdict), bar(by_verdict, longest))
    return table


def bar(counts: Sequence[int], longest: int) -> Text:
    """Counts in the order of `VERDICTS` as one bar; a count that is not 0 has at least one sign."""
    text = Text()
    scale = WIDTH / max(longest, sum(counts), 1) if sum(counts) <= longest else WIDTH / sum(counts)
    for (verdict, style), count in zip(VERDICTS.items(), counts, strict=True):
        text.append(SIGNS[verdict] * (max(1, round(count * scale)) if count else 0), style)
    return text


def code_table(counts: Summary) -> Table:
    """Why kernels were left alone, most frequent first."""
    table = Table(box=None, pad_edge=False)
    table.add_column("code")
    table.add_column("kernels", justify="right")
    table.add_column("why")
    for code, count in sorted(counts.codes.items(), key=lambda pair: (-pair[1], pair[0])):
        table.add_row(
            code, str(count), CATALOGUE[code].title, style="dim" if CATALOGUE[code].outcome == "no-dot" else ""
        )
    return table


def troubles(records: Iterable[FileRecord]) -> Iterator[Text]:
    """A line for everything that is not a plain verdict: unusable files, faults of ours, failed verifications."""
    for record in sorted(records, key=lambda item: item.file):
        for item in record.findings:
            yield Text(f"{record.file}: {item.code}: {item.message}", "bold red")
        for kernel in record.kernels:
            if not kernel.passed or {INTERNAL, LIMIT} & set(kernel.codes):
                codes = ", ".join(kernel.codes) or "verification"
                yield Text(f"{record.file}:{kernel.line}: {codes}: {kernel.kernel}: {kernel.message}", "bold red")


def headline(counts: Summary) -> Text:
    """One line: the totals."""
    parts = [f"{counts.verdicts[verdict]} {verdict}" for verdict in VERDICTS if counts.verdicts[verdict]]
    text = f"{counts.kernels} kernels in {counts.files} files: {', '.join(parts) or 'nothing to convert'}"
    if refuted := counts.failed - counts.unproved:
        text += f"; {refuted} failed verification and stay as they were"
    if counts.unproved:
        text += f"; {counts.unproved} could not be verified as far as asked and stay as they were"
    return Text(text, "bold")


@contextmanager
def watching(console: Console) -> Iterator[Callable[[int, int, str], None]]:
    """A progress bar with the current file, while somebody watches; otherwise nothing.

    Its value is told how many files are done, of how many, and what is being done.
    """
    if not console.is_terminal:
        yield lambda *_: None
        return
    columns = (
        TextColumn("migrating"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda done, of, text: progress.update(task, completed=done, total=of, description=escape(text))
