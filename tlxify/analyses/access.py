"""Address + mask → Access: which strided tile of which parameter's memory a load or store touches.

The address is base + Σ stride·position + a scalar part. Each monomial of the scalar part goes to the dimension whose
stride divides it; what no tile stride divides moves the tile along a batch dimension. Any such split gives the same
addresses, so it is exact where nothing bounds a dimension; where a mask does, the mask says which coordinate it means.
"""

from __future__ import annotations

from collections.abc import Callable

from ..diagnostics import Decline
from ..facts import Access, Dimension
from ..poly import ONE, ZERO, Poly, Symbol
from ..source import Span
from .axes import AxisTable
from .values import MISSING, Bound, Term, Value


def describe(
    axes: AxisTable,
    address: Value,
    mask: Value | None,
    span: Span,
    is_pointer: Callable[[Symbol], bool],
    tiles: frozenset[Symbol],
    called: str = "the tile",
) -> Access:
    """The tile behind an address. Raises Decline TLX2xx where it is not a strided tile.

    `called` is what the source calls the tile: how a refusal speaks of it where no pointer parameter is known.
    """
    name = pointer_of(address, span, is_pointer, called)
    assert address.poly is not None
    rest = address.poly - Poly.of(next(s for s in address.poly.symbols if s.name == name))
    bounds = _bounds(axes, mask, name, span)
    terms = _terms(axes, address, name, span)
    found: dict[int, Dimension] = {}
    # Symbolic strides first: what they divide is certainly theirs. The unit stride takes what is left.
    for axis, term in sorted(terms.items(), key=lambda item: item[1].stride.constant is not None):
        if term.stride.constant is not None:
            rest, batch = _batch(rest, bounds.get(axis), tiles)
            found.update({-len(found) - 1 - i: dimension for i, dimension in enumerate(batch)})
        dimension, rest = _dimension(axis, term, bounds.get(axis), rest, name, span)
        found[axis] = dimension
    left, batch = _batch(rest, None, frozenset())
    if left != ZERO:
        raise Decline("TLX201", span, name=name, why=f"`{left}` elements are added that belong to no axis")
    tile = tuple(found[axes.find(axis)] for axis in address.axes if axis is not None and axes.find(axis) in found)
    return Access(name, (*(d for d in found.values() if d.axis is None), *batch, *tile))


def pointer_of(address: Value, span: Span, is_pointer: Callable[[Symbol], bool], called: str) -> str:
    """The parameter an address is relative to. Raises Decline TLX201, or what made the address not affine."""
    if address.poly is None:
        code, why = address.why or ("TLX201", "")
        if code == "TLX203":
            raise Decline(code, span, name=why)
        if code == "TLX202":
            raise Decline(code, span, name=called)
        raise Decline(code, span, name=called, why=why)
    candidates = [m[0] for m, c in address.poly.terms if c == 1 and len(m) == 1 and m[0].launch and not m[0].constexpr]
    pointers = [symbol for symbol in candidates if is_pointer(symbol)] or candidates
    if len(pointers) != 1:
        raise Decline(
            "TLX201", span, name=" + ".join(s.name for s in pointers) or called, why="it has no single base pointer"
        )
    return pointers[0].name


def _terms(axes: AxisTable, address: Value, name: str, span: Span) -> dict[int, Term]:
    terms: dict[int, Term] = {}
    for term in address.terms:
        axis = axes.find(term.axis)
        if axis in terms:
            raise Decline("TLX201", span, name=name, why="an axis occurs twice in it")
        if not term.stride.monomial or not term.stride.launch:
            raise Decline("TLX207", span, what="stride", name=name, why=f"it is `{term.stride}`")
        terms[axis] = term
    for own in address.axes:
        if own is not None and axes.find(own) not in terms:
            raise Decline("TLX201", span, name=name, why="one of its axes does not move the address")
    return terms


def _bounds(axes: AxisTable, mask: Value | None, name: str, span: Span) -> dict[int, list[Bound]]:
    if mask is None or mask.literal is True:
        return {}
    if mask.bounds is None:
        raise Decline("TLX204", span, name=name, why=mask.why[1] if mask.why else "")
    result: dict[int, list[Bound]] = {}
    for bound in mask.bounds:
        result.setdefault(axes.find(bound.axis), []).append(bound)
    return result


def _dimension(
    axis: int, term: Term, bounds: list[Bound] | None, rest: Poly, name: str, span: Span
) -> tuple[Dimension, Poly]:
    """The dimension of one axis, and the scalar part without what belongs to it."""
    if term.modulus is not None:
        if bounds:
            raise Decline("TLX204", span, name=name, why="an axis is wrapped and masked")
        if not term.modulus.launch:
            raise Decline("TLX207", span, what="extent", name=name, why=f"it is `{term.modulus}`")
        return Dimension(term.stride, term.offset, axis, term.modulus, wrapped=True), rest
    if term.stride == ONE and bounds:
        own = {m for m, _ in rest.terms}
        moving = Poly.build((m, c) for m, c in bounds[0].index.terms if m in own and not all(s.launch for s in m))
        fixed = Poly.build((m, c) for m, c in rest.terms if all(s.launch for s in m))
        coordinate, rest = moving + fixed, rest - moving - fixed
    else:
        coordinate, rest = rest.divide(term.stride)
    extent: Poly | None = None
    for bound in bounds or ():
        limit = coordinate - bound.index
        if not limit.launch:
            raise Decline("TLX211", span, name=name, why=f"it is `{limit}`")
        if extent is not None and limit != extent:
            raise Decline("TLX204", span, name=name, why=f"one axis has two bounds, `{extent}` and `{limit}`")
        extent = limit
    return Dimension(term.stride, coordinate, axis, extent), rest


def _batch(rest: Poly, bounds: list[Bound] | None, tiles: frozenset[Symbol]) -> tuple[Poly, list[Dimension]]:
    """Takes out of the scalar part what steps by a stride of its own: `batch × stride_batch`."""
    own = {m for bound in bounds or () for m, _ in bound.index.terms}
    left: list[tuple[tuple[Symbol, ...], int]] = []
    strides: dict[Poly, list[tuple[tuple[Symbol, ...], int]]] = {}
    for monomial, coefficient in rest.terms:
        fixed = tuple(s for s in monomial if s.launch)
        moving = tuple(s for s in monomial if not s.launch)
        if monomial in own or not moving or not fixed or all(s in tiles for s in fixed):
            left.append((monomial, coefficient))
        else:
            strides.setdefault(Poly.build([(fixed, 1)]), []).append((moving, coefficient))
    return Poly.build(left), [Dimension(stride, Poly.build(terms), None, None) for stride, terms in strides.items()]


def zero_fill(other: Value | None) -> bool:
    """Whether masked-out elements read as zero (or as anything)."""
    if other is None:
        return True
    return (
        (other.literal is not MISSING and other.literal in (0, 0.0, False))
        or other.origin.kind == "fill"
        or (other.poly is not None and other.poly == ZERO)
    )
