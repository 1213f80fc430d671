"""Pointer parameters as tensors: the memory that all accesses through a pointer reach."""

from __future__ import annotations

from ...contract import BYTE_DTYPES, FLOAT16_DTYPES, Drawn, TensorSpec
from ...diagnostics import Decline
from ...facts import Access, Dimension, Facts
from ...poly import ONE, Poly
from ...source import Span
from ...starts import tile_lengths, uneven
from ..grids import quotients
from ..scalars import Scalars, one_more
from ..texts import options, words
from .extents import Extents
from .hosted import as_descriptor
from .indices import batch_index
from .operands import depths, dtypes_of
from .picking import indices
from .views import View, longest, merged, tied


class Tensors:
    """What a kernel's pointers point to."""

    def __init__(self, facts: Facts, extents: Extents, tiles: set[str], said: frozenset[str] = frozenset()) -> None:
        """`said` are parameters of which the kernel's launches say that they are strides."""
        self.facts = facts
        self.extents = extents
        self.tiles = tiles
        self.said = said
        self.free = dict(extents.free)
        self.scalars = Scalars(facts, extents.of)
        self.views: dict[str, list[View]] = {}
        self.depths = depths(facts)
        #: Which axes of each tensor dots contract.
        self.deep: dict[str, set[int]] = {}
        self.reads: set[str] = set()
        self.writes: set[str] = set()
        #: Strides that a launch chooses.
        self.chosen: frozenset[str] = frozenset()
        #: Memory of indices that pick rows, and how those are drawn.
        self.indices: dict[str, Drawn] = {}
        #: Strides that must be what another view of the same memory has.
        self.tied: dict[str, str] = {}

    @property
    def sizes(self) -> tuple[str, ...]:
        """Sizes that no parameter holds, of the tensors so far."""
        return tuple(self.free | self.scalars.free)

    def specs(self) -> list[TensorSpec]:
        """The tensors. Raises Decline TLX606 if one access is not understood."""
        facts = self.facts
        apart = self._elsewhere()
        blocks = [load for load in facts.loads if load.axes and load.id not in apart]
        # How many rows indices tell apart follows from how many indices there are.
        self.indices = indices(facts)
        for load in sorted(blocks, key=lambda load: self._gathered(load.span)):
            if self._gathered(load.span):
                self.scalars.elements |= self._lengths()
            self._view(load.span, load.pointer)
            self.reads.add(load.pointer or "")
        self.scalars.elements |= self._lengths()
        for store in facts.stores:
            self._view(store.span, store.pointer)
            self.writes.add(store.pointer or "")
            if store.kind != "store":
                self.reads.add(store.pointer or "")  # an atomic goes on from what is there
        # What is also read as a block says what a scalar among it is; other memory is judged by how its scalars serve.
        found: dict[str, TensorSpec] = {}
        for load in facts.loads:
            if load.axes or load.pointer in found:
                continue
            spec = self.scalars.spec(load.pointer) if load.pointer is not None else None
            if spec is None or (spec.values and spec.name in self.views):
                raise self._unknown(load.span, load.pointer)
            self.reads.add(spec.name)
            if spec.name in self.views:
                self.views[spec.name].append(View(spec.shape, spec.strides))
            else:
                found[spec.name] = spec
        self.chosen = self._strides()
        for views in self.views.values():
            inside = words(s for view in views for s in view.strides if len(options(s)) > 1)
            self.tied |= {name: text for name, text in tied(views, self.chosen).items() if name not in inside}
        self.chosen -= self.tied.keys()
        self.views = {pointer: [view.with_strides(self.tied) for view in v] for pointer, v in self.views.items()}
        groups = self._groups()
        for pointer, views in self.views.items():
            view = merged(views, self.chosen, written=pointer in self.writes)
            dtypes, deep = self._elements(pointer, view)
            values, drawn = self._drawn(pointer)
            spec = TensorSpec(
                pointer,
                view.shape,
                view.strides,
                pointer in self.reads,
                pointer in self.writes,
                groups.get(pointer, pointer),
                ("i32",) if values else dtypes,
                values=values,
                drawn=drawn,
                deep=deep,
            )
            known = as_descriptor(spec, facts)
            if known is None:
                raise self._unknown(None, pointer, f"how long the tensor is that `{pointer}` describes is not known")
            found[pointer] = known
        return list(found.values())

    def _elsewhere(self) -> set[int]:
        """Loads that lie in memory otherwise than the one that stands for them: that one says how, for every flag."""
        accesses = {load.id: self.facts.access(load.span) for load in self.facts.loads}
        strides = {n: {d.stride for d in access.dimensions} for n, access in accesses.items() if access is not None}
        joined = [load for load in self.facts.armed if load.id in strides]
        return {part for load in joined for part in load.parts if strides.get(part) != strides[load.id]}

    def _gathered(self, span: Span) -> bool:
        access = self.facts.access(span)
        return access is not None and bool(access.gathered)

    def _lengths(self) -> dict[str, str]:
        """How many elements the memory of indices has."""
        lengths = {}
        for pointer in self.indices:
            if pointer in self.views:
                counts = (" * ".join(_factor(extent) for extent in view.shape) for view in self.views[pointer])
                lengths[pointer] = longest(counts)
        return lengths

    def _drawn(self, pointer: str) -> tuple[tuple[str, ...], Drawn]:
        """What the elements of indices are drawn from; nothing for other memory.

        Where a store's rows are picked, no two programs may pick one.
        """
        if pointer not in self.indices or (length := self.scalars.elements.get(pointer)) is None:
            return (), "chosen"
        return ("0", f"{length} - 1" if length.isidentifier() else f"({length}) - 1"), self.indices[pointer]

    def _elements(self, pointer: str, view: View) -> tuple[tuple[str, ...], int | None]:
        """The dtypes of a tensor, and the axis that must be contiguous where they have 8 bits."""
        stored = {store.element for store in self.facts.stores if store.pointer == pointer}
        if stored == {"int32"} and pointer not in self.reads:
            return ("i32",), None  # through a block pointer nothing else can be stored
        places = self.deep.get(pointer, set())
        deep = next(iter(places)) if len(places) == 1 and view in self.views[pointer] else None
        dtypes = dtypes_of(self.facts, pointer)
        if deep is None:
            dtypes = tuple(dtype for dtype in dtypes if dtype not in BYTE_DTYPES) or FLOAT16_DTYPES
        return dtypes, deep if any(dtype in BYTE_DTYPES for dtype in dtypes) else None

    def _strides(self) -> frozenset[str]:
        """Names that are strides, and nothing but strides: a launch may choose them.

        What is a factor of another stride as well, `H` beside `H * D`, counts what lies side by side; not so a stride
        that the same tile also takes in steps of its own length, `s` and `s * BK`, or so many at a time that nothing
        lies as far apart as that number says, `s` and `s * GROUPS`, or that launches say is a stride.
        """
        views = [view for views in self.views.values() for view in views]
        whole = {s for v in views for stride in v.strides for s in options(stride) if s.isidentifier()}
        factors: set[str] = set()
        for view in views:
            each = [option for stride in view.strides for option in options(stride)]
            for names in (words([stride]) for stride in each):
                walked = names - self.tiles
                stepped = walked & {*each}
                if len(names) > 1 and not (len(stepped) == 1 and not (walked - stepped) & whole):
                    factors |= names
        return frozenset(whole - words(e for v in views for e in v.shape) - (factors - self.said) - self.tiles)

    def _groups(self) -> dict[str, str]:
        """Pointers whose tensors have one dtype: both operands of a dot."""
        groups = {access.pointer: access.pointer for _, access in self.facts.accesses}
        for dot in self.facts.dots:
            names = [self.facts.loads[n].pointer for n in (dot.a.load, dot.b.load) if n is not None]
            for name in names[1:]:
                if name is not None and names[0] is not None:
                    groups[name] = groups.get(names[0], names[0])
        return groups

    def _unknown(self, span: Span | None, pointer: str | None, why: str = "") -> Decline:
        problem = self.facts.problem(span) if span is not None else None
        if problem is not None:
            why = problem.message.removesuffix(".")
        memory = "it accesses" if pointer is None else f"of `{pointer}`"
        why = why or f"how far the memory {memory} reaches is not known"
        return Decline("TLX606", span, name=self.facts.kernel, why=why)

    def _view(self, span: Span, pointer: str | None) -> None:
        access = self.facts.access(span)
        if access is None:
            raise self._unknown(span, pointer)
        # The axis that is surely contiguous is the tensor's last, however the kernel turns the tile, and one along
        # which tiles start anywhere is not, if there is a choice: the TMA could not read them.
        dimensions = sorted(
            access.dimensions,
            key=lambda d: (
                d.stride == ONE or (d.axis is not None and d.axis == access.row),
                not self._starts_anywhere(d),
            ),
        )
        dimensions = _nested(dimensions)
        shape, strides = [], []
        for d in dimensions:
            extent = self._extent(d)
            if extent is None or not d.stride.launch or "tl." in d.stride.text():
                moving = "stride" if extent is not None else "extent"
                text = d.stride.text() if extent is not None else d.coordinate.text()
                why = f"`{access.pointer}` has no known {moving} along `{text}`"
                raise self._unknown(span, access.pointer, why)
            shape.append(extent if d.divisor is None else _quotients(extent, d.divisor))
            strides.append(d.stride.text())
        self._add(access, View(tuple(shape), tuple(strides)))
        for position, d in enumerate(dimensions):
            if d.axis in self.depths and not self._starts_anywhere(d):
                self.deep.setdefault(access.pointer, set()).add(position)

    def _starts_anywhere(self, dimension: Dimension) -> bool:
        """Whether tiles begin along an axis at what is read from memory, and that at no multiple of anything."""
        if dimension.axis is None:
            return False
        loaded = {load.symbol for load in self.facts.loads if load.symbol is not None}
        lengths = tile_lengths(self.facts, [access for _, access in self.facts.accesses])
        return any(loaded & {*monomial} for monomial, _ in uneven(dimension.coordinate, lengths))

    def _add(self, access: Access, view: View) -> None:
        self.views.setdefault(access.pointer, []).append(view)

    def _extent(self, dimension: Dimension) -> str | None:
        if dimension.extent is not None:
            text = dimension.extent.text()
            return text if dimension.extent.launch and "tl." not in text else None
        if dimension.axis is not None:
            size, length = self.extents.of.get(dimension.axis), self.facts.axis(dimension.axis).length.text()
            if size is not None and size == length and dimension.coordinate.terms:
                size = None  # the axis is one tile long, and tiles lie one after the other
            elif dimension.limit is None and self._side_by_side(dimension):
                size = None  # `(p % HEADS) * BT`: a row holds as many tiles, however long the axis is elsewhere
            return (self._beyond(dimension, size) if size is not None else None) or self._reached(dimension)
        if (index := batch_index(dimension.coordinate)) is not None:
            if index.free is not None:
                self.free[index.free] = None
            return index.extent
        if (counted := quotients(self.facts, self.extents.of, dimension.coordinate)) is not None:
            if counted[1] is not None:
                self.free[counted[1]] = None
            return counted[0]
        last = self.scalars.upper(dimension.coordinate)
        return one_more(last) if last is not None else None

    def _side_by_side(self, dimension: Dimension) -> bool:
        """Whether there are as many tiles along an axis as a parameter says, and no mask knows of these."""
        length = self.facts.axis(dimension.axis).length if dimension.axis is not None else Poly()
        quotient, rest = dimension.coordinate.divide(length) if length.monomial else (Poly(), ONE)
        symbol = quotient.alone
        if rest != Poly() or symbol is None or symbol.template != "({} % {})":
            return False
        masked = (d for _, access in self.facts.accesses for d in access.dimensions if d.extent is not None)
        told = any((d.axis, d.coordinate) == (dimension.axis, dimension.coordinate) for d in masked)
        return symbol.operands[1].text().isidentifier() and not told

    def _beyond(self, dimension: Dimension, size: str) -> str:
        """The extent of an axis of that size that a caller's descriptor has several times, `group * K` apart."""
        if not dimension.from_zero or dimension.axis is None or dimension.limit is not None:
            return size
        length = self.facts.axis(dimension.axis).length
        moved = dimension.coordinate.divide(length)[1] if length.monomial else Poly()
        last = self.scalars.upper(moved) if moved != Poly() else None
        return size if last is None else f"{size} + {last}"

    def _reached(self, dimension: Dimension) -> str | None:
        """How far an axis goes whose end no mask tells: to the limit if there is one, else to its last tile's end."""
        assert dimension.axis is not None
        if dimension.limit is not None:
            return self.scalars.upper(dimension.limit)
        length = self.facts.axis(dimension.axis).length
        if not length.launch:
            return None
        last = self.scalars.upper(dimension.coordinate + length - Poly.of(1))
        return one_more(last) if last is not None else None


def _nested(dimensions: list[Dimension]) -> list[Dimension]:
    """The dimensions, each that steps over several of another's steps (`GROUPS * stride_h`) right outside of that one.

    A launch lays them in memory in this order: others between the two would be as far apart as the outer one.
    """
    for outer in dimensions:
        for inner in dimensions:
            symbols = inner.stride.symbols
            if outer is inner or len(symbols) != 1 or inner.stride != Poly.of(next(iter(symbols))):
                continue
            if any(symbols & d.extent.symbols for d in dimensions if d.extent is not None):
                continue  # it counts what lies side by side
            times, rest = outer.stride.divide(inner.stride)
            if rest == Poly() and times.symbols:
                others = [d for d in dimensions if d is not outer]
                place = others.index(inner)
                return [*others[:place], outer, *others[place:]]
    return dimensions


def _factor(extent: str) -> str:
    return extent if extent.isidentifier() or extent.isdigit() else f"({extent})"


def _quotients(extent: str, divisor: Poly) -> str:
    """How many different quotients positions below an extent have."""
    return f"cdiv({extent}, {divisor.text()})"
