"""Which loads the producer takes over, and which dots read what it brings in place.

A load whose tile reaches a dot, and whose address is a strided tile of a tensor, can be asked of the TMA. A dot reads
its second operand in place, its first in place or from registers; where the second is computed, the dot stays as the
source has it and its operands pass through registers. A load that anything but such dots reads passes through them too.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any

from ..diagnostics import Decline, Diagnostic
from ..facts import Access, Dot, DotOperand, Facts, Load, Operand, Sum, every
from ..plan import Copied
from ..source import Span
from . import gathering, positions, requirements
from .tree import Tree


@dataclass(frozen=True, slots=True)
class Feed:
    """One load that the producer takes over."""

    load: Load
    access: Access
    #: An operand that it reaches.
    side: DotOperand
    #: Read by dots alone, from the slot.
    in_place: bool
    #: Its rows wrap around where the source's tile does.
    wrapped: bool
    #: No box: the producer's threads copy it.
    copied: Copied | None = None


@dataclass(frozen=True, slots=True)
class Feeding:
    """The loads that the producer takes over, by number, and the dots that read slots in place."""

    feeds: dict[int, Feed]
    dots: tuple[Dot, ...]
    #: Why an operand's load stays with the consumers.
    refused: dict[int, Diagnostic]


def feeding(
    facts: Facts,
    tree: Tree,
    reasons: dict[int, Diagnostic] | None = None,
    by_value: frozenset[str] = frozenset(),
) -> Feeding:
    """The largest such division of the work. `reasons` are refusals that planning a buffer has found.

    `by_value` are names that mean something else besides their tile: what they hold is loaded into registers.
    """
    refused = dict(reasons or {})
    found: dict[int, tuple[DotOperand, Access, bool]] = {}
    copies: dict[int, Copied] = {}
    for dot in facts.dots:
        for side in (dot.a, dot.b):
            for number in _candidates(facts, side):
                if number in refused or number in found:
                    continue
                load = facts.loads[number]
                try:
                    found[number] = (side, *_strided(facts, load, side))
                except Decline as refusal:
                    try:
                        access, copies[number] = gathering.copied(facts, load, refusal)
                        found[number] = (side, access, False)
                    except Decline as final:
                        refused[number] = final.diagnostic
    whole_branches(facts, found, refused)
    in_place = {n for n in found if _alone(facts, n) and facts.loads[n].target not in by_value}
    dots = [dot for dot in facts.dots if _reads_slots(facts, dot)]
    while True:
        dots = [dot for dot in dots if dot.b.load in in_place and not _loads_into_registers(facts, dot, in_place)]
        kept = {number for number in in_place if _only_in(number, facts.dots, dots) and _in_reach(facts, tree, number)}
        if kept == in_place:
            break
        in_place = kept
    feeds = {
        number: Feed(facts.loads[number], access, side, number in in_place, wrapped, copies.get(number))
        for number, (side, access, wrapped) in sorted(found.items())
    }
    return Feeding(feeds, tuple(dots), refused)


def _candidates(facts: Facts, side: DotOperand) -> Iterable[int]:
    """Loads of tiles that reach an operand other than through another dot."""
    if side.load is not None:
        return [side.load]
    parts = {part for load in facts.armed for part in load.parts}
    return () if side.after_dot else [n for n in sorted(side.loads - parts) if facts.loads[n].axes]


def whole_branches(facts: Facts, found: MutableMapping[int, Any], refused: dict[int, Diagnostic]) -> None:
    """Takes back loads that stand for arms whose branch does something else as well: it is replaced whole."""
    while True:
        for number in found:
            load = facts.loads[number]
            if not load.parts:
                continue
            same = [n for n in found if facts.loads[n].statement == load.statement]
            covered = {statement for n in same for statement in _arms(facts, facts.loads[n])}
            branch = facts.statement(load.statement)
            inner = every((*branch.body, *branch.orelse))
            other = next((s for s in inner if s.kind != "branch" and s.span not in covered), None)
            alone = branch.kind == "branch" and load.target is not None
            if (alone and other is not None) or (not alone and branch.binds != {load.target}):
                name = next((text for span, text in facts.conditions if span == branch.span), "a condition")
                why = "its arms do more than load one tile"
                refused[number] = Diagnostic.of("TLX304", load.span, condition=name, why=why)
                del found[number]
                break
        else:
            return


def _strided(facts: Facts, load: Load, side: DotOperand) -> tuple[Access, bool]:
    """The tile behind a load, and whether its rows wrap around. Raises Decline TLX104, TLX2xx."""
    access = requirements.strided(facts, load, side.text)
    positions.begin_inside(facts, access, load)
    return access, requirements.rows_are_independent(facts, access, load)


def _arms(facts: Facts, load: Load) -> Iterable[Span]:
    """The statements that load a tile in one arm each."""
    if not load.parts:
        return [load.statement]
    return [span for part in load.parts for span in _arms(facts, facts.loads[part])]


def _alone(facts: Facts, number: int) -> bool:
    """Whether dots alone look at the loaded tile."""
    load = facts.loads[number]
    sides = [side for dot in facts.dots for side in (dot.a, dot.b) if number in side.loads]
    # A role puts statements of its own in the place of this one: nothing else may be bound there.
    bound = facts.statement(load.statement).binds
    if not load.parts and bound != {load.target} and load.statement not in {dot.statement for dot in facts.dots}:
        return False
    return load.other_use is None and all(side.load == number for side in sides if not side.after_dot or side.load)


def _reads_slots(facts: Facts, dot: Dot) -> bool:
    """Whether a wgmma computes exactly this dot, whatever its operands are."""
    if dot.helpers or not dot.dtypes:
        return False
    if any(other.statement == dot.statement and other.span != dot.span for other in facts.dots):
        return False
    inside = {creator.span for axis in facts.axes for creator in axis.creators}
    written = dot.a.how is not Operand.COMPUTED or not any(dot.a.span.contains(span) for span in inside)
    return written and not (dot.sum is Sum.RESCALED and any(dot.statement.contains(span) for span in inside))


def _loads_into_registers(facts: Facts, dot: Dot, in_place: set[int]) -> bool:
    """Whether the first operand's expression holds a load whose tile does not stay in its slot."""
    if dot.a.load in in_place:
        return False
    return any(facts.loads[number].statement == dot.statement for number in dot.a.loads)


def _only_in(number: int, everything: Iterable[Dot], slots: Iterable[Dot]) -> bool:
    reading = [dot for dot in everything if number in (dot.a.load, dot.b.load)]
    return all(dot in slots for dot in reading)


def _in_reach(facts: Facts, tree: Tree, number: int) -> bool:
    """Whether every dot that reads the slot stands in the block of the load, or deeper."""
    block = tree.block(facts.loads[number].statement)
    reading = [dot for dot in facts.dots if number in (dot.a.load, dot.b.load)]
    return all(tree.within(dot.statement, block) is not None for dot in reading)
