"""What the interpreter knows about a value: an affine form where there is one, its axes, and where it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from ..facts import AxisId, Condition
from ..poly import ZERO, Poly, Symbol
from .axes import Axes

if TYPE_CHECKING:
    from .boxes import Box


class _Missing:
    """No literal."""


MISSING = _Missing()


@dataclass(frozen=True, slots=True)
class Term:
    """`stride × position` along an axis; with a modulus, `stride × ((offset + position) % modulus)`.

    With a divisor, what the stride is multiplied by is divided by that first, rounded down.
    """

    #: Which axis of the value, counted from the last (0): a square tile has one axis twice, told apart by this alone.
    dim: int
    stride: Poly
    offset: Poly = ZERO
    modulus: Poly | None = None
    divisor: Poly | None = None
    #: Past the modulus the position is 0, instead of beginning anew there: `where(i < M, i, 0)`.
    folded: bool = False

    @property
    def plain(self) -> bool:
        """Neither wrapped nor divided: the position itself."""
        return self.modulus is None and self.divisor is None


@dataclass(frozen=True, slots=True)
class Spread:
    """What is affine but for parts that differ from position to position as nothing but memory tells: loaded indices.

    `poly` + Σ terms as of an affine value, where some scalars of `poly` stand for blocks.
    """

    poly: Poly
    terms: tuple[Term, ...] = ()
    #: The scalars that stand for blocks, with the axes (counted from the last) along which those differ.
    blocks: tuple[tuple[Symbol, frozenset[int]], ...] = ()

    @property
    def dims(self) -> frozenset[int]:
        """The axes along which anything differs that is no term."""
        return frozenset[int]().union(*(dims for _, dims in self.blocks))

    def moved(self, places: Mapping[int, int]) -> Spread:
        """The same with its axes elsewhere: `places` is old → new."""
        terms = tuple(replace(term, dim=places[term.dim]) for term in self.terms)
        blocks = tuple((symbol, frozenset(places[dim] for dim in dims)) for symbol, dims in self.blocks)
        return Spread(self.poly, terms, blocks)


@dataclass(frozen=True, slots=True)
class Bound:
    """`position along axis + index < 0`."""

    #: Which axis of the value, counted from the last (0).
    dim: int
    index: Poly
    #: The source masks without it where all conditions of one of these hold.
    waived: tuple[tuple[Condition, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Origin:
    """Where data came from."""

    kind: Literal["load", "dot", "fill", "computed"] = "computed"
    load: int | None = None
    transposed: bool = False


COMPUTED = Origin()


#: Stands among loads for the result of any dot.
DOT = -1


@dataclass(frozen=True, slots=True)
class Value:
    """A scalar (no axes) or a block.

    With `poly`, an integer or an address: poly + Σ terms (an address has its pointer parameter as a symbol of poly).
    With `bounds`, a truth value that is the conjunction of those bounds, and with `partial` of other conditions too.
    Else data, known by its axes and origin alone.
    """

    axes: Axes = ()
    poly: Poly | None = None
    terms: tuple[Term, ...] = ()
    bounds: tuple[Bound, ...] | None = None
    partial: bool = False
    origin: Origin = COMPUTED
    #: Loads whose data this value depends on; DOT among them where a dot's result is.
    loads: frozenset[int] = frozenset()
    #: A Python value known now: str, float, bool, None, int.
    literal: object = MISSING
    #: The canonical name of a function, module or dtype.
    reference: str | None = None
    items: tuple[Value, ...] | None = None
    #: The dtype of a block's elements by Triton's name ("int32"), where the source says it.
    element: str | None = None
    #: A block pointer, or a tensor descriptor (whose box has no offsets).
    box: Box | None = None
    #: Of a block that is neither affine nor bounds alone: what is known of how it differs from position to position.
    spread: Spread | None = None
    #: The name it is bound to is not bound on every way to here: no text of ours may read it.
    unsure: bool = field(default=False, compare=False)
    #: Why there is no affine form: a diagnostic code with its facts.
    why: tuple[str, str] | None = field(default=None, compare=False)

    @property
    def scalar(self) -> bool:
        """No axes."""
        return not self.axes

    @property
    def symbols(self) -> frozenset[Symbol]:
        """Every scalar that an integer, an address or a condition depends on."""
        polys = [
            self.poly,
            *(p for t in self.terms for p in (t.stride, t.offset, t.modulus)),
            *(b.index for b in self.bounds or ()),
            *((self.box.base, *self.box.offsets, *self.box.shape, *self.box.strides) if self.box else ()),
            *((self.spread.poly, *(t.stride for t in self.spread.terms)) if self.spread else ()),
        ]
        return frozenset(symbol for poly in polys if poly is not None for symbol in poly.symbols)

    @property
    def affine(self) -> bool:
        """An integer or an address in affine form."""
        return self.poly is not None

    def data(self, axes: Axes) -> Value:
        """The same value as data without an affine form."""
        return Value(axes=axes, loads=self.loads, why=self.why)

    def at(self, axes: Axes) -> Value:
        """The same value broadcast to `axes`: ranks align at the right, so every axis keeps its place."""
        return replace(self, axes=axes)

    def moved(self, axes: Axes, places: Mapping[int, int]) -> Value:
        """The same value with its axes elsewhere: `places` is old → new, both counted from the last axis."""
        terms = tuple(replace(term, dim=places[term.dim]) for term in self.terms)
        bounds = tuple(replace(bound, dim=places[bound.dim]) for bound in self.bounds or ())
        spread = self.spread.moved(places) if self.spread is not None else None
        return replace(self, axes=axes, terms=terms, bounds=None if self.bounds is None else bounds, spread=spread)

    def with_axis(self, position: int) -> Value:
        """The same value with an axis of length one inserted before `position` (from the first axis)."""
        rank = len(self.axes)
        places = {dim: dim if rank - 1 - dim >= position else dim + 1 for dim in range(rank)}
        return self.moved((*self.axes[:position], None, *self.axes[position:]), places)

    def axis(self, dim: int) -> AxisId | None:
        """The axis at a place counted from the last."""
        return self.axes[len(self.axes) - 1 - dim]

    @property
    def spreading(self) -> Spread | None:
        """How an integer differs from position to position, as far as that is known; also of an affine one."""
        return Spread(self.poly, self.terms) if self.poly is not None else self.spread

    @property
    def varies(self) -> frozenset[int]:
        """The axes (counted from the last) along which it may differ, without those that its bounds are about."""
        known = self.spreading
        if known is not None:
            return known.dims.union(term.dim for term in known.terms)
        if self.bounds is not None and not self.partial:
            return frozenset()
        rank = len(self.axes)
        return frozenset(rank - 1 - place for place, axis in enumerate(self.axes) if axis is not None)


Scope = dict[str, Value]


def scalars(scope: Scope) -> tuple[tuple[str, Poly], ...]:
    """The scalars of a scope: what emitted coordinates may be written with."""
    return tuple(
        (name, value.poly)
        for name, value in scope.items()
        if value.scalar and value.poly is not None and value.items is None and not value.unsure
    )


def number(value: int | Poly | Symbol) -> Value:
    """A scalar integer."""
    match value:
        case int():
            return Value(poly=Poly.of(value), literal=value)
        case Symbol():
            return Value(poly=Poly.of(value))
        case _:
            return Value(poly=value, literal=MISSING if value.constant is None else value.constant)


def literal(value: object) -> Value:
    """A Python constant."""
    if isinstance(value, int) and not isinstance(value, bool):
        return number(value)
    return Value(literal=value)


def pure(template: str, *operands: Value) -> Value:
    """A scalar that is a pure function of scalars: known when they are, equal when they are.

    `template` has `{}` for each operand, as in "({} // {})".
    """
    symbols = [symbol for operand in operands if operand.poly is not None for symbol in operand.poly.symbols]
    known = all(operand.poly is not None or operand.literal is not MISSING for operand in operands)
    loads = frozenset[int]().union(*(operand.loads for operand in operands))
    polys = tuple(operand.poly for operand in operands if operand.poly is not None)
    symbol = Symbol(
        template.format(*map(text_of, operands)),
        launch=known and not loads and all(s.launch for s in symbols),
        constexpr=known and not loads and all(s.constexpr for s in symbols),
        template=template if len(polys) == len(operands) else "",
        operands=polys,
    )
    return Value(poly=Poly.of(symbol), loads=loads)


def text_of(value: Value) -> str:
    """Canonical text of a scalar operand, for naming a pure function of it."""
    if value.poly is not None:
        text = value.poly.text()
        return (
            text
            if value.poly.constant is not None
            or (len(value.poly.symbols) == 1 and text in {s.name for s in value.poly.symbols})
            else f"({text})"
        )
    return repr(value.literal) if value.literal is not MISSING else "?"
