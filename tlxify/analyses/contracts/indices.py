"""Coordinates that pick one thing out of a batch, from the program ids alone."""

from __future__ import annotations

from dataclasses import dataclass

from ...poly import Poly


def program_axis(poly: Poly) -> int | None:
    """The grid axis, if a coordinate is exactly a program id."""
    if len(poly.terms) != 1 or poly.terms[0][1] != 1 or len(poly.terms[0][0]) != 1:
        return None
    name = poly.terms[0][0][0].name
    return int(name[len("tl.program_id(") : -1]) if name.startswith("tl.program_id(") and name[-2].isdigit() else None


@dataclass(frozen=True, slots=True)
class BatchIndex:
    """A coordinate that picks one of a batch: a program id, or one of the two that `p // n` and `p % n` make of it."""

    axis: int
    #: How many there are.
    extent: str
    #: The size that no parameter holds, if `extent` is such a size.
    free: str | None
    #: The extent of the grid axis.
    grid: str


def batch_index(poly: Poly) -> BatchIndex | None:
    """What a coordinate picks; None for any other coordinate."""
    if (axis := program_axis(poly)) is not None:
        return BatchIndex(axis, f"grid_{axis}", f"grid_{axis}", f"grid_{axis}")
    if len(poly.terms) != 1 or poly.terms[0][1] != 1 or len(poly.terms[0][0]) != 1:
        return None
    symbol = poly.terms[0][0][0]
    if symbol.template not in ("({} // {})", "({} % {})") or not symbol.operands[1].launch:
        return None
    axis, inner = program_axis(symbol.operands[0]), symbol.operands[1].text()
    if axis is None or not inner.isidentifier():
        return None
    outer = f"outer_{axis}"
    grid = f"{outer} * {inner}"
    if symbol.template == "({} % {})":
        return BatchIndex(axis, inner, None, grid)
    return BatchIndex(axis, outer, outer, grid)
