"""Both arms of every condition that only memory decides.

Worlds choose such outcomes by their seed. Where one condition stands inside another, as behind two early returns, all
of them may happen to choose the same arm; then worlds are followed besides that are led to the other one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from .world import World

#: Arms that are looked for besides, at most.
_MORE = 16
#: Ways to such arms that are followed in every world, at most.
_WAYS = 2

#: By line of an `if` and key of what it asks, in the order in which they were asked: the answer.
Decided = Mapping[tuple[int, str], bool]
#: The answers that lead somewhere, by line.
Way = dict[int, bool]


def both_ways(worlds: Iterable[World], decided: Decided) -> Iterator[World]:
    """The worlds, and more for the arms that none of them takes. `decided` says what the last one came to."""
    given: list[World] = []
    taken: set[tuple[int, bool]] = set()
    #: By arm, the last world that stood before it, for the last is the longest, and how it came there.
    missed: dict[tuple[int, bool], tuple[World, Way]] = {}

    def note(world: World) -> None:
        taken.update((line, outcome) for (line, _), outcome in decided.items())
        way: Way = {}
        seen = set()
        for (line, _), outcome in decided.items():
            if (arm := (line, not outcome)) not in seen:
                seen.add(arm)
                missed[arm] = world, {**way, line: not outcome}
            way[line] = outcome

    for world in worlds:
        yield world
        given.append(world)
        note(world)
    tried: set[tuple[int, bool]] = set()
    ways: list[Way] = []
    while len(tried) < _MORE and (arm := next((one for one in missed if one not in taken | tried), None)):
        tried.add(arm)
        world, way = missed[arm]
        other = _along(world, way)
        yield other
        note(other)
        if arm in taken:
            # One way may lead further along another.
            ways = [one for one in ways if not one.items() <= way.items()] + [way]
    # What lies in such an arm has its trip counts and ring depths as well.
    for way in ways[-_WAYS:]:
        yield from (_along(world, way) for world in given)


def _along(world: World, way: Way) -> World:
    return replace(world, way=way, label=f"{world.label}, led to line {next(reversed(way))}")
