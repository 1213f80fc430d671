"""Views that end where the memory of their tensor does, where the launch tells no earlier end that could be used.

The rows of a group end where an offset in memory says. Nothing keeps what lies past that end, but a descriptor without
an extent would go on past the end of the allocation. The guard knows where that is: with the extents of all other
axes, it counts the rows that lie in it as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..facts import Access, Dimension
from ..poly import ONE, ZERO, Poly, Symbol

#: As an extent of a view: `tlx.tma_view` puts a number in its place.
TO_END = "tlx.TO_END"


def goes_to_end(dimension: Dimension) -> bool:
    """Whether only the memory bounds an axis: what ends it earlier is known too late, and need not be asked."""
    return dimension.limit is not None and dimension.harmless and dimension.extent is None


def extents_to_end(access: Access) -> tuple[Poly | None, ...] | None:
    """The extents of the dimensions of an access that goes to the end along one of them (None there).

    None as well along what the source does not mask: how long it is, the tensor of the launch says by its own shape.
    None for all where another dimension ends at what is read from memory: then the rows that fit cannot be counted.
    """
    open_ended = [dimension for dimension in access.dimensions if goes_to_end(dimension)]
    if len(open_ended) != 1:
        return None
    found: list[Poly | None] = []
    for dimension in access.dimensions:
        if dimension is open_ended[0]:
            found.append(None)
            continue
        extent = dimension.extent
        if extent is None and dimension.axis is None:
            extent = _bound(dimension.coordinate)
        if extent is not None and not extent.launch:
            return None
        found.append(extent)
    return tuple(found)


#: How functions of two scalars are written, to how the first one's bound and the second give that of the result.
_BOUNDED: Mapping[str, str] = {"({} % {})": "rest", "({} // {})": "quotient"}


def _bound(coordinate: Poly) -> Poly | None:
    """An exclusive bound that the launch tells of a scalar that is never negative: of a rest, what divides."""
    if coordinate == ZERO:
        return ONE
    if len(coordinate.symbols) != 1 or coordinate != Poly.of(symbol := next(iter(coordinate.symbols))):
        return None
    how = _BOUNDED.get(symbol.template)
    if how is None:
        return None
    left, right = symbol.operands
    if not right.launch:
        return None
    if how == "rest":
        return right
    inner = _bound(left)
    return None if inner is None else _quotient(inner, right)


def _quotient(inner: Poly, divisor: Poly) -> Poly:
    """How many quotients numbers below `inner` have."""
    symbols = inner.symbols | divisor.symbols
    name = f"cdiv({inner.text()}, {divisor.text()})"
    constexpr = all(symbol.constexpr for symbol in symbols)
    return Poly.of(Symbol(name, True, constexpr, False, "cdiv({}, {})", (inner, divisor)))
