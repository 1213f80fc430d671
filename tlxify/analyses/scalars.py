"""Scalars that a kernel reads from memory: how long their memory is, and which values are worth trying.

A count, a flag or an index decides what a program does. Launches of our own must take both sides of what it decides,
and must not index past anything: the values are chosen by how the scalar is used, and where that is not understood
there is no launch.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..contract import FLOAT16_DTYPES, Drawn, TensorSpec
from ..facts import Facts, Load, LoopFact, StatementFact
from ..poly import ONE, Poly, Symbol
from .alternatives import alternatives
from .texts import polynomial

_PROGRAM = re.compile(r"tl\.(program_id|num_programs)\((\d)\)")


@dataclass(slots=True)
class Scalars:
    """The scalar loads of one kernel."""

    facts: Facts
    #: Extents of block axes, by axis.
    extents: Mapping[int, str]
    #: Sizes that no parameter holds.
    free: dict[str, None] = field(default_factory=dict)
    #: How many elements the memory of block loads has, as far as that is known.
    elements: dict[str, str] = field(default_factory=dict)

    def spec(self, pointer: str) -> TensorSpec | None:
        """The memory behind a pointer through which only scalars are read; None where its use is not understood."""
        lengths: dict[str, None] = {}
        values: dict[str, None] = {}
        for load in self._loads(pointer):
            if load.offset is None or load.symbol is None:
                return None
            reached = self._reached(load)
            found = self._values(load.symbol)
            if found is None:
                return self._offsets(pointer)
            for last in reached:
                if last is None:
                    return None
                lengths[one_more(last)] = None
            values |= dict.fromkeys(found)
        length = next(iter(lengths)) if len(lengths) == 1 else f"max({', '.join(lengths)})"
        if not values and any(self._asked(load) for load in self._loads(pointer)):
            values = dict.fromkeys(("0", "1"))
        # What an operand is multiplied by must not widen it, or the dot would have two types to multiply; unless it is
        # cast at the dot.
        sides = (side for dot in self.facts.dots for side in (dot.a, dot.b) if ".to(" not in side.text)
        multiplied = {load for side in sides for load in side.loads} & {load.id for load in self._loads(pointer)}
        dtypes = ("i32",) if values else FLOAT16_DTYPES if multiplied else ("fp32",)
        # Indices that nothing is asked of pick any of what there is; else the numbers that decide something are drawn.
        drawn: Drawn = "between" if tuple(values) == ("0", f"count_{pointer} - 1") else "chosen"
        return TensorSpec(pointer, (length,), ("1",), True, False, pointer, dtypes, tuple(values), drawn)

    def _reached(self, load: Load) -> list[str | None]:
        """The largest offsets of a load, one for every form that its offset may take; None for what is not known."""
        if load.offset_end is not None and "tl." not in load.offset_end.text():
            return [f"{_closed(load.offset_end.text())} - 1"]
        return [self.upper(offset) for offset in alternatives(load.offset)] if load.offset is not None else [None]

    def _offsets(self, pointer: str) -> TensorSpec | None:
        """The memory of offsets: where each group of rows begins or ends."""
        rows = self._rows(pointer)
        if rows is None:
            return None
        lengths = [last for load in self._loads(pointer) for last in self._reached(load)]
        texts = list(dict.fromkeys(one_more(last) for last in lengths if last is not None))
        length = texts[0] if len(texts) == 1 else f"max({', '.join(texts)})"
        # What is also read one place before is where a group ends: then the first is no nought that begins it.
        before = any(c < 0 for load in self._loads(pointer) if load.offset for m, c in load.offset.terms if not m)
        least = "1" if before else "0"
        return TensorSpec(pointer, (length,), ("1",), True, False, pointer, ("i32",), (least, rows), "rising")

    def _rows(self, pointer: str) -> str | None:
        """How many rows the groups have together that a pointer's offsets tell apart; None where it holds none such."""
        limited = [d for _, access in self.facts.accesses for d in access.dimensions if d.limit is not None]
        axes = [d.axis for d in limited if d.limit is not None and offsets_of(self.facts, d.limit) == pointer]
        if not axes:
            return None
        # Where a parameter holds how many rows there are, the groups end there.
        held = [self.extents[axis] for axis in axes if axis is not None and axis in self.extents]
        rows = next((extent for extent in held if extent.isidentifier()), rows_of(pointer))
        if rows == rows_of(pointer):
            self.free[rows] = None
        return rows

    def upper(self, poly: Poly) -> str | None:
        """An expression that `poly` never exceeds, as long as everything in it counts from zero."""
        for loop in self.facts.loops:
            poly = self._before_the_end(poly, loop) if loop.kind == "while" else _at_the_end(poly, loop)
        if len(poly.terms) == 1 and poly.terms[0][1] == 1 and len(poly.terms[0][0]) == 1:
            return self._largest(poly.terms[0][0][0])
        parts: list[str] = []
        for monomial, coefficient in sorted(poly.terms, key=lambda term: not term[0]):
            if not monomial:
                parts.append(f"{'-' if coefficient < 0 else '+'} {abs(coefficient)}")
            if not monomial or coefficient < 0:
                continue  # what is taken away leaves no more than there was
            factors = [text for symbol in monomial if (text := self._largest(symbol)) is not None]
            if len(factors) < len(monomial):
                return None
            product = " * ".join([*([str(coefficient)] if coefficient != 1 else []), *map(_closed, factors)])
            parts.append(f"+ {product}")
        return " ".join(parts).removeprefix("+ ") or "0"

    def _before_the_end(self, poly: Poly, loop: LoopFact) -> Poly:
        """What a loop goes on for as long as it is less than something, at its largest."""
        if loop.trip in poly.symbols:
            entry = poly.substitute({loop.trip: Poly()})
            for test in self.facts.comparisons:
                # Its test is read with what holds before the loop.
                own = test.span.line == loop.span.line and test.left == entry and test.integers
                if own and test.operator in ("<", "<=") and not test.right.symbols & {loop.trip}:
                    return test.right - (ONE if test.operator == "<" else Poly())
        return poly

    def _largest(self, symbol: Symbol) -> str | None:
        if match := _PROGRAM.fullmatch(symbol.name):
            name = f"grid_{match[2]}"
            self.free[name] = None
            return f"{name} - 1" if match[1] == "program_id" else name
        if symbol.launch:
            return symbol.name if "tl." not in symbol.name else None
        if symbol.options:
            return self._largest_of(symbol.options)
        if symbol.trip:
            return self._last_trip(symbol)
        if symbol.template in ("({} // {})", "({} % {})"):
            left, right = symbol.operands
            if symbol.template == "({} % {})":
                limit = self.upper(right)
                return f"{_closed(limit)} - 1" if limit is not None else None
            largest = self.upper(left)
            if largest is None or not right.launch or "tl." in right.text():
                return largest  # no larger than what is divided
            count, rest = (
                polynomial(one_more(largest)).divide(polynomial(right.text())) if right.monomial else (ONE, ONE)
            )
            # As many tiles as cover a size are none where there is nothing to cover: then there is no program either.
            by = f"max(1, {right.text()})" if "cdiv(" in right.text() else _closed(right.text())
            return f"{count} - 1" if rest == Poly() else f"{_closed(largest)} // {by}"
        if symbol.template.partition("(")[0] in ("min", "tl.minimum"):
            known = [text for operand in symbol.operands if (text := self.upper(operand)) is not None]
            # One that a parameter holds says most: the others are where tiles end.
            return next((text for text in known if text.isidentifier()), known[0] if known else None)
        if symbol.template == "tl.where({}, {}, {})":
            return self._chosen(*symbol.operands)
        load = next((load for load in self.facts.loads if load.symbol == symbol), None)
        if load is None or load.pointer is None:
            return None
        if self._values(symbol) is None and (rows := self._rows(load.pointer)) is not None:
            return rows  # where a group begins or ends
        return f"{_closed(self._count(load))} - 1"

    def _chosen(self, condition: Poly, one: Poly, other: Poly) -> str | None:
        """The larger one of two values, of which the first may be bounded by the condition: `where(i < n, i, 0)`."""
        first = self.upper(one)
        asked = condition.alone
        if asked is not None and asked.template == "({} < {})":
            index, end = asked.operands
            if index == one and end.launch and "tl." not in end.text():
                first = f"{_closed(end.text())} - 1"
        second = self.upper(other)
        if first is None or second is None:
            return None
        return first if second == "0" else f"max({first}, {second})"

    def _largest_of(self, options: tuple[Poly, ...]) -> str | None:
        """The largest that one of some scalars can be."""
        each = [self.upper(option) for option in options]
        known = list(dict.fromkeys(text for text in each if text is not None))
        return None if None in each else known[0] if len(known) == 1 else f"max({', '.join(known)})"

    def _last_trip(self, symbol: Symbol) -> str | None:
        """The number of a loop's last trip."""
        loop = next((loop for loop in self.facts.loops if loop.trip == symbol), None)
        if loop is None or loop.start is None or loop.stop is None or loop.step is None:
            return None
        way = self.upper(loop.stop - loop.start)
        if way is None or not loop.step.launch or "tl." in loop.step.text():
            return None
        return f"{way} - 1" if loop.step == ONE else f"cdiv({way}, {loop.step.text()}) - 1"

    def _count(self, load: Load) -> str:
        """How many things a loaded index tells apart; of blocks of indices as many as there are indices."""
        if load.axes and load.pointer in self.elements:
            return self.elements[load.pointer]
        name = f"count_{load.pointer}"
        self.free[name] = None
        return name

    def _loads(self, pointer: str) -> list[Load]:
        return [load for load in self.facts.loads if load.pointer == pointer and not load.axes]

    def _asked(self, load: Load) -> bool:
        return any(
            statement.kind == "branch" and (statement.span == load.statement or load.target in statement.reads)
            for statement in _every(self.facts)
        )

    def _values(self, symbol: Symbol) -> list[str] | None:
        """Values on both sides of what the scalar decides; None where it moves a tile or bounds one."""
        values: list[str] = []
        counted = False
        for _, access in self.facts.accesses:
            for dimension in access.dimensions:
                if counts_tiles(dimension.coordinate, symbol):
                    counted = True
                    continue
                if dimension.extent is not None and symbol in _all(dimension.extent):
                    return None
                if symbol not in _all(dimension.coordinate):
                    continue
                if dimension.axis is not None or dimension.coordinate != Poly.of(symbol):
                    return None
                load = next(load for load in self.facts.loads if load.symbol == symbol)
                values += ["0", f"{self._count(load)} - 1"]
        if counted:
            pointer = next(load.pointer for load in self.facts.loads if load.symbol == symbol) or ""
            self.free[rows_of(pointer)] = None
            return [rows_of(pointer)]
        if any(symbol in _all(bound.index) for store in self.facts.stores for bound in store.bounds):
            return None
        if any(other.offset is not None and symbol in _all(other.offset) for other in self.facts.loads):
            load = next(load for load in self.facts.loads if load.symbol == symbol)
            values += ["0", f"{self._count(load)} - 1"]  # it says where another scalar lies
        if values:
            return values
        for loop in self.facts.loops:
            if loop.stop is not None and symbol in _all(loop.stop):
                trips = self._trips(symbol, loop)
                if trips is None:
                    return None
                values += trips
        if values:
            return values
        for comparison in self.facts.comparisons:
            values += self._around(symbol, comparison.left - comparison.right)
        return values

    def _trips(self, symbol: Symbol, loop: LoopFact) -> list[str] | None:
        """No trip, one, and as many as there are tiles."""
        assert loop.stop is not None
        size = self._walked(symbol, loop) or self._depth()
        quotient, rest = loop.stop.divide(Poly.of(symbol))
        if size is None:
            return None
        if rest == Poly() and quotient.launch:
            unit = f"cdiv({size}, {quotient.text()})" if quotient != ONE else size
            return ["0", "1" if size == self._depth() else f"min(1, {unit})", unit]
        (inner,) = loop.stop.symbols if len(loop.stop.symbols) == 1 else (None,)
        if inner is not None and inner.template == "cdiv({}, {})" and inner.operands[0] == Poly.of(symbol):
            return ["0", "1", size]
        return None

    def _walked(self, symbol: Symbol, loop: LoopFact) -> str | None:
        """How long the longest row is, where the scalar is the length of the one that the loop walks."""
        for _, access in self.facts.accesses:
            for d in access.dimensions:
                if d.axis is not None and d.limit == Poly.of(symbol) and loop.trip in d.coordinate.symbols:
                    return self.extents.get(d.axis)
        return None

    def _depth(self) -> str | None:
        axis = self.facts.dots[0].a.axes[1] if self.facts.dots else None
        return self.extents.get(axis) if axis is not None else None

    def _around(self, symbol: Symbol, difference: Poly) -> list[str]:
        """The threshold of a comparison with zero, and its neighbours."""
        own = dict(difference.terms).get((symbol,), 0)
        others = difference - Poly.of(symbol) * Poly.of(own)
        if abs(own) != 1 or symbol in _all(others):
            return []
        threshold = -others if own == 1 else others
        if threshold.constant is not None:
            return [str(threshold.constant + step) for step in (-1, 0, 1)]
        largest = self.upper(threshold)
        return ["0", largest, one_more(largest)] if largest is not None else []


