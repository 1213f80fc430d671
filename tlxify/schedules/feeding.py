"""Which loads the producer takes over, and which dots read what it brings in place.

A load whose tile reaches a dot, and whose address is a strided tile of a tensor, can be asked of the TMA. A dot reads
its second operand in place, its first in place or from registers; where the second is computed, a role of its own does
that and the dot reads what it wrote (transforming.py), or else the dot stays as the source has it and its operands pass
through registers. What such a dot reads in place, and something else looks at as well, is loaded into registers beside
that.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any

from ..diagnostics import Decline, Diagnostic
from ..facts import Access, Dot, DotOperand, Facts, Load, Operand, StatementFact, Sum, every
from ..plan import Copied
from ..source import Span
from . import gathering, masking, positions, requirements, transforming
from .tree import Tree


@dataclass(frozen=True, slots=True)
class Feed:
    """One load that the producer takes over."""

    load: Load
    access: Access
    #: An operand that it reaches.
    side: DotOperand
    #: Read by dots from the slot.
    in_place: bool
    #: Loaded into registers beside that: something else looks at it.
    looked_at: bool
    #: Its rows wrap around where the source's tile does.
    wrapped: bool
    #: What a descriptor cannot mask: the consumers mask the tile in registers.
    unmasked: Diagnostic | None = None
    #: No box: the producer's threads copy it.
    copied: Copied | None = None


@dataclass(frozen=True, slots=True)
class Feeding:
    """The loads that the producer takes over, by number, and the dots that read slots in place."""

    feeds: dict[int, Feed]
    dots: tuple[Dot, ...]
    #: Why an operand's load stays with the consumers.
    refused: dict[int, Diagnostic]
    #: The dot, one of `dots`, whose second operand a role of its own computes.
    computed: transforming.Computed | None = None
    #: Why no role can.
    uncomputed: Diagnostic | None = None


def feeding(
    facts: Facts,
    tree: Tree,
    reasons: dict[int, Diagnostic] | None = None,
    by_value: frozenset[str] = frozenset(),
    *,
    transformed: bool = True,
) -> Feeding:
    """The largest such division of the work. `reasons` are refusals that planning a buffer has found.

    `by_value` are names that mean something else besides their tile: what they hold is loaded into registers, for
    others than the dots. Without `transformed`, no role computes operands.
    """
    refused = dict(reasons or {})
    found: dict[int, _Found] = {}
    asked = transforming.computed(facts, tree) if transformed else None
    computed = asked if isinstance(asked, transforming.Computed) else None
    for dot in facts.dots:
        for side in (dot.a, dot.b):
            for number in _candidates(facts, side):
                if number in refused or number in found:
                    continue
                load = facts.loads[number]
                if computed is not None and side is computed.dot.b and number not in computed.raw:
                    continue  # a row of scales: the role that computes loads it as the source does
                try:
                    found[number] = _strided(facts, load, side)
                except Decline as refusal:
                    refused[number] = refusal.diagnostic
    whole_branches(facts, found, refused)
    if computed is not None and not computed.raw <= found.keys():
        computed = None
    plain = {n for n, one in found.items() if one.unmasked is None}
    alone = {n for n in plain if _alone(facts, n) and facts.loads[n].target not in by_value}
    raw = computed.raw if computed is not None else frozenset()
    by_name = {n for n in plain - raw if _by_name(facts, n)}
    in_place = alone | by_name
    dots = [dot for dot in facts.dots if _reads_slots(facts, dot)]
    while True:
        if computed is not None and (computed.dot not in dots or computed.dot.a.load not in in_place):
            why = "the first operand is not read in place, from a slot"
            asked = Diagnostic.of("TLX305", computed.dot.b.span, name=computed.dot.b.text, why=why)
            computed = None
        mine = computed.dot if computed is not None else None
        dots = [dot for dot in dots if dot.b.load in in_place or dot is mine]
        dots = [dot for dot in dots if not _loads_into_registers(facts, dot, in_place)]
        kept = {n for n in in_place if _read(n, dots) and _in_reach(tree, facts.loads[n], _read(n, dots))}
        kept -= {n for n in kept - by_name if _read(n, dots) != _read(n, facts.dots)}
        if kept == in_place:
            break
        in_place = kept
    looked_at = {n for n in in_place if n not in alone or _read(n, dots) != _read(n, facts.dots)}
    feeds = {
        number: Feed(
            facts.loads[number],
            one.access,
            one.side,
            number in in_place,
            number in looked_at,
            one.wrapped,
            one.unmasked,
            one.copied,
        )
        for number, one in sorted(found.items())
    }
    return Feeding(feeds, tuple(dots), refused, computed, asked if isinstance(asked, Diagnostic) else None)


@dataclass(frozen=True, slots=True)
class _Found:
    """A load that the TMA can be asked for; as in `Feed`."""

    side: DotOperand
    access: Access
    wrapped: bool
    unmasked: Diagnostic | None = None
    copied: Copied | None = None


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
            branch = facts.statement(load.statement)
            inner = every((*branch.body, *branch.orelse))
            covered = _covered(facts, branch, [facts.loads[n] for n in same])
            apart = (s for s in inner if s.kind != "branch" and s.span not in covered)
            other = next((s for s in apart if not _serves(facts, branch, s)), None)
            alone = branch.kind == "branch" and load.target is not None
            if (alone and other is not None) or (not alone and branch.binds != {load.target}):
                name = next((text for span, text in facts.conditions if span == branch.span), "a condition")
                why = "its arms do more than load one tile"
                refused[number] = Diagnostic.of("TLX304", load.span, condition=name, why=why)
                del found[number]
                break
        else:
            return


def _covered(facts: Facts, branch: StatementFact, loads: list[Load]) -> set[Span]:
    """The statements of a branch that load the tiles that one load each stands for, and that name them."""
    names = {load.target for load in loads}
    covered = {statement for load in loads for statement in _arms(facts, load)}
    carried = {span for load in loads for part in load.parts for span in facts.loads[part].carried}
    covered |= {span for span in carried if facts.statement(span).binds <= names}
    # What else they name is lost with the branch.
    return {
        span for span in covered if branch.span.contains(span) and _lost(facts, branch, facts.statement(span), names)
    }


def _lost(facts: Facts, branch: StatementFact, statement: StatementFact, names: set[str | None]) -> bool:
    """Whether nothing outside of a branch reads what a statement in it binds, but for the tiles' own `names`."""
    others = statement.binds - names
    return not any(s.reads & others for s in every(facts.statements) if not branch.span.contains(s.span))


