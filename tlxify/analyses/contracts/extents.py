"""How long each axis is: what its masks say, else how far its loop or its program ids reach."""

from __future__ import annotations

from dataclasses import replace

from ...facts import Access, Dimension, Facts
from ...poly import ONE, Poly, Symbol
from ..scalars import offsets_of, rows_of
from .indices import program_axis
from .integers import symbols_in
from .waiving import relied_on, step_where


class Extents:
    """Extents of the axes of block values, and what unmasked accesses rely on."""

    def __init__(self, facts: Facts) -> None:
        #: The facts, with the extents that `_apart` finds.
        self.facts = facts
        self.of: dict[int, str] = {}
        #: Sizes that the kernel relies on being multiples of a tile.
        self.multiples: list[tuple[str, str]] = []
        self.free: dict[str, None] = {}
        self.facts = facts = self._apart()
        accesses = [access for _, access in facts.accesses]
        # Where rows are gathered, `pos % PAGE` says how long a page is, and not how many positions there are.
        dimensions = [
            d
            for access in accesses
            for d in access.dimensions
            if d.axis is not None and not (access.gathered and d.wrapped)
        ]
        for dimension in dimensions:
            if dimension.extent is not None and dimension.extent.launch and dimension.axis is not None:
                text = dimension.extent.text()
                # One that a parameter holds says more than `T * V`, which a view as one row is masked by.
                if "tl." not in text and not self.of.get(dimension.axis, "").isidentifier():
                    self.of[dimension.axis] = text
        for dimension in dimensions:
            if dimension.extent is None and dimension.axis is not None:
                self._unmasked(dimension, dimension.axis)
        for access in accesses:
            waived = [d for d in access.dimensions if d.waived]
            for dimension in waived if relied_on(facts, access) else ():
                self._waived(dimension)
        for dimension in dimensions:
            if dimension.limit is None or dimension.axis is None or dimension.axis in self.of:
                continue
            if (pointer := offsets_of(facts, dimension.limit)) is not None:
                self.of[dimension.axis] = rows_of(pointer)
                self.free[rows_of(pointer)] = None
        for access in accesses:
            for dimension in access.dimensions:
                self._elsewhere(access, dimension, accesses)

    def _apart(self) -> Facts:
        """The facts, where loops over sizes of their own walk along one axis, `tl.arange(0, BLOCK_K)` for all of them.

        How far an access reaches that masks nothing is then told by its loop, and not by the axis.
        """
        ends: dict[int, set[str]] = {}
        for _, access in self.facts.accesses:
            for d in access.dimensions:
                end = self._looped(d) if d.extent is None else d.extent.text()
                if d.axis is not None and end is not None:
                    ends.setdefault(d.axis, set()).add(end)

        def told(dimension: Dimension) -> Dimension:
            size = self._looped(dimension)
            if dimension.axis is None or dimension.extent is not None or size is None or len(ends[dimension.axis]) < 2:
                return dimension
            self._relies(dimension, size, self.facts.axis(dimension.axis).length)
            return replace(dimension, extent=Poly.of(Symbol(size, launch=True)))

        accesses = (
            (span, replace(access, dimensions=tuple(map(told, access.dimensions))))
            for span, access in self.facts.accesses
        )
        return replace(self.facts, accesses=tuple(accesses))

    def _looped(self, dimension: Dimension) -> str | None:
        """The size that the loop ends with in which an access moves along an axis, and that nothing else bounds."""
        if dimension.axis is None or dimension.limit is not None or dimension.stated is not None:
            return None
        size = self._walked(dimension, self.facts.axis(dimension.axis).length)
        return size if size is not None and size.isidentifier() else None

    def _relies(self, dimension: Dimension, size: str, length: Poly) -> None:
        """Notes that tiles must end where a size does, along which an access masks nothing."""
        # A descriptor masks by itself, whatever it describes.
        plain = size != length.text() and dimension.limit is None and not dimension.from_zero
        if plain and not self._whole_tiles(dimension, size, length):
            self.multiples.append((size, self._step(dimension, size, length).text()))

    def _unmasked(self, dimension: Dimension, axis: int) -> None:
        """An access that masks nothing relies on its tiles ending where the axis does."""
        length = self.facts.axis(axis).length
        size = self.of.get(axis) or _stated(dimension) or self._reach(dimension, length)
        if size is not None:
            self.of.setdefault(axis, size)
            self._relies(dimension, size, length)

    def _waived(self, dimension: Dimension) -> None:
        """An access that one arm masks: the others rely on tiles ending where the axis does."""
        size = self.of.get(dimension.axis) if dimension.axis is not None else None
        if size is None or dimension.axis is None:
            return
        length = self.facts.axis(dimension.axis).length
        if size != length.text() and not self._whole_tiles(dimension, size, length):
            step = self._step(dimension, size, length).text()
            self.multiples.append((size, step_where(dimension.waived, step)))

    def _step(self, dimension: Dimension, size: str, length: Poly) -> Poly:
        """What a size must be whole times of: a tile, or what `cdiv(K, BK * SPLIT)` turns take of it each."""
        for loop in self.facts.loops:
            stop = loop.stop.alone if loop.stop is not None else None
            if loop.trip not in dimension.coordinate.symbols or stop is None:
                continue
            step = dimension.coordinate - dimension.coordinate.substitute({loop.trip: Poly()})
            if stop.template == "cdiv({}, {})" and step == stop.operands[1] * Poly.of(loop.trip):
                turns = stop.operands[1].divide(length) if length.monomial else (Poly(), ONE)
                if stop.operands[0].text() == size and turns[1] == Poly() and turns[0].launch:
                    return stop.operands[1]
        return length

    def _whole_tiles(self, dimension: Dimension, size: str, length: Poly) -> bool:
        """Whether a loop makes as many trips as whole tiles fit into the size, and leaves the rest to a masked load."""
        ends = (d.extent for _, access in self.facts.accesses for d in access.dimensions if d.axis is not None)
        if not any(end is not None and end.text() == size for end in ends):
            return False
        for loop in self.facts.loops:
            count = loop.count
            if count is not None and dimension.coordinate == length * Poly.of(loop.trip):
                whole = count.template == "({} // {})" and count.operands[1] == length
                return whole and count.operands[0].text() == size
        return False

    def _reach(self, dimension: Dimension, length: Poly) -> str | None:
        if not dimension.coordinate.terms and dimension.limit is None:
            return length.text()  # one tile is the whole axis
        quotient, rest = dimension.coordinate.divide(length) if length.monomial else (Poly(), dimension.coordinate)
        if not rest.terms and (program := program_axis(quotient)) is not None:
            name = f"extent_{program}"
            self.free[name] = None
            return name
        counted = {s.operands[0] for s in symbols_in(quotient) if _counts(s, length)} if not rest.terms else set()
        if len(counted) == 1 and (size := self._counted(counted.pop())) is not None:
            return size  # as many tiles as `cdiv(M, BLOCK_M)`, whatever order they are taken in
        return self._walked(dimension, length)

    def _walked(self, dimension: Dimension, length: Poly) -> str | None:
        """The size that the loop ends with in which an access moves by one tile with each trip."""
        for loop in self.facts.loops:
            symbol = loop.stop.alone if loop.stop is not None else None
            if symbol is not None and loop.trip in dimension.coordinate.symbols:
                if symbol.name.isidentifier() and loop.step == length:
                    return symbol.name
                if len(symbol.operands) == 2 and symbol.operands[1] == length:
                    text = symbol.operands[0].text()
                    return text if text.isidentifier() else None
        return None

    def _counted(self, count: Poly) -> str | None:
        """The size that tiles are counted of: a parameter, or what memory says."""
        if (text := count.text()).isidentifier():
            return text
        loaded = next((load for load in self.facts.loads if load.symbol and count == Poly.of(load.symbol)), None)
        if loaded is None or loaded.pointer is None or loaded.axes:
            return None
        self.free[rows_of(loaded.pointer)] = None
        return rows_of(loaded.pointer)

    def _elsewhere(self, access: Access, dimension: Dimension, accesses: list[Access]) -> None:
        """Whole tiles without a mask, and a masked one for the rest: the axis is as long as the masked one's."""
        if dimension.axis is None or dimension.axis in self.of:
            return
        for other in accesses:
            if other.pointer != access.pointer:
                continue
            for d in other.dimensions:
                if d.stride == dimension.stride and d.axis is not None and d.extent is not None and d.axis in self.of:
                    self.of[dimension.axis] = self.of[d.axis]
                    return


def _counts(symbol: Symbol, length: Poly) -> bool:
    return symbol.template == "cdiv({}, {})" and symbol.operands[1] == length


def _stated(dimension: Dimension) -> str | None:
    """The extent that the source states."""
    text = dimension.stated.text() if dimension.stated is not None else ""
    return text if text and "tl." not in text else None