def offsets_of(facts: Facts, limit: Poly) -> str | None:
    """The pointer from which the end of some rows is read, or from which alone all is that the end is made of."""
    symbols = _all(limit)
    read = {load.pointer for load in facts.loads if load.symbol in symbols}
    return next(iter(read)) if len(read) == 1 and not any(symbol.options for symbol in symbols) else None


def counts_tiles(poly: Poly, symbol: Symbol) -> bool:
    """Whether a scalar occurs in `poly`, and in nothing there but how many tiles cover so many."""
    found = False
    for one in poly.symbols:
        if one == symbol:
            return False
        if one.template == "cdiv({}, {})" and one.operands[0] == Poly.of(symbol):
            found = True
            continue
        for operand in one.operands:
            if symbol in _all(operand):
                if not counts_tiles(operand, symbol):
                    return False
                found = True
    return found


def rows_of(pointer: str) -> str:
    """The size that no parameter holds: how many rows all groups have together."""
    return f"rows_{pointer}"


def _at_the_end(poly: Poly, loop: LoopFact) -> Poly:
    """`poly` with a loop's counter at its last value."""
    if loop.trip not in poly.symbols or loop.start is None or loop.stop is None or loop.step is None:
        return poly
    counter = loop.start + loop.step * Poly.of(loop.trip)
    # A loop over whole steps ends one step before its stop, any other one less than a step before it.
    whole = loop.step.monomial and (loop.stop - loop.start).divide(loop.step)[1] == Poly()
    last = loop.stop - (loop.step if whole else ONE)
    for monomial, coefficient in poly.terms:
        if loop.trip in monomial and coefficient > 0:
            rest = poly - counter * Poly.of(coefficient)
            if loop.trip not in rest.symbols:
                return rest + last * Poly.of(coefficient)
    return poly


def _all(poly: Poly) -> frozenset[Symbol]:
    """The symbols of a polynomial, and those inside them."""
    inner = (_all(operand) for symbol in poly.symbols for operand in symbol.operands)
    return frozenset(poly.symbols).union(*inner)


def _every(facts: Facts) -> list[StatementFact]:
    pending: list[StatementFact] = list(facts.statements)
    found: list[StatementFact] = []
    while pending:
        statement = pending.pop()
        found.append(statement)
        pending += [*statement.body, *statement.orelse]
    return found


def one_more(text: str) -> str:
    """The length of what ends at `text`."""
    if text.isdigit():
        return str(int(text) + 1)
    return text.removesuffix(" - 1") if text.endswith(" - 1") else f"{text} + 1"


def _closed(text: str) -> str:
    return text if re.fullmatch(r"\w+(\([^()]*\))?", text) else f"({text})"
