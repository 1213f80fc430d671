"""What is settled before the rings are: whether tiles are looped over, and whether consumer groups divide the rows."""

from __future__ import annotations

from dataclasses import dataclass

from ..facts import Axis, Facts, LoopFact
from ..plan import Creator, Persistence, Split
from ..targets import Target
from .naming import Names
from .order import used_names


@dataclass(frozen=True, slots=True)
class Frame:
    """Everything that buffers, guard and roles of one plan have in common."""

    facts: Facts
    target: Target
    names: Names
    #: The loop that the dots stand in, and what its counter is called in the converted kernel.
    loop: LoopFact
    variable: str
    persistence: Persistence | None
    split: Split | None
    #: The axis whose rows are divided.
    split_axis: Axis | None


def frame(
    facts: Facts, parameters: tuple[str, ...], names: Names, target: Target, loop: LoopFact, persistent: bool
) -> Frame:
    """The frame of a plan. Persistence and splitting are choices: where one is not possible, the plan goes without."""
    # A loop that does not need its counter may call it `_`; here it is read.
    named = loop.variable is None or loop.variable.strip("_") != ""
    variable = loop.variable or "" if named else names.fresh("k")
    persistence = _persistence(facts, parameters, names, loop) if persistent else None
    axis = _split_axis(facts, parameters)
    return Frame(facts, target, names, loop, variable, persistence, _split(axis, names) if axis else None, axis)


def _persistence(facts: Facts, parameters: tuple[str, ...], names: Names, loop: LoopFact) -> Persistence | None:
    """A tile loop, where each program id and count is of a literal axis and stands in the kernel itself.

    One in the head of the dot loop stays as it is: the bounds are repeated elsewhere as the source wrote them.
    """
    calls = (*facts.program_ids, *facts.num_programs)
    if not facts.program_ids or any(axis is None or helpers for _, axis, helpers in calls):
        return None
    if any("program_id" in text or "num_programs" in text for text in loop.text):
        return None
    rank = 1 + max(axis for _, axis, _ in calls if axis is not None)
    extents = tuple(f"GRID_{axis}" for axis in range(rank))
    if used_names(facts, parameters) & set(extents):
        return None  # the launcher knows no other names for them
    for name in extents:
        names.exactly(name)
    return Persistence(rank, extents, names.fresh("tile"))


def _split_axis(facts: Facts, parameters: tuple[str, ...]) -> Axis | None:
    """The rows of all dots, where every creator of their axis is known and nothing combines them."""
    rows = {dot.a.axes[0] for dot in facts.dots}
    number = next(iter(rows)) if len(rows) == 1 else None
    if number is None:
        return None
    axis = facts.axis(number)
    combined = axis.contracted or axis.reduced or axis.opaque or axis.doubled
    if combined or axis.fixed or axis.length.text() not in parameters:
        return None
    if any(number not in store.axes for store in facts.stores):
        return None  # every group would do it: not the same where it updates what it stores
    return axis


def _split(axis: Axis, names: Names) -> Split:
    creators = tuple(Creator(creator.kind, creator.span) for creator in axis.creators if creator.kind != "block")
    return Split(axis.length.text(), names.fresh("ROWS"), names.fresh("group"), creators)
