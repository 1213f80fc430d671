"""Whether a tile can begin before the tensor: there the TMA reads zeros, and the source whatever lies in memory.

Past the end both agree, for the extent is the bound of the source's own mask. Before the beginning no upper bound
helps, so an offset must be a sum of what is never negative. Program ids, loaded values and what is computed from them
are taken as positions; constants and parameters that are subtracted are not.
"""

from __future__ import annotations

from ..diagnostics import Decline
from ..facts import Access, Facts, Load, LoopFact
from ..poly import ONE, ZERO, Poly, Symbol
from .to_end import extents_to_end, goes_to_end
from .writing import claims


def begin_inside(facts: Facts, access: Access, load: Load) -> None:
    """Raises Decline TLX201 for a tile with an offset that may be negative, TLX204 and TLX211 for a dynamic one."""
    end_inside(facts, access, load)
    for dimension in access.dimensions:
        if not dimension.from_zero and not never_negative(facts, dimension.coordinate):
            why = f"`{dimension.coordinate}` may be negative, and before a tensor the TMA reads zeros"
            raise Decline("TLX201", load.span, name=access.pointer, why=why)


def end_inside(facts: Facts, access: Access, load: Load) -> None:
    """Raises Decline TLX204, TLX211 for a tile that is masked by more, or less, than a launch can confirm."""
    if access.partial:
        raise Decline("TLX204", load.span, name=access.pointer, why="it asks for more than its bounds")
    for dimension in access.dimensions:
        if dimension.whole and claims(facts, access) is None:
            raise Decline("TLX206", load.span, name=access.pointer, why="its extent is not known at the launch")
        if dimension.waived and claims(facts, access) is None:
            test = dimension.waived[0][-1]
            why = f"it bounds nothing where `{test.value}` {'holds' if test.holds else 'does not hold'}"
            raise Decline("TLX204", load.span, name=access.pointer, why=why)
        if dimension.limit is None or (dimension.harmless and dimension.extent is not None):
            continue
        if not goes_to_end(dimension):
            raise Decline("TLX211", load.span, name=access.pointer, why=f"it is `{dimension.limit}`")
        if extents_to_end(access) is None:
            why = f"it is `{dimension.limit}`, and how far the tensor reaches along its other axes is not known"
            raise Decline("TLX211", load.span, name=access.pointer, why=why)


def never_negative(facts: Facts, offset: Poly) -> bool:
    """Whether an offset is a sum of what is never negative."""
    for loop in facts.loops:
        holding = [coefficient for monomial, coefficient in offset.terms if loop.trip in monomial]
        if all(coefficient > 0 for coefficient in holding):
            continue
        if (lowest := _counted_down(offset, loop)) is not None:
            offset = lowest
            continue
        if (
            any(coefficient > 0 for coefficient in holding)
            or loop.step != ONE
            or loop.start is None
            or loop.stop is None
        ):
            return False
        # It falls with every trip: what counts is the last one.
        offset = offset.substitute({loop.trip: loop.stop - loop.start - ONE})
    if (chosen := next((symbol for symbol in sorted(offset.symbols) if symbol.chosen), None)) is not None:
        return all(never_negative(facts, offset.substitute({chosen: option})) for option in chosen.options)
    if not all(never_negative(facts, option) for symbol in offset.symbols for option in symbol.options):
        return False
    offset = offset.substitute({s: Poly.of(s) + ONE for s in offset.symbols if _at_least_one(s)})
    return all(coefficient > 0 or not all(s.launch for s in monomial) for monomial, coefficient in offset.terms)


def _counted_down(offset: Poly, loop: LoopFact) -> Poly | None:
    """The offset at the last value of a counter that falls, if it is that counter times something, and more.

    The counter stays above the stop, and above it by a whole step where steps divide the way there.
    """
    if loop.start is None or loop.stop is None or loop.step is None or not (-loop.step).monomial:
        return None
    by = -loop.step
    trip = Poly.of(loop.trip)
    falls = offset.substitute({loop.trip: ZERO}) - offset
    times, rest = falls.divide(by * trip)
    if rest != ZERO or not times.launch or any(coefficient < 0 for _, coefficient in times.terms):
        return None
    whole = (loop.start - loop.stop).divide(by)[1] == ZERO
    last = loop.stop + (by if whole else ONE)
    return offset - times * (loop.start + loop.step * trip) + times * last


def _at_least_one(symbol: Symbol) -> bool:
    """The number of tiles of something: a launch without any does not come here."""
    return symbol.launch and symbol.template.startswith("cdiv(")
