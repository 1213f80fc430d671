"""Tiles that no box holds: the producer's threads copy them, by the source's own addresses and its own masks.

An index in memory says where each row lies, or a mask asks for more than bounds that a launch tells. A copy moves 4 to
16 consecutive bytes of each thread (cp.async), so the compiler must know that many to lie in a row and to be masked
alike: along one axis that is not gathered the stride is 1, and everything else in the address is a multiple of 16
elements, as Triton knows of an argument that is one. The launch is asked for what the text does not say.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..diagnostics import Decline
from ..facts import Access, Dimension, Facts, Load
from ..plan import Copied
from ..poly import ONE, Poly
from ..starts import tile_lengths, uneven
from . import requirements
from .writing import write_for_guard

#: What keeps a tile out of a box, and need not keep threads from copying it: they ask the source's own mask of the
#: source's own addresses. Rows that are gathered or divided, masks that are no bounds or that the launch does not tell.
_NO_BOX = frozenset({"TLX202", "TLX204", "TLX208", "TLX211"})


def copied(facts: Facts, load: Load, refusal: Decline) -> tuple[Access, Copied]:
    """The access of a tile that the TMA was refused, and what its copies need of a launch.

    Raises Decline TLX202 for a gathered tile that cannot be copied, TLX104, TLX205, TLX32x, or else the `refusal`.
    """
    access = facts.access(load.span)
    if access is None or refusal.diagnostic.code not in _NO_BOX:
        raise refusal
    for problem in facts.problems_at(load.span):
        if problem.code not in _NO_BOX:
            raise Decline.of(problem)
    requirements.movable(facts, load)
    try:
        return _copied(facts, load, access)
    except Decline:
        if access.gathered:
            raise
        raise refusal from None


def _copied(facts: Facts, load: Load, access: Access) -> tuple[Access, Copied]:
    row, inner = _row(access, load)
    if load.written is None or load.parts:
        raise _declined(load, access, "its arms load it in two ways")
    return access, Copied("", row, tuple(dict.fromkeys(_steps(facts, access, load, inner))), swapped=inner == 0)


def _row(access: Access, load: Load) -> tuple[str, int]:
    """The stride along the axis that is copied in a row, and which of the tile's axes that is.

    Where the text leaves several, it is one of stride 1, or else the last: the launch must confirm it.
    """
    if len(load.axes) != 2 or None in load.axes:
        raise _declined(load, access, f"its tile has {len(load.axes)} axes")
    why = {place: _broken(access, load, place) for place in range(2)}
    rows = [place for place in why if not why[place]]
    if not rows:
        known = next((text for place, text in why.items() if place not in access.gathered), "")
        raise _declined(load, access, known or "along no axis of its tile the elements lie in a row")
    inner = next((place for place in rows if _dimension(access, load, place).stride == ONE), rows[-1])
    stride = _dimension(access, load, inner).stride
    if not access.gathered and inner == 0 and stride != ONE:
        raise _declined(load, access, why[1])  # rows of a tile lie in a row, mostly; nothing says that columns do
    unit = write_for_guard(stride)
    if unit is None:
        raise _declined(load, access, "how far elements lie apart is not known at the launch")
    return unit, inner


def _broken(access: Access, load: Load, place: int) -> str:
    """Why the elements along an axis of the tile are no row that can be copied, several at once; else nothing."""
    if place in access.gathered:
        return "an index tells where each element lies"
    if place in access.patchy:
        return "its mask may differ from one element of a row to the next"
    dimension = _dimension(access, load, place)
    if dimension.wrapped or dimension.divisor is not None:
        return "the elements of a row do not lie one after the other"
    if dimension.limit is not None:
        return f"its rows end at `{dimension.limit}`, of which the launch tells nothing"
    return ""


def _dimension(access: Access, load: Load, place: int) -> Dimension:
    return next(dimension for dimension in access.dimensions if dimension.axis == load.axes[place])


def _steps(facts: Facts, access: Access, load: Load, inner: int) -> Iterator[tuple[str, ...]]:
    """What must be a multiple of 16 elements: all that the address of a row's begin is a sum of, and its end."""
    row = _dimension(access, load, inner)
    lengths = tile_lengths(facts, [access])
    offsets = [d.stride * d.coordinate for d in access.dimensions if d is not row]
    offsets += [d.stride for d in access.dimensions if d is not row and d.axis is not None]
    for poly in (*offsets, row.coordinate, *([row.extent] if row.extent is not None else [])):
        for monomial, coefficient in uneven(poly, lengths):
            factors = tuple(text for symbol in monomial if (text := write_for_guard(Poly.of(symbol))) is not None)
            if not factors:
                raise _declined(load, access, f"its rows begin or end at `{poly}`, which need be no multiple of 16")
            yield (*factors, *([str(abs(coefficient))] if abs(coefficient) > 1 else []))


def _declined(load: Load, access: Access, why: str) -> Decline:
    return Decline("TLX202", load.span, name=access.pointer, why=why)
