"""Address + mask → Access: which strided tile of which parameter's memory a load or store touches.

The address is base + Σ stride·position + a scalar part. Where a mask bounds an axis, the mask says which coordinate it
means: what occurs in the bound and, times the stride, in the scalar part. Each other monomial goes to the dimension
whose stride divides it; what no tile stride divides, or what a bound does not speak of, moves the tile along a batch
dimension. Any such split gives the same addresses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..diagnostics import Decline
from ..facts import Access, Dimension
from ..poly import ONE, ZERO, Monomial, Poly, Symbol
from ..source import Span
from .batches import batches
from .bounds import Bounds, bounds_by_dim, limited, told
from .values import MISSING, Bound, Spread, Term, Value

#: Why a tile whose elements are read several times is no tile of a descriptor.
REPEATED = "one of its axes does not move the address"


def describe(
    address: Value,
    mask: Value | None,
    span: Span,
    is_pointer: Callable[[Symbol], bool],
    tiles: frozenset[Symbol],
    called: str = "the tile",
    *,
    repeated: bool = False,
) -> Access:
    """The tile behind an address. Raises Decline TLX2xx where it is not a strided tile.

    `called` is what the source calls the tile: how a refusal speaks of it where no pointer parameter is known. What is
    `repeated` along an axis has no dimension for that.
    """
    try:
        return _described(address, mask, span, is_pointer, tiles, called, repeated=repeated)
    except Decline as refusal:
        if address.affine or address.why is None or refusal.diagnostic.code != "TLX201":
            raise
    raise _unknown(address, span, called)


def _described(
    address: Value,
    mask: Value | None,
    span: Span,
    is_pointer: Callable[[Symbol], bool],
    tiles: frozenset[Symbol],
    called: str,
    *,
    repeated: bool,
) -> Access:
    name, spread = pointer_of(address, span, is_pointer, called), address.spreading
    assert spread is not None
    rest = spread.poly - Poly.of(next(s for s in spread.poly.symbols if s.name == name))
    rest, batch = picked(rest, spread)
    gathered = frozenset(len(address.axes) - 1 - dim for dim in spread.dims)
    bounds = _bounds(mask, name, span, gathered=bool(gathered))
    terms = _terms(address, spread, name, span, repeated=repeated)
    coordinates: dict[int, Poly] = {}
    for dim, term in terms.items():
        if term.plain and dim in bounds:
            coordinates[dim] = told(bounds[dim], term.stride, rest)
            rest -= coordinates[dim] * term.stride
    tile: dict[int, Dimension] = {}
    # Symbolic strides first: what they divide is certainly theirs. The unit stride takes what is left.
    for dim, term in sorted(terms.items(), key=lambda item: item[1].stride.constant is not None):
        axis = address.axis(dim)
        assert axis is not None
        if term.stride.constant is not None:
            # What moves a row of elements by whole tiles moves along it: there is nothing else for it to move along.
            fixed = {s for m, _ in rest.terms if tiles.intersection(m) for s in m if s.constexpr}
            rest, found = batches(rest, tiles.union(fixed) if len(address.axes) == 1 else tiles)
            batch += found
        if term.divisor is not None:
            tile[dim] = _divided(axis, term, bounds.get(dim), name, span)
            continue
        if term.modulus is not None:
            # Where rows are gathered, a mask need not bound what wraps: `pos % PAGE` in a page, of `pos < length`.
            tile[dim] = _wrapped(axis, term, bounds.get(dim) if dim not in spread.dims else None, name, span)
            continue
        more, left = rest.divide(term.stride)
        if dim in bounds:
            more, left = _of_a_bound(more, left, coordinates[dim], bounds[dim], term)
        coordinate, rest = coordinates.get(dim, ZERO) + more, left
        tile[dim] = limited(term, coordinate, axis, bounds.get(dim), coordinates.get(dim, ZERO), name, span)
    rest, found = batches(rest, frozenset())
    batch += found
    if rest != ZERO and not gathered and (not tile or (len(tile) == 1 and not rest.launch)):
        batch.append(Dimension(ONE, rest, None, None))  # one element of every row, or of all
        rest = ZERO
    if rest != ZERO:
        raise Decline("TLX201", span, name=name, why=f"`{rest}` elements are added that belong to no axis")
    ordered = (tile[dim] for dim in sorted(tile, reverse=True))
    patchy = frozenset(len(address.axes) - 1 - dim for dim in mask.varies) if mask is not None else frozenset[int]()
    partial = mask is not None and (mask.partial or (mask.bounds is None and mask.literal is MISSING))
    along = [axis for dim in terms if dim not in spread.dims and (axis := address.axis(dim)) is not None]
    row = along[0] if gathered and len(along) == 1 else None
    return Access(name, (*batch, *ordered), partial=partial, gathered=gathered, row=row, patchy=patchy)


def _bounds(mask: Value | None, name: str, span: Span, *, gathered: bool) -> dict[int, list[Bound]]:
    """The bounds in a mask by axis. Rows that are gathered may be asked anything: none of it bounds memory."""
    if gathered and mask is not None and mask.bounds is None:
        return {}
    return bounds_by_dim(mask, name, span)


def picked(rest: Poly, spread: Spread) -> tuple[Poly, list[Dimension]]:
    """(what is left, one dimension per stride): takes what indices step by out of a scalar part."""
    blocks = {symbol for symbol, _ in spread.blocks}
    left: list[tuple[Monomial, int]] = []
    strides: dict[Poly, list[tuple[Monomial, int]]] = {}
    for monomial, coefficient in rest.terms:
        if not blocks.intersection(monomial):
            left.append((monomial, coefficient))
            continue
        fixed = Poly.build([(tuple(s for s in monomial if s.launch), abs(coefficient))])
        sign = 1 if coefficient > 0 else -1
        strides.setdefault(fixed, []).append((tuple(s for s in monomial if not s.launch), sign))
    found = [Dimension(stride, Poly.build(terms), None, None) for stride, terms in strides.items()]
    return Poly.build(left), found


def pointer_of(address: Value, span: Span, is_pointer: Callable[[Symbol], bool], called: str) -> str:
    """The parameter an address is relative to. Raises Decline TLX201, or what made the address not affine."""
    spread = address.spreading
    if spread is None:
        raise _unknown(address, span, called)
    alone = (m[0] for m, c in spread.poly.terms if c == 1 and len(m) == 1)
    candidates = [symbol for symbol in alone if symbol.launch and not symbol.constexpr and not symbol.chosen]
    pointers = [symbol for symbol in candidates if is_pointer(symbol)] or candidates
    if len(pointers) != 1:
        either = " or ".join(f"`{symbol.name}`" for symbol in pointers)
        why = "it has no single base pointer" + (f", it may be {either}" if either else "")
        raise Decline("TLX201", span, name=called, why=why)
    return pointers[0].name


def _unknown(address: Value, span: Span, called: str) -> Decline:
    """What made an address not affine."""
    code, why = address.why or ("TLX201", "")
    if code == "TLX203":
        return Decline(code, span, name=why)
    return Decline(code, span, name=called) if code == "TLX202" else Decline(code, span, name=called, why=why)


def _terms(address: Value, spread: Spread, name: str, span: Span, *, repeated: bool) -> dict[int, Term]:
    terms: dict[int, Term] = {}
    for term in spread.terms:
        if term.dim in terms:
            raise Decline("TLX201", span, name=name, why="an axis occurs twice in it")
        if not term.stride.monomial or not term.stride.launch:
            raise Decline("TLX207", span, what="stride", name=name, why=f"it is `{term.stride}`")
        terms[term.dim] = term
    for dim in range(len(address.axes)):
        if address.axis(dim) is not None and dim not in terms and dim not in spread.dims and not repeated:
            raise Decline("TLX201", span, name=name, why=REPEATED)
    return terms


def _wrapped(axis: int, term: Term, bounds: Bounds | None, name: str, span: Span) -> Dimension:
    """A dimension with `% extent`: a plain one where the mask takes out what would wrap."""
    assert term.modulus is not None
    if bounds:
        if any(bound.index != term.offset - term.modulus for bound in bounds):
            raise Decline("TLX204", span, name=name, why="an axis is wrapped and masked")
        return limited(Term(term.dim, term.stride), term.offset, axis, bounds, term.offset, name, span)
    if not term.modulus.launch:
        return Dimension(term.stride, term.offset, axis, None, wrapped=True, folded=term.folded, limit=term.modulus)
    return Dimension(term.stride, term.offset, axis, term.modulus, wrapped=True, folded=term.folded)


def _divided(axis: int, term: Term, bounds: Bounds | None, name: str, span: Span) -> Dimension:
    """A dimension whose positions are divided: several lie at one place."""
    if term.modulus is not None:
        return replace(_wrapped(axis, replace(term, divisor=None), bounds, name, span), divisor=term.divisor)
    plain = Term(term.dim, term.stride)
    return replace(limited(plain, term.offset, axis, bounds, term.offset, name, span), divisor=term.divisor)


def _of_a_bound(more: Poly, left: Poly, coordinate: Poly, bounds: Bounds, term: Term) -> tuple[Poly, Poly]:
    """What of the scalar part belongs to a bounded dimension beyond what its bound speaks of, and what does not.

    What is fixed shifts the extent with the coordinate. What moves would make a fixed extent move: it is a batch
    dimension's, unless the extent moves anyway. Where the stride is one, only what has another stride can be given
    away: `head * BT` moves along a batch of `BT` elements each, though `BT` is the length of a tile as well.
    """
    if not all((coordinate - bound.index).launch for bound in bounds):
        return more, left
    moving = Poly.build((m, c) for m, c in more.terms if not all(s.launch for s in m))
    if term.stride == ONE:
        moving = Poly.build((m, c) for m, c in moving.terms if any(s.launch for s in m))
    return more - moving, left + moving * term.stride


def zero_fill(other: Value | None) -> bool:
    """Whether masked-out elements read as zero (or as anything)."""
    if other is None:
        return True
    return (
        (other.literal is not MISSING and other.literal in (0, 0.0, False))
        or other.origin.kind == "fill"
        or (other.poly is not None and other.poly == ZERO)
    )
