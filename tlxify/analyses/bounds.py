"""What a mask says about the axes of a tile, and which of it a tile of a descriptor can leave out.

A descriptor has one extent per axis for the whole launch. A bound that follows from the launch's arguments is that
extent. Any other (a length read from memory, what is left of a group of rows) is kept as the dimension's limit. It may
be ignored where what lies past it reaches only positions that every store masks by the same bound: wrong values are
computed there, and none is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from ..diagnostics import Decline
from ..facts import Access, Axis, AxisId, Condition, Dimension, Store
from ..poly import ZERO, Poly
from ..source import Span
from .values import Bound, Term, Value

Bounds = Sequence[Bound]


def bounds_by_dim(mask: Value | None, name: str, span: Span) -> dict[int, list[Bound]]:
    """The bounds in a mask by the axis that they are about. Raises Decline TLX204 for a mask without any."""
    if mask is None or mask.literal is True or mask.literal is None:
        return {}
    if mask.bounds is None:
        raise Decline("TLX204", span, name=name, why=mask.why[1] if mask.why else "")
    result: dict[int, list[Bound]] = {}
    for bound in mask.bounds:
        if bound not in result.setdefault(bound.dim, []):
            result[bound.dim].append(bound)
    return result


def told(bounds: Bounds, stride: Poly, rest: Poly) -> Poly:
    """The coordinate that bounds mean: what occurs in them and, times the stride, in an address's scalar part."""
    held = dict(rest.terms)
    found = ZERO
    for monomial, coefficient in bounds[0].index.terms:
        ((scaled, factor),) = (Poly(((monomial, coefficient),)) * stride).terms
        if held.get(scaled) == factor:
            found += Poly(((monomial, coefficient),))
    return found


def limited(
    term: Term, coordinate: Poly, axis: AxisId, bounds: Bounds | None, meant: Poly, name: str, span: Span
) -> Dimension:
    """The dimension with its extent and limit. Raises Decline TLX204 for two extents.

    `meant` is the part of the coordinate that the bounds speak of: the rest shifts them.
    """
    extent: Poly | None = None
    limit: Poly | None = None
    waived: tuple[tuple[Condition, ...], ...] = ()
    for bound in bounds or ():
        end = (coordinate - bound.index).rejoined()
        if not end.launch:
            limit = end if limit is None else limit
        elif extent is not None and end != extent:
            raise Decline("TLX204", span, name=name, why=f"one axis has two bounds, `{extent}` and `{end}`")
        else:
            extent, waived = end, bound.waived
    return Dimension(term.stride, coordinate, axis, extent, limit=limit, waived=waived)


def settle(access: Access, axis_of: Callable[[AxisId], Axis], stores: Iterable[Store]) -> Access:
    """The access with the limits marked that need not hold (see above), and the tiles that must wrap as a whole.

    A tile that wraps around at its extent needs no limit, for the same reason; where the reason does not hold, it can
    be read as a tile only if it wraps nowhere inside.
    """
    known = tuple(stores)
    if not known:
        return access
    return replace(
        access, dimensions=tuple(_settled(d, axis_of, known, partial=access.partial) for d in access.dimensions)
    )


def _settled(
    dimension: Dimension, axis_of: Callable[[AxisId], Axis], stores: tuple[Store, ...], *, partial: bool
) -> Dimension:
    if dimension.axis is None:
        return dimension
    if dimension.limit is not None and not partial and _harmless(dimension, dimension.limit, axis_of, stores):
        return replace(dimension, harmless=True)
    if dimension.wrapped and not dimension.folded and dimension.extent is not None:
        length = axis_of(dimension.axis).length
        tiles = length.monomial and dimension.coordinate.divide(length)[1] == ZERO
        return replace(dimension, whole=tiles and not _harmless(dimension, dimension.extent, axis_of, stores))
    return dimension


def _harmless(dimension: Dimension, end: Poly, axis_of: Callable[[AxisId], Axis], stores: tuple[Store, ...]) -> bool:
    """Whether what lies past an end reaches only positions that every store masks."""
    if dimension.axis is None:
        return False
    axis = axis_of(dimension.axis)
    if axis.contracted or axis.reduced or axis.opaque or axis.doubled:
        return False
    index = dimension.coordinate - end
    return all(any(b.axis == axis.id and b.index == index for b in store.bounds) for store in stores)
