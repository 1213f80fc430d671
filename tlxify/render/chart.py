"""Speeds as a picture: one group of bars per launch, in one SVG file that follows the reader's light or dark mode."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape

from ..bench.report import Report, Row

WIDTH, LABELS, RIGHT = 960, 330, 70
TOP, BAR, GAP, GROUP = 64, 16, 3, 18
#: Contenders in the order in which they are drawn, with a colour for light and for dark ground.
COLOURS = {
    "source": ("#8a8f98", "#9aa0aa"),
    "converted": ("#0f7b6c", "#3fc5b0"),
    "retiled": ("#5c6bc0", "#9fa8da"),
    "reference": ("#b35c00", "#f0a04b"),
}
STYLE = """
.ground { fill: #ffffff } text { fill: #1d2127; font: 12px system-ui, sans-serif } .dim { fill: #5b626d }
.title { font-size: 15px; font-weight: 600 } .axis { stroke: #c9ced6; stroke-width: 1 }
.whisker { stroke: #1d2127; stroke-width: 1 } .ceiling { stroke: #b3261e; stroke-dasharray: 4 3 }
@media (prefers-color-scheme: dark) {
.ground { fill: #14171c } text { fill: #e8eaee } .dim { fill: #a2a9b4 } .axis { stroke: #3a404a }
.whisker { stroke: #e8eaee } .ceiling { stroke: #ff8a80 } }
"""


def chart(report: Report) -> str:
    """The measured rows of a report as SVG text: TFLOP/s where every row has operations, else speedups over the source.

    Whiskers are quartiles of the times; a dashed line is the measured ceiling.
    """
    rows = [row for row in report.rows if row.ms]
    by_rate = bool(rows) and all(row.flops for row in rows)
    unit = "TFLOP/s" if by_rate else "times as fast as the source"
    bars = [(row, [name for name in COLOURS if name in row.ms]) for row in rows]
    ceiling = report.ceilings.get("tflops", 0.0) if by_rate else 0.0
    values = [_value(row, name, by_rate) for row, names in bars for name in names]
    top = 1.05 * max([*values, ceiling, 1e-9])
    scale = (WIDTH - LABELS - RIGHT) / top
    heights = [len(names) * (BAR + GAP) + GROUP for _, names in bars]
    height = TOP + sum(heights) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{unit}">',
        f"<style>{STYLE}{_colours()}</style>",
        f'<rect class="ground" width="{WIDTH}" height="{height}"/>',
        f'<text class="title" x="16" y="26">{escape(unit)}, {escape(report.device or "unknown device")}</text>',
        *_legend({name for _, names in bars for name in names}),
    ]
    y = TOP
    for (row, names), tall in zip(bars, heights, strict=True):
        parts += _labels(row, y)
        for number, name in enumerate(names):
            parts += _bar(row, name, y + number * (BAR + GAP), scale, by_rate)
        y += tall
    parts.append(f'<line class="axis" x1="{LABELS}" y1="{TOP - 8}" x2="{LABELS}" y2="{y}"/>')
    if ceiling:
        x = LABELS + ceiling * scale
        parts.append(f'<line class="ceiling" x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{y}"/>')
        parts.append(f'<text class="dim" x="{x:.1f}" y="{TOP - 12}" text-anchor="middle">measured ceiling</text>')
    about = f"torch {report.torch}, Triton {report.triton}; medians of {report.rounds} interleaved rounds, quartiles"
    parts.append(f'<text class="dim" x="16" y="{height - 14}">{escape(about)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _value(row: Row, name: str, by_rate: bool, milliseconds: float | None = None) -> float:
    """The length of a bar, at another time than its median if one is given."""
    time = row.ms[name].median if milliseconds is None else milliseconds
    if by_rate:
        assert row.flops is not None
        return row.flops / time / 1e9
    return row.ms["source"].median / time


def _bar(row: Row, name: str, y: float, scale: float, by_rate: bool) -> Iterator[str]:
    value, spread = _value(row, name, by_rate), row.ms[name]
    length, middle = value * scale, y + BAR / 2
    yield f'<rect class="{name}" x="{LABELS}" y="{y}" width="{length:.1f}" height="{BAR}" rx="2"/>'
    ends = [LABELS + scale * _value(row, name, by_rate, time) for time in (spread.high, spread.low)]
    yield f'<line class="whisker" x1="{ends[0]:.1f}" y1="{middle}" x2="{ends[1]:.1f}" y2="{middle}"/>'
    shown = f"{value:.0f}" if by_rate else f"{value:.2f}"
    yield f'<text x="{max(LABELS + length, ends[1]) + 6:.1f}" y="{middle + 4}">{shown}</text>'


def _labels(row: Row, y: float) -> Iterator[str]:
    yield f'<text x="{LABELS - 10}" y="{y + 12}" text-anchor="end">{escape(_cut(row.kernel))}</text>'
    yield f'<text class="dim" x="{LABELS - 10}" y="{y + 28}" text-anchor="end">{escape(_cut(row.launch))}</text>'


def _cut(text: str, most: int = 52) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _legend(names: set[str]) -> Iterator[str]:
    x = 16
    for name in COLOURS:
        if name in names:
            yield f'<rect class="{name}" x="{x}" y="36" width="12" height="12" rx="2"/>'
            yield f'<text x="{x + 18}" y="46">{name}</text>'
            x += 32 + 8 * len(name)


def _colours() -> str:
    light = " ".join(f".{name} {{ fill: {colours[0]} }}" for name, colours in COLOURS.items())
    dark = " ".join(f".{name} {{ fill: {colours[1]} }}" for name, colours in COLOURS.items())
    return f"{light} @media (prefers-color-scheme: dark) {{ {dark} }}"
