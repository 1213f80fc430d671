"""Loads that the producer takes over → the places where slots are filled and freed, and the rings that serve them.

Tiles that one dot reads together share a slot, if their loads stand in one block with no loop between them: the slot
is waited for where the first tile is loaded, and the loop may need more slots than there are before the second one is.
A slot is freed in the block that fills it, behind the last statement that looks at it, so every way through the kernel
frees what it fills. Places that fill equal tiles one after the other share a ring.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..facts import Dot, Facts
from ..source import Span
from .buffers import Placed
from .feeding import Feeding
from .tree import Block, Tree


@dataclass(frozen=True, slots=True)
class Place:
    """Loads that share a slot, by number, in source order, and where nothing reads the slot any more."""

    loads: tuple[int, ...]
    block: Block
    loops: tuple[Span, ...]
    first: Span
    release: Span
    #: Some dot reads it in a deeper loop: it stays while that loop runs.
    resident: bool
    #: Numbers of the first and the last statement between which it holds a slot.
    holds: tuple[int, int]

    def overlaps(self, other: Place) -> bool:
        """Whether both hold a slot at the same time."""
        return self.holds[0] <= other.holds[1] and other.holds[0] <= self.holds[1]


def places(facts: Facts, tree: Tree, feeding: Feeding) -> tuple[Place, ...]:
    """The places that fill slots, in source order."""
    groups: list[set[int]] = []
    for number, feed in feeding.feeds.items():
        near = {number}
        for dot in feeding.dots:
            pair = {n for n in (dot.a.load, dot.b.load) if n in feeding.feeds and feeding.feeds[n].in_place}
            if number in pair and feed.in_place:
                near |= {n for n in pair if _together(facts, tree, number, n)}
        touching = [group for group in groups if group & near]
        groups = [group for group in groups if not group & near] + [near.union(*touching)]
    found = [_place(facts, tree, feeding, tuple(sorted(group))) for group in groups]
    return tuple(sorted(found, key=lambda place: place.holds))


def shared(places: Iterable[Place], placed: dict[int, Placed], *, looped: bool) -> Iterator[tuple[bool, list[Place]]]:
    """Places grouped by the ring that serves them, each with whether the ring holds tiles that stay.

    `looped` says that slots are filled in loops; where they are not, tiles of the kernel itself pass through stages.
    """
    rings: list[tuple[tuple[object, ...], list[Place]]] = []
    for place in places:
        stays = looped and (place.resident or not place.loops)
        key: tuple[object, ...] = (stays, *((placed[n].view, placed[n].tile, placed[n].split) for n in place.loads))
        ring = next((held for same, held in rings if same == key and not any(place.overlaps(o) for o in held)), None)
        if ring is None:
            rings.append((key, [place]))
        else:
            ring.append(place)
    for key, ring in rings:
        yield bool(key[0]), ring


def _together(facts: Facts, tree: Tree, first: int, second: int) -> bool:
    one, other = (facts.loads[number].statement for number in (first, second))
    if tree.block(one) != tree.block(other):
        return False
    begin, end = sorted((tree.begin(one), tree.begin(other)))
    return not any(begin < tree.begin(loop.span) < end for loop in facts.loops)


def _place(facts: Facts, tree: Tree, feeding: Feeding, numbers: tuple[int, ...]) -> Place:
    loads = [facts.loads[number] for number in numbers]
    block = tree.block(loads[0].statement)
    reading = [dot for dot in feeding.dots if _reads(dot, numbers, feeding)]
    last = [tree.within(span, block) for span in (*(d.statement for d in reading), *(x.statement for x in loads))]
    release = max((span for span in last if span is not None), key=tree.begin)
    resident = any(dot.loops != loads[0].loops for dot in reading)
    first = min((load.statement for load in loads), key=tree.begin)
    holds = (tree.begin(first), tree.end(release))
    return Place(numbers, block, loads[0].loops, first, release, resident, holds)


def _reads(dot: Dot, numbers: tuple[int, ...], feeding: Feeding) -> bool:
    return any(n in numbers and feeding.feeds[n].in_place for n in (dot.a.load, dot.b.load) if n in feeding.feeds)