def _serves(facts: Facts, branch: StatementFact, statement: StatementFact) -> bool:
    """Whether a statement of a branch only works out what its loads need: how much is left, what is masked."""
    outside = (s for s in every(facts.statements) if not branch.span.contains(s.span))
    simple = statement.kind == "simple" and statement.text_kind == "assign"
    return simple and not any(s.reads & statement.binds for s in outside)


def _strided(facts: Facts, load: Load, side: DotOperand) -> _Found:
    """The tile behind a load, as a box, as threads copy it, or as a box that the consumers mask.

    Raises Decline TLX104, TLX2xx, TLX321, TLX322.
    """
    try:
        access = requirements.strided(facts, load, side.text)
        positions.begin_inside(facts, access, load)
        return _Found(side, access, requirements.rows_are_independent(facts, access, load))
    except Decline as refusal:
        try:
            access, copied = gathering.copied(facts, load, refusal)
            return _Found(side, access, wrapped=False, copied=copied)
        except Decline as final:
            access = masking.within_memory(facts, load, refusal, final)
            positions.begin_inside(facts, access, load)
            wrapped = requirements.rows_are_independent(facts, access, load)
            return _Found(side, access, wrapped, unmasked=refusal.diagnostic)


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


def _by_name(facts: Facts, number: int) -> bool:
    """Whether the tile has a name of its own: two can stand for it, one of what lies in the slot, one of its values."""
    load = facts.loads[number]
    named = load.target is not None and (bool(load.parts) or facts.statement(load.statement).binds == {load.target})
    return named and None not in load.axes


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


def _read(number: int, dots: Iterable[Dot]) -> list[Dot]:
    """The dots, of these, that have the tile as an operand."""
    return [dot for dot in dots if number in (dot.a.load, dot.b.load)]


def _in_reach(tree: Tree, load: Load, reading: Iterable[Dot]) -> bool:
    """Whether every dot that reads the slot stands in the block of the load, or deeper."""
    block = tree.block(load.statement)
    return all(tree.within(dot.statement, block) is not None for dot in reading)
