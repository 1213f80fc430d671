"""Kernel → Facts: each file answers one question about the code; `analyze` asks them all."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ..diagnostics import Decline, Diagnostic
from ..facts import (
    Access,
    BlockAccess,
    BlockAxis,
    Dot,
    DotOperand,
    Facts,
    HostDescriptor,
    Load,
    LoadText,
    Operand,
    Operation,
    RowBound,
    Store,
    Sum,
)
from ..model import Branch, Kernel, Statement, walk
from ..poly import Poly
from ..source import Span
from .access import REPEATED, describe, zero_fill
from .accumulate import Use, use_of
from .alternatives import rebased
from .bounds import settle
from .boxes import Box, describe_box
from .chosen import pointers_chosen
from .conditions import comparisons
from .defuse import asks, names, names_beside, statement_facts
from .elements import added_apart, added_in, operand_dtypes
from .events import DotEvent, LoadEvent, OperationEvent, StoreEvent
from .floats import Floats
from .interpret import Interpreter
from .pointers import pointer_test
from .units import unit_strides
from .values import DOT, MISSING, Value
from .widths import wide_names

__all__ = ["analyze"]


def analyze(kernel: Kernel, assumed: Mapping[str, object] | None = None) -> Facts:
    """Everything the converter may rely on. Raises Decline where the kernel cannot be followed at all.

    `assumed` fixes constexpr parameters (`{"IS_VARLEN": False}`) and integers (`{"stride_ak": 1}`): only the arms that
    are taken then are interpreted, and the facts hold for launches with these values alone. `Facts.undecided` and
    `Facts.units` name the ones worth fixing.
    """
    pointers = frozenset[str]()
    while True:
        interpreter = Interpreter(kernel.module, pointers)
        interpreter.run(kernel, assumed or {})
        assembly = _Assembly(kernel, interpreter, assumed or {})
        # Which parameters are pointers shows in the end: what a flag chooses between must be numbers.
        found = pointers_chosen(interpreter.events.chosen, assembly.is_pointer)
        if found <= pointers:
            return assembly.facts()
        pointers |= found


class _Assembly:
    """Turns what the interpreter recorded into facts."""

    def __init__(self, kernel: Kernel, interpreter: Interpreter, assumed: Mapping[str, object]) -> None:
        self.kernel = kernel
        self.assumed = assumed
        # Without an assumption every arm belongs to the kernel, also one that no launch takes.
        settled = interpreter.events.settled.items() if assumed else ()
        self.settled = {span: arm for span, arm in settled if arm is not None}
        self.events = interpreter.events
        self.axes = interpreter.axes
        self.problems: list[tuple[Span, Diagnostic]] = []
        lengths = {s for axis in self.axes.freeze() for s in axis.length.symbols}
        self.tiles = frozenset(s for s in lengths if s.constexpr)
        self.hosted = interpreter.descriptors.boxes
        self.is_pointer = pointer_test(kernel, self.events, frozenset(self.hosted))
        self.floats = Floats(kernel)
        self.nodes = {node.span: node.node for node in walk(kernel.body) if isinstance(node, Statement)}

    def facts(self) -> Facts:
        loads, stores = self.events.loads, self.events.stores
        # A load of several arms is asked for by the place of one of them: what is said of all of them comes first.
        touched: list[LoadEvent | StoreEvent] = [*sorted(loads, key=lambda event: not event.parts), *stores]
        written = tuple(self._store(event) for event in stores)
        axes = self.axes.freeze()
        by_number = {axis.id: axis for axis in axes}
        accesses = [
            (event.place.span, settle(access, by_number.__getitem__, written))
            for event in touched
            if (event.address.axes or isinstance(event, StoreEvent)) and (access := self._access(event)) is not None
        ]
        dots = tuple(self._dot(event) for event in self.events.dots)
        return Facts(
            kernel=self.kernel.name,
            axes=axes,
            loops=tuple(self.events.loops),
            loads=tuple(self._load(event) for event in loads),
            stores=written,
            dots=dots,
            accesses=tuple(accesses),
            program_ids=tuple(self.events.program_ids),
            num_programs=tuple(self.events.num_programs),
            returns=tuple(place.span for place in self.events.returns),
            statements=statement_facts(self.kernel.body, self.settled),
            conditions=tuple(
                (n.span, ast.unparse(n.node.test)) for n in walk(self.kernel.body) if isinstance(n, Branch)
            ),
            block_tests=tuple(sorted(self.events.block_tests)),
            comparisons=comparisons(self.events),
            effects=tuple((place.span, what) for place, what in self.events.effects),
            elementwise=tuple(dict.fromkeys((place.statement, name) for place, name in self.events.elementwise)),
            operations=tuple(operation for event in self.events.operations for operation in self._operation(event)),
            problems=tuple(self.problems),
            casts=tuple(sorted(self.events.casts)),
            wide=wide_names(self.kernel.body),
            blocks=tuple(block for event in touched if (block := self._block(event)) is not None),
            assumed=tuple(sorted(self.assumed.items())),
            settled=tuple(sorted(self.settled.items())),
            thresholds=tuple(self.events.thresholds),
            undecided=tuple(self.events.undecided),
            hosted=tuple(self._hosted(name, box.axes) for name, box in self.hosted.items()),
            units=tuple(dict.fromkeys(name for event in loads for name in unit_strides(event.address))),
        )

    def _access(self, event: LoadEvent | StoreEvent) -> Access | None:
        span = event.place.span
        try:
            called = (event.target if isinstance(event, LoadEvent) else None) or "the tile"
            address = replace(event.address, axes=self._roots(event.address.axes))
            if any(map(self.axes.torn, address.axes)):
                raise Decline("TLX201", span, name=called, why="how long one of its axes is depends on a branch")
            if event.box is not None:
                box = replace(event.box, axes=address.axes)
                access = describe_box(box, event.checked, span, self._pointer(address), self.tiles, called)
            else:
                access = describe(address, event.mask, span, self.is_pointer, self.tiles, called)
            # Where it lies is known all the same: that matters to whoever makes the memory, not to a ring.
            if isinstance(event, LoadEvent) and not zero_fill(event.other):
                self.problems.append((span, self._not_zero(access, event)))
            if access.gathered:
                self.problems.append((span, Diagnostic.of("TLX202", span, name=access.pointer)))
            if isinstance(event, LoadEvent) and event.volatile:
                self.problems.append((span, Diagnostic.of("TLX213", span, name=access.pointer)))
            if any(dimension.divisor is not None for dimension in access.dimensions):
                why = "a division of a tile axis"
                self.problems.append((span, Diagnostic.of("TLX208", span, name=access.pointer, why=why)))
            return access
        except Decline as decline:
            self.problems.append((span, decline.diagnostic))
            if isinstance(event, LoadEvent) and dict(decline.diagnostic.facts).get("why") == REPEATED:
                # No ring can hold it, but how far the memory reaches is known.
                return describe(address, event.mask, span, self.is_pointer, self.tiles, called, repeated=True)
            return None

    def _not_zero(self, access: Access, event: LoadEvent) -> Diagnostic:
        other = event.other
        told = other is not None and other.poly is not None and other.literal is not MISSING
        value = other.literal if told and other is not None else "something else"
        return Diagnostic.of("TLX205", event.place.span, name=access.pointer, value=value)

    def _load(self, event: LoadEvent) -> Load:
        depends_on = event.address.loads | (event.mask.loads if event.mask else frozenset())
        return Load(
            id=event.id,
            span=event.place.span,
            statement=event.place.statement,
            target=event.target,
            pointer=self._pointer(event.address),
            loops=event.place.loops,
            branches=event.place.branches,
            arms=event.place.arms,
            helpers=event.place.helpers,
            axes=self._roots(event.address.axes),
            scope=event.scope,
            other_use=self.events.other_uses.get(event.id),
            depends_on=depends_on - {DOT},
            after_dot=DOT in depends_on,
            beside=self._beside(event.place.statement, event.place.span),
            mask_reads=_mask_reads(event),
            filled=not zero_fill(event.other),
            block_pointer=event.box is not None and not event.box.descriptor,
            descriptor=self._made_here(event.box),
            offset=self._offset(event),
            offset_end=self._offset_end(event),
            parts=event.parts,
            carried=event.carried,
            symbol=event.symbol,
            written=_written(event),
        )

    def _store(self, event: StoreEvent) -> Store:
        return Store(
            span=event.place.span,
            statement=event.place.statement,
            kind=event.kind,
            pointer=self._pointer(event.address),
            loops=event.place.loops,
            branches=event.place.branches,
            helpers=event.place.helpers,
            axes=self._roots(event.address.axes),
            value=event.value_span,
            bounds=self._bounds(event.mask),
            block_pointer=event.box is not None and not event.box.descriptor,
            descriptor=self._made_here(event.box),
            element=event.value.element,
        )

    def _beside(self, statement: Span, *without: Span) -> frozenset[str]:
        node = self.nodes.get(statement)
        return names_beside(node, without) if node is not None else frozenset()

    def _dot(self, event: DotEvent) -> Dot:
        use, asked = (
            use_of(self.nodes.get(event.place.statement), event, self.kernel),
            dict(event.options).get("out_dtype"),
        )
        if use.sum in (Sum.ADDED, Sum.RESCALED) and added_apart(asked, given=event.accumulator is not None):
            use = Use(Sum.WITHIN)
        elements = dict(event.elements)
        onto = (
            ""
            if event.accumulator is not None
            else (use.result or "")
            if use.sum in (Sum.ADDED, Sum.RESCALED)
            else None
        )
        dtypes = operand_dtypes(use.sum, "" if onto is None else elements.get(onto), asked)
        operands = (Span.of(event.a_node), Span.of(event.b_node))
        return Dot(
            span=event.place.span,
            statement=event.place.statement,
            loops=event.place.loops,
            branches=event.place.branches,
            arms=event.place.arms,
            helpers=event.place.helpers,
            a=self._operand(event.a, event.a_node),
            b=self._operand(event.b, event.b_node),
            accumulator=use.result if use.sum is Sum.ADDED else None,
            options=event.options,
            sum=use.sum,
            result=use.result,
            addend=use.addend,
            beside=self._beside(event.place.statement, *operands),
            dtypes=dtypes,
            rounded=added_in(dtypes, asked),
        )

    def _operand(self, value: Value, node: ast.expr) -> DotOperand:
        how = Operand.COMPUTED
        if value.origin.kind == "load":
            how = Operand.TRANSPOSED if value.origin.transposed else Operand.DIRECT
        text = ast.unparse(node)
        narrowed = self.floats.narrowed(node)
        return DotOperand(
            how,
            Span.of(node),
            text,
            value.origin.load,
            self._roots(value.axes),
            value.loads - {DOT},
            DOT in value.loads,
            names(node, ast.Load),
            asks(node),
            None if narrowed is None else (ast.unparse(narrowed[0]), ast.unparse(narrowed[1])),
        )

    def _operation(self, event: OperationEvent) -> Iterator[Operation]:
        """What is done to data; positions, bounds and addresses are none."""
        value, place = event.value, event.place
        bounded = value.bounds is not None and not value.partial
        if not (value.affine or bounded or self._pointer(value) is not None):
            axes = self._roots(value.axes)
            yield Operation(event.name, place.statement, place.loops, place.branches, place.arms, axes)

    def _block(self, event: LoadEvent | StoreEvent) -> BlockAccess | None:
        call, box, place = event.call, event.box, event.place
        if call is None or box is None or place.helpers or not call.args:
            return None
        if box.descriptor:
            return self._described(event, call, box) if self._made_here(box) else None
        keywords = {keyword.arg: keyword.value for keyword in call.keywords}
        if len(call.args) > (1 if isinstance(event, LoadEvent) else 2) or None in keywords:
            return None  # checks that are given by position
        pointer = Span.of(call.args[0])
        padding = keywords.get("padding_option")
        return BlockAccess(
            span=Span.of(call),
            pointer=pointer,
            statement=place.statement,
            loads=isinstance(event, LoadEvent),
            base=box.base,
            axes=tuple(
                BlockAxis(offset, stride, extent if i in event.checked else None, self._root(axis))
                for i, (offset, stride, extent, axis) in enumerate(
                    zip(box.offsets, box.strides, box.shape, box.axes, strict=True)
                )
            ),
            zeros=isinstance(padding, ast.Constant) and padding.value == "zero",
            scope=event.scope,
            beside=self._beside(place.statement, pointer),
        )

    def _made_here(self, box: Box | None) -> bool:
        """Whether a block is one of a descriptor that the kernel makes: a caller's has no pointer to go by."""
        return box is not None and box.descriptor and self._root_name(box) not in self.hosted

    def _root_name(self, box: Box) -> str | None:
        symbol = next(iter(box.base.symbols), None)
        return symbol.name if symbol is not None and box.base == Poly.of(symbol) else None

    def _described(self, event: LoadEvent | StoreEvent, call: ast.Call, box: Box) -> BlockAccess | None:
        """An access by a method of a descriptor, its offsets and what is stored given by position."""
        loads, function = isinstance(event, LoadEvent), call.func
        if not isinstance(function, ast.Attribute) or call.keywords or len(call.args) != (1 if loads else 2) or box.nan:
            return None
        if function.attr in ("atomic_max", "atomic_min"):
            return None  # of 16-bit floats pointers have neither
        descriptor = Span.of(function.value)
        axes = zip(box.offsets, box.strides, box.shape, box.axes, strict=True)
        return BlockAccess(
            span=Span.of(call),
            pointer=descriptor,
            statement=event.place.statement,
            loads=loads,
            base=box.base,
            axes=tuple(BlockAxis(offset, stride, extent, self._root(axis)) for offset, stride, extent, axis in axes),
            zeros=loads,
            scope=event.scope,
            beside=self._beside(event.place.statement, descriptor, Span.of(call.args[0])),
            method=function.attr,
        )

    def _hosted(self, name: str, axes: tuple[int | None, ...]) -> HostDescriptor:
        uses = [n for n in ast.walk(self.kernel.node) if isinstance(n, ast.Name) and n.id == name]
        asked = (n for n in ast.walk(self.kernel.node) if isinstance(n, ast.Attribute) and n.attr in ("load", "dtype"))
        plain = [n.value for n in asked if isinstance(n.value, ast.Name)]
        return HostDescriptor(name, self._roots(axes), all(any(use is other for other in plain) for use in uses))

    def _root(self, axis: int | None) -> int | None:
        return None if axis is None else self.axes.find(axis)

    def _bounds(self, mask: Value | None) -> tuple[RowBound, ...]:
        if mask is None:
            return ()
        always = (bound for bound in mask.bounds or () if not bound.waived)
        pairs = ((mask.axis(bound.dim), bound.index) for bound in always)
        return tuple(RowBound(self.axes.find(axis), index) for axis, index in pairs if axis is not None)

    def _roots(self, axes: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return tuple(None if axis is None else self.axes.find(axis) for axis in axes)

    def _offset(self, event: LoadEvent) -> Poly | None:
        pointer, poly = self._pointer(event.address), self._based(event.address).poly
        if event.address.axes or pointer is None or poly is None:
            return None
        return poly - Poly.of(next(symbol for symbol in poly.symbols if symbol.name == pointer))

    def _offset_end(self, event: LoadEvent) -> Poly | None:
        """`n` of a scalar load at `i` under the mask `i < n`."""
        offset = self._offset(event)
        mask = event.mask.poly if event.mask is not None else None
        symbol = mask.alone if mask is not None else None
        if offset is None or symbol is None or symbol.template != "({} < {})":
            return None
        index, end = symbol.operands
        return end if index == offset and end.launch else None

    def _based(self, address: Value) -> Value:
        return address if address.poly is None else replace(address, poly=rebased(address.poly, self.is_pointer))

    def _pointer(self, address: Value) -> str | None:
        poly = self._based(address).poly
        if poly is None and address.spread is not None:
            poly = address.spread.poly
        if poly is None:
            return None
        names = [m[0].name for m, c in poly.terms if c == 1 and len(m) == 1 and self.is_pointer(m[0])]
        return names[0] if len(names) == 1 else None


def _mask_reads(event: LoadEvent) -> frozenset[str] | None:
    if event.mask_node is None or event.place.helpers:
        return None
    other = names(event.other_node, ast.Load) if event.other_node is not None else frozenset[str]()
    return names(event.mask_node, ast.Load) | other


def _written(event: LoadEvent) -> LoadText | None:
    if event.arguments is None:
        return None
    address, mask = event.arguments
    reads = names(address, ast.Load) | (names(mask, ast.Load) if mask is not None else frozenset())
    return LoadText(Span.of(address), Span.of(mask) if mask is not None else None, reads)
