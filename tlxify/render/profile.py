"""Where the GPU time goes: kernels by their share, and what to change for those that fall back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ..capture.profile import Profile


def profile_table(rows: Sequence[Profile]) -> RenderableType:
    """One line per kernel."""
    table = Table(box=None, pad_edge=False)
    for heading in ("kernel", "launches", "kinds", "GPU ms", "share", "of the floor", "predicted saving", "conversion"):
        table.add_column(heading, overflow="fold", justify="left" if heading in ("kernel", "conversion") else "right")
    for row in rows:
        table.add_row(
            row.kernel.name,
            str(row.launches),
            str(row.kinds),
            "" if row.microseconds is None else f"{row.microseconds / 1000:.3f}",
            _percent(row.share),
            _percent(row.floor_share),
            _saving(row),
            Text(row.state, "green" if row.state == "converted" else "dim"),
        )
    return table


def advices(rows: Sequence[Profile]) -> Iterator[RenderableType]:
    """Each kind of launch that would run the original, with what to change."""
    for row in rows:
        for fallback in row.fallbacks:
            text = Text(f"{row.kernel.name}: ", "bold").append(
                f"{fallback.launches} launches run the original", "yellow"
            )
            text.append(f" ({fallback.code}): {fallback.reason}", "not bold default")
            if fallback.advice:
                text.append(f"\n    {fallback.advice}", "not bold green")
            text.append(f"\n    {fallback.shapes}", "not bold dim")
            yield text


def _saving(row: Profile) -> str:
    if row.saving is None or not row.microseconds:
        return ""
    return f"{row.saving / 1000:.3f} ms ({100 * row.saving / row.microseconds:.0f} %)"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f} %"
