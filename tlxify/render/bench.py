"""Tables of measured launches, and of what became of them since an older run."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..bench.figures import Spread
from ..bench.report import Change, Report, Row

STATES = {"slower": "bold red", "missing": "bold red", "faster": "green", "same": "dim", "new": "cyan"}


def bench_table(report: Report) -> RenderableType:
    """One line per launch: times, speedup with its interval, rates of the conversion, share of the ceilings."""
    others = sorted({name for row in report.rows for name in row.speedup} - {"source"})
    table = Table(box=None, pad_edge=False)
    for heading in ("kernel", "launch", "source ms", "converted ms", "over source", *(f"over {o}" for o in others)):
        table.add_column(heading, overflow="fold", justify="left" if heading in ("kernel", "launch") else "right")
    for heading in ("TFLOP/s", "GB/s", "of the floor", "ran"):
        table.add_column(heading, justify="right")
    for row in report.rows:
        if row.failure:
            table.add_row(row.kernel, row.launch, Text(f"not measured: {row.failure}", "bold red"))
            continue
        table.add_row(
            row.kernel,
            row.launch,
            *(_ms(row.ms.get(name)) for name in ("source", "converted")),
            *(_ratio(row.speedup.get(name)) for name in ("source", *others)),
            _number(row.tflops("converted"), 0),
            _number(row.gbps("converted"), 0),
            _percent(row.share("converted")),
            _path(row),
        )
    rates = ", ".join(f"{value:g} {name}" for name, value in report.ceilings.items())
    about = f"{report.device}, torch {report.torch}, Triton {report.triton}; {report.rounds} rounds; ceilings {rates}"
    doubts = [Text(f"{row.kernel}, {row.launch}: {doubt}", "yellow") for row in report.rows for doubt in row.doubts]
    return Group(table, *doubts, Text(about, "dim"))


def change_table(changes: Sequence[Change]) -> RenderableType:
    """One line per launch of either run."""
    table = Table(box=None, pad_edge=False)
    for heading in ("kernel", "launch", "before", "now", "tolerance", "verdict"):
        table.add_column(heading, overflow="fold")
    for change in changes:
        table.add_row(
            change.kernel,
            change.launch,
            _number(change.before, 3),
            _number(change.after, 3),
            _percent(change.tolerance),
            Text(change.state, STATES[change.state]),
        )
    return table


def _path(row: Row) -> Text:
    if row.path == "specialized":
        return Text(row.path, "green")
    return Text(f"{row.path} ({row.reason})" if row.reason else row.path, "yellow")


def _ms(spread: Spread | None) -> str:
    return "" if spread is None else f"{spread.median:.4f} ({spread.low:.4f}–{spread.high:.4f})"


def _ratio(spread: Spread | None) -> Text:
    if spread is None:
        return Text("")
    look = "green" if spread.low > 1 else "red" if spread.high < 1 else ""
    return Text(f"{spread.median:.3f} ({spread.low:.3f}–{spread.high:.3f})", look)


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f} %"
