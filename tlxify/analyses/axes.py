"""Which axes of block values are one axis: a union-find over where axes are created.

An `arange` has no identity of its own: it is the position along its axis. A broadcast, a dot or a store that puts two
axes side by side makes them one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..facts import Axis, AxisId, Creator, LengthRead
from ..poly import Poly, Symbol

#: Axes of a block value, None where the length is one.
Axes = tuple[AxisId | None, ...]


@dataclass(slots=True)
class _Group:
    length: Poly
    creators: dict[Creator, None] = field(default_factory=dict)
    reads: dict[LengthRead, None] = field(default_factory=dict)
    contracted: bool = False
    reduced: bool = False
    opaque: bool = False
    doubled: bool = False
    fixed: bool = False
    boxed: bool = False
    #: Made of axes of two lengths in an arm that not every compilation takes, or where one length is one of several:
    #: elsewhere they are two.
    torn: bool = False


class AxisTable:
    """All axes of one kernel while it is interpreted."""

    def __init__(self) -> None:
        self._parent: list[AxisId] = []
        self._groups: dict[AxisId, _Group] = {}
        self._by_creator: dict[tuple[Creator, int], AxisId] = {}
        #: The tests of the arms that are being interpreted, of those that the compilation settles.
        self.arms: list[Poly] = []
        #: Those of them that decide whether axes of two lengths are one.
        self.deciding: dict[Poly, None] = {}

    def create(self, length: Poly, creator: Creator | None, depth: int = 0) -> AxisId:
        """The axis that `creator` makes; interpreting a loop body twice makes it once."""
        if creator is not None and (creator, depth) in self._by_creator:
            return self._by_creator[creator, depth]
        if any(symbol.chosen for symbol in length.symbols):
            # Of two lengths a kernel is two kernels: rows are divided, and slots filled, by one.
            length = Poly.of(Symbol(length.text()))
        number = len(self._parent)
        self._parent.append(number)
        self._groups[number] = _Group(length, {creator: None} if creator else {})
        if creator is not None:
            self._by_creator[creator, depth] = number
        return number

    def find(self, axis: AxisId) -> AxisId:
        """The representative of an axis."""
        while self._parent[axis] != axis:
            self._parent[axis] = self._parent[self._parent[axis]]
            axis = self._parent[axis]
        return axis

    def union(self, first: AxisId, second: AxisId) -> AxisId:
        """Makes two axes one."""
        keep, drop = sorted((self.find(first), self.find(second)))
        if keep == drop:
            return keep
        kept, dropped = self._groups[keep], self._groups.pop(drop)
        if kept.length != dropped.length and not any(_unsaid(group.length) for group in (kept, dropped)):
            # One of them may be a single element that is repeated: what makes it is no place to divide rows at.
            kept.fixed = True
            if self.arms or not (kept.length.launch and dropped.length.launch):
                kept.torn = True
                self.deciding.update(dict.fromkeys(self.arms))
        self._parent[drop] = keep
        kept.creators.update(dropped.creators)
        kept.reads.update(dropped.reads)
        if dropped.length.constexpr and not kept.length.constexpr:
            kept.length = dropped.length  # the block of a caller's descriptor may not say how long it is
        for flag in ("contracted", "reduced", "opaque", "doubled", "fixed", "boxed", "torn"):
            setattr(kept, flag, getattr(kept, flag) or getattr(dropped, flag))
        return keep

    def fit(self, first: Axes, second: Axes) -> bool:
        """Whether two shapes can be broadcast to one, as far as their lengths are written alike."""
        pairs = zip(reversed(first), reversed(second), strict=False)
        return all(a is None or b is None or self.length(a) == self.length(b) for a, b in pairs)

    def unrelated(self, axes: Axes) -> Axes:
        """As many axes, of the same lengths, that have to do with no others."""
        made = tuple(None if axis is None else self.create(self.length(axis), None) for axis in axes)
        for axis in made:
            self.mark(axis, "opaque", "fixed")
        return made

    def mark(self, axis: AxisId | None, *flags: str) -> None:
        """Sets flags ("contracted", "reduced", "opaque", "fixed", "boxed") on an axis."""
        if axis is not None:
            for flag in flags:
                setattr(self._groups[self.find(axis)], flag, True)

    def read(self, axis: AxisId | None, read: LengthRead) -> None:
        """Notes a place where the source asks for the length of an axis."""
        if axis is not None:
            self._groups[self.find(axis)].reads[read] = None

    def broadcast(self, *shapes: Axes) -> Axes:
        """The axes of an elementwise operation: ranks align at the right, equal positions become one axis."""
        rank = max((len(shape) for shape in shapes), default=0)
        result: list[AxisId | None] = [None] * rank
        for shape in shapes:
            for position, axis in enumerate(shape, start=rank - len(shape)):
                if axis is None:
                    continue
                held = result[position]
                result[position] = self.find(axis) if held is None else self.union(held, axis)
        axes = tuple(None if axis is None else self.find(axis) for axis in result)
        self.check_doubled(axes)
        return axes

    def torn(self, axis: AxisId | None) -> bool:
        """Whether an axis is one in some compilations alone: then nothing is known of what has it."""
        return axis is not None and self._groups[self.find(axis)].torn

    def check_doubled(self, axes: Axes) -> None:
        """Marks an axis that one value has twice."""
        roots = [self.find(axis) for axis in axes if axis is not None]
        for root in set(roots):
            if roots.count(root) > 1:
                self._groups[root].doubled = True

    def length(self, axis: AxisId) -> Poly:
        """Positions along an axis."""
        return self._groups[self.find(axis)].length

    def freeze(self) -> tuple[Axis, ...]:
        """The facts about all axes."""
        return tuple(
            Axis(
                number,
                g.length,
                tuple(g.creators),
                g.contracted,
                g.reduced,
                g.opaque,
                g.doubled,
                g.fixed,
                g.boxed,
                tuple(g.reads),
            )
            for number, g in sorted(self._groups.items())
        )


def _unsaid(length: Poly) -> bool:
    """Whether it is the length of the block of a caller's descriptor, which only the launch tells."""
    return length.launch and not length.constexpr
