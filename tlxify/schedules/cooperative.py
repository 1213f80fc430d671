"""Cooperative: one producer fills a ring by TMA, consumer warp groups share every tile, each with its own rows.

Facts × target → Plan, or a refusal. One dot per accumulator stays in flight: the slot of a trip is released when the next
trip's dot has been issued and the older one has retired (`conversion.md`, "one dot in flight"; at least two stages).
With `persistent`, program ids become a tile loop, so that the producer fetches the next tile while this one is finished.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..diagnostics import Decline
from ..facts import Access, Axis, Dimension, Dot, DotOperand, Facts, Load, LoopFact, Operand
from ..plan import (
    Barrier,
    Buffer,
    Creator,
    DotStep,
    Edge,
    LaunchGuard,
    Persistence,
    Plan,
    Ring,
    Split,
    Stored,
    Task,
    View,
    decoded,
)
from ..poly import Poly, Symbol
from ..source import Span
from ..targets import Target
from . import requirements
from .naming import Names, stem
from .slicing import Reads, keep
from .writing import write_for_guard, write_in_scope

#: Statements without a value or effect that go wherever the consumer goes: they check and promise.
_CHECKS = frozenset({"static_assert", "assume", "docstring"})


@dataclass(frozen=True, slots=True)
class _Feed:
    """One load that feeds dots."""

    load: Load
    access: Access
    side: DotOperand


def plan(
    facts: Facts, parameters: tuple[str, ...], taken: frozenset[str], target: Target, *, persistent: bool = True
) -> Plan:
    """The plan for a kernel with one dot loop. Raises Decline with the first requirement that does not hold.

    `parameters` are the kernel's, in order; `taken` are all names that it or its module uses.
    """
    loop = requirements.dot_loop(facts)
    requirements.effects(facts, loop)
    feeds: dict[int, _Feed] = {}
    for dot in facts.dots:
        for side in (dot.a, dot.b):
            load, access = requirements.operand(facts, dot, side)
            feeds.setdefault(load.id, _Feed(load, access, side))
    requirements.accumulators(facts, loop)
    wrapped = [feed for feed in feeds.values() if requirements.rows_are_independent(facts, feed.access, feed.load)]
    return _Planner(facts, parameters, Names(taken), target, loop, feeds, persistent).build(wrapped)


class _Planner:
    def __init__(
        self,
        facts: Facts,
        parameters: tuple[str, ...],
        names: Names,
        target: Target,
        loop: LoopFact,
        feeds: dict[int, _Feed],
        persistent: bool,
    ) -> None:
        self.facts, self.parameters, self.names, self.target = facts, parameters, names, target
        self.loop, self.feeds = loop, feeds
        # A loop that does not need its counter may call it `_`; here it is read.
        self.variable = (
            names.fresh("k") if loop.variable is not None and not loop.variable.strip("_") else loop.variable or ""
        )
        self.persistence = self._persistence() if persistent else None
        self.split = self._split()

    def build(self, wrapped: list[_Feed]) -> Plan:
        names, facts = self.names, self.facts
        buffers = {number: self._buffer(feed) for number, feed in self.feeds.items()}
        dots = tuple(self._dot(dot, buffers) for dot in facts.dots)
        ring = self._ring(tuple(buffers.values()), dots)
        introduced = {
            purpose: names.fresh(purpose)
            for purpose in (
                "slot",
                "filled",
                "used",
                "STAGES",
                "CONSUMERS",
                "CONSUMER_WARPS",
                "CONSUMER_REGISTERS",
                "SLOT_BYTES",
            )
        }
        producer = keep(facts.statements, self._producer_roots(ring))
        consumer = keep(facts.statements, self._consumer_roots(ring), self._effects())
        consumers = introduced["CONSUMERS"] if self.split else "1"
        barriers = (
            Barrier(ring.full, "1", "producer", "consumer", "the slot holds its tiles"),
            Barrier(ring.empty, consumers, "consumer", "producer", "the slot may be overwritten"),
        )
        tasks = (
            Task("producer", str(self.target.producer_warps), None, None, producer),
            Task(
                "consumer",
                introduced["CONSUMER_WARPS"],
                introduced["CONSUMER_REGISTERS"],
                introduced["CONSUMERS"] if self.split else None,
                consumer,
            ),
        )
        tiles = " + ".join(b.name for b in ring.buffers)
        return Plan(
            kernel=facts.kernel,
            parameters=self.parameters,
            converted=names.fresh(f"_{facts.kernel.strip('_')}_ws"),
            schedule="cooperative",
            target=self.target.name,
            ring=ring,
            barriers=barriers,
            tasks=tasks,
            edges=(Edge("producer", "consumer", ring.full, tiles), Edge("consumer", "producer", ring.empty, tiles)),
            split=self.split,
            persistence=self.persistence,
            guard=self._guard(tuple(buffers.values()), dots),
            program_ids=self._calls(facts.program_ids),
            num_programs=self._calls(facts.num_programs),
            names=tuple(introduced.items()),
            notes=self._notes(wrapped),
        )

    # ---- persistence

    def _persistence(self) -> Persistence | None:
        calls = (*self.facts.program_ids, *self.facts.num_programs)
        if not self.facts.program_ids or any(axis is None or helpers for _, axis, helpers in calls):
            return None
        rank = 1 + max(axis for _, axis, _ in calls if axis is not None)
        extents = tuple(self.names.fresh(f"GRID_{axis}") for axis in range(rank))
        return Persistence(rank, extents, self.names.fresh("tile"))

    def _calls(self, calls: tuple[tuple[Span, int | None, tuple[str, ...]], ...]) -> tuple[tuple[Span, int], ...]:
        if self.persistence is None:
            return ()
        return tuple((span, axis) for span, axis, _ in calls if axis is not None)

    # ---- rows

    def _split(self) -> Split | None:
        """Rows may be divided where every creator of their axis is known and nothing combines them (a choice, not a need)."""
        rows = {dot.a.axes[0] for dot in self.facts.dots}
        if len(rows) != 1 or None in rows:
            return None
        axis: Axis = self.facts.axis(next(number for number in rows if number is not None))
        length = axis.length.text()
        if axis.contracted or axis.reduced or axis.opaque or axis.doubled or length not in self.parameters:
            return None
        return Split(
            length,
            self.names.fresh("ROWS"),
            self.names.fresh("group"),
            tuple(Creator(c.kind, c.span) for c in axis.creators),
        )

    # ---- rings

    def _buffer(self, feed: _Feed) -> Buffer:
        load, access = feed.load, feed.access
        tile = [d for d in access.dimensions if d.axis is not None]
        if len(tile) != 2:
            raise Decline("TLX201", load.span, name=access.pointer, why=f"its tile has {len(tile)} axes instead of 2")
        lengths = [self._length(d, load) for d in tile]
        requirements.tile_fits(self.target, *self._rows_and_depth(lengths, feed), load.span)
        split_axis = (
            next((self.facts.axis(n).id for n in (d.a.axes[0] for d in self.facts.dots) if n is not None), None)
            if self.split
            else None
        )
        split = next((i for i, d in enumerate(tile) if d.axis == split_axis), None)
        texts, reads = [], set[str]()
        scope = self._scope(load)
        for dimension in access.dimensions:
            written = write_in_scope(dimension.coordinate, scope)
            if written is None:
                raise Decline(
                    "TLX201",
                    load.span,
                    name=access.pointer,
                    why=f"no name holds its coordinate `{dimension.coordinate}`",
                )
            text = written.text
            if self.split and split is not None and dimension is tile[split]:
                offset = f"{self.split.rows} * {self.split.group}"
                text = offset if text == "0" else f"{text} + {offset}"
            texts.append(text)
            reads |= written.reads
        view = self._view(access, load)
        name = self.names.fresh(f"{load.target or stem(access.pointer)}_ring")
        return Buffer(
            name, view, (lengths[0], lengths[1]), split, tuple(texts), frozenset(reads), load.span, load.statement
        )

    def _scope(self, load: Load) -> tuple[tuple[str, Poly], ...]:
        """What coordinates may be written with: program ids as they are decoded, then names, the latest last."""
        calls = []
        for axis in dict.fromkeys(axis for _, axis, _ in self.facts.program_ids if axis is not None):
            text = decoded(self.persistence, axis) if self.persistence is not None else f"tl.program_id({axis})"
            calls.append((text, Poly.of(Symbol(f"tl.program_id({axis})"))))
        if self.persistence is not None:
            held = self.persistence.extents
            calls += [(name, Poly.of(Symbol(f"tl.num_programs({axis})"))) for axis, name in enumerate(held)]
        names = ((self.variable if name == self.loop.variable else name, value) for name, value in load.scope)
        return (*calls, *names)

    def _rows_and_depth(self, lengths: list[str], feed: _Feed) -> tuple[str, str]:
        transposed = feed.side.how is Operand.TRANSPOSED
        first, second = reversed(lengths) if transposed else lengths
        is_a = any(dot.a.load == feed.load.id for dot in self.facts.dots)
        return (first, second) if is_a else ("", first)

    def _length(self, dimension: Dimension, load: Load) -> str:
        assert dimension.axis is not None
        length = self.facts.axis(dimension.axis).length
        if not length.constexpr:
            raise Decline("TLX403", load.span, name=length.text())
        return length.text()

    def _view(self, access: Access, load: Load) -> View:
        strides, shape = [], []
        for dimension in access.dimensions:
            stride = write_for_guard(dimension.stride)
            extent = write_for_guard(dimension.extent) if dimension.extent is not None else None
            if stride is None or (extent is None and dimension.extent is not None):
                raise Decline("TLX207", load.span, what="stride" if stride is None else "extent", name=access.pointer)
            strides.append(stride)
            shape.append(extent)
        if "1" not in strides[-2:] and any(s.isdigit() for s in strides[-2:]):
            raise Decline("TLX201", load.span, name=access.pointer, why="no axis of its tile can have stride 1")
        name = stem(access.pointer)
        flag = None if strides[-1] == "1" else self.names.fresh(f"{name.upper()}_TRANSPOSED")
        return View(self.names.fresh(f"{name}_desc"), access.pointer, tuple(shape), tuple(strides), flag)

    def _dot(self, dot: Dot, buffers: dict[int, Buffer]) -> DotStep:
        assert dot.accumulator is not None
        assert dot.a.load is not None
        assert dot.b.load is not None
        return DotStep(
            dot.span,
            dot.statement,
            dot.accumulator,
            buffers[dot.a.load].name,
            buffers[dot.b.load].name,
            dot.a.how is Operand.TRANSPOSED,
            dot.b.how is Operand.TRANSPOSED,
        )

    def _ring(self, buffers: tuple[Buffer, ...], dots: tuple[DotStep, ...]) -> Ring:
        loop = self.loop
        nested = len(self.facts.dots[0].loops) > 1
        running = self.persistence is not None or nested
        start, stop, step = loop.text
        if loop.step is None or (loop.step.constant is not None and loop.step.constant <= 0):
            raise Decline("TLX104", loop.span, what=f"a loop with the step `{step}`")
        return Ring(
            loop=loop.span,
            buffers=buffers,
            dots=dots,
            full=self.names.fresh("full"),
            empty=self.names.fresh("empty"),
            variable=self.variable,
            start=start,
            stop=stop,
            counted_by_loop=not running and start == "0" and step == "1",
            reused=running,
        )

    # ---- roles

    def _producer_roots(self, ring: Ring) -> dict[Span, Reads]:
        roots: dict[Span, Reads] = {}
        for buffer in ring.buffers:
            held = roots.get(buffer.statement, Reads(frozenset()))
            roots[buffer.statement] = Reads(held.reads | buffer.reads)
        return roots

    def _consumer_roots(self, ring: Ring) -> dict[Span, Reads]:
        # A tile that arrives through the ring is read by its dot alone: the statement that loaded it binds nothing here.
        return {dot.statement: Reads(frozenset({dot.accumulator}), frozenset({dot.accumulator})) for dot in ring.dots}

    def _effects(self) -> frozenset[Span]:
        stores = {store.statement for store in self.facts.stores}
        checks = {s.span for s in self.facts.statements if s.text_kind in _CHECKS}
        return frozenset(stores | checks)

    def _notes(self, wrapped: list[_Feed]) -> tuple[tuple[Span, str], ...]:
        """Says at the store why nothing wraps around any more."""
        if not wrapped:
            return ()
        extents = dict.fromkeys(
            d.extent.text() for feed in wrapped for d in feed.access.dimensions if d.wrapped and d.extent is not None
        )
        text = f"Positions past {' and '.join(extents)} are masked: what the TMA fills with zeros there never reaches memory."
        return tuple((store.statement, text) for store in self.facts.stores[:1])

    # ---- guard

    def _guard(self, buffers: tuple[Buffer, ...], dots: tuple[DotStep, ...]) -> LaunchGuard:
        parameter = {buffer.name: buffer.view.parameter for buffer in buffers}
        groups = tuple(dict.fromkeys(tuple(dict.fromkeys((parameter[dot.a], parameter[dot.b]))) for dot in dots))
        stored: list[Stored] = []
        for store in self.facts.stores:
            access = self.facts.access(store.span)
            if access is None:
                continue
            extents = [write_for_guard(d.extent) if d.extent is not None else None for d in access.dimensions]
            strides = [write_for_guard(d.stride) for d in access.dimensions]
            if None not in strides:
                stored.append(Stored(access.pointer, tuple(extents), tuple(s or "" for s in strides)))
        return LaunchGuard(tuple(b.view for b in buffers), groups, self.target.dot_dtypes, tuple(dict.fromkeys(stored)))
