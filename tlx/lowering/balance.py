"""Bytes announced on a barrier against bytes that copies bring to it, block of code by block of code.

Both happen as often as the block that they stand in, so a block with as much of one as of the other is right by
itself. If blocks differ, others may make up for it: an announcement for a whole loop of copies, or one task that
announces what others bring. But where all blocks that differ do so in the same direction, nothing can.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .irtext import Op

#: a block of code: the operations around it, and which of their blocks it is
_Block = tuple[tuple[Op, ...], int]


@dataclass(frozen=True, slots=True)
class Event:
    """One announcement, or one copy."""

    op: Op
    #: the allocation of the barrier
    root: str
    #: the barrier's number in it, if that is a constant
    slot: int | None
    #: bytes
    size: int
    announces: bool
    #: what its predicate is, if that is a constant
    pred: bool | None
    #: the value that it is
    under: str = ""

    @property
    def block(self) -> _Block:
        """Where it stands."""
        return self.op.parents, self.op.block


@dataclass(frozen=True, slots=True)
class Imbalance:
    """A block whose announcements and copies differ."""

    announced: tuple[Event, ...]
    brought: tuple[Event, ...]

    @property
    def excess(self) -> int:
        """Bytes announced that do not come; negative if more come."""
        return sum(event.size for event in self.announced) - sum(event.size for event in self.brought)


def _barriers(events: Sequence[Event]) -> Iterator[list[Event]]:
    """The events of each barrier, or of all of one allocation if not all of their numbers are known."""
    roots: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        roots[event.root].append(event)
    for members in roots.values():
        if any(event.slot is None for event in members):
            yield members
            continue
        slots: dict[int | None, list[Event]] = defaultdict(list)
        for event in members:
            slots[event.slot].append(event)
        yield from slots.values()


def imbalances(events: Sequence[Event]) -> Iterator[Imbalance]:
    """For each barrier whose bytes cannot come out even, the first block to blame."""
    for members in _barriers(events):
        certain = [event for event in members if event.pred is not False]
        # One predicate may leave out what another does not; but of copies alone, none may be there.
        one = len({(event.under, event.block) for event in certain}) == 1
        if not one and any(event.announces for event in certain) and any(event.pred is None for event in certain):
            continue
        blocks: dict[_Block, list[Event]] = defaultdict(list)
        for event in certain:
            blocks[event.block].append(event)
        uneven = []
        for inside in blocks.values():
            announced = tuple(event for event in inside if event.announces)
            found = Imbalance(announced, tuple(event for event in inside if not event.announces))
            if found.excess:
                uneven.append(found)
        if uneven and (all(found.excess > 0 for found in uneven) or all(found.excess < 0 for found in uneven)):
            yield uneven[0]
