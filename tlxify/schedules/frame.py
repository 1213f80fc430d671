"""What is settled before the rings are: whether tiles are looped over, and whether consumer groups divide the rows."""

from __future__ import annotations

from dataclasses import dataclass

from ..facts import Axis, AxisId, Facts, Load, every
from ..plan import Creator, Persistence, Split
from ..poly import Poly, Symbol
from ..source import Span
from ..targets import Target
from .naming import Names
from .order import used_names


@dataclass(frozen=True, slots=True)
class Frame:
    """Everything that buffers, guard and roles of one plan have in common."""

    facts: Facts
    target: Target
    names: Names
    #: Loops whose counter is read here though the source calls it `_`: what it is called in the converted kernel.
    counters: dict[Span, str]
    persistence: Persistence | None
    split: Split | None
    #: The axis whose rows are divided.
    split_axis: Axis | None
    #: What stays of accesses through descriptors is written with pointers.
    spelled: bool = True


def frame(
    facts: Facts,
    parameters: tuple[str, ...],
    names: Names,
    target: Target,
    filling: frozenset[Span],
    *,
    persistent: bool,
    balanced: bool,
    divided: bool,
    spelled: bool,
    whole: frozenset[AxisId] = frozenset(),
) -> Frame:
    """The frame of a plan. Persistence and splitting are choices: where one is not possible, the plan goes without.

    Rows along axes that are to stay `whole` are not divided: threads copy all of a tile at once.
    `filling` are the loops in which slots are filled; where their trips differ from tile to tile, `balanced` tiles are
    not looped over. Without `divided`, one group takes all rows of a tile. Without
    `spelled`, accesses through descriptors stay as they are.
    """
    unread = [loop for loop in facts.loops if loop.span in filling and loop.variable and not loop.variable.strip("_")]
    counters = {loop.span: names.fresh("k") for loop in unread}
    looped = persistent and not (balanced and unequal_trips(facts, filling))
    persistence = _persistence(facts, parameters, names, filling) if looped else None
    axis = _split_axis(facts, parameters) if divided else None
    if axis is not None and (axis.id in whole or (axis.boxed and not spelled)):
        axis = None
    split = _split(axis, names) if axis else None
    return Frame(facts, target, names, counters, persistence, split, axis, spelled)


def unequal_trips(facts: Facts, filling: frozenset[Span]) -> bool:
    """Whether a loop that fills slots makes more trips in one program than in another, by the program's id: causal.

    Trips whose number is read from memory do not count: often they are none, and a tile loop passes over those fast.
    """
    bounds = [(loop.start, loop.stop) for loop in facts.loops if loop.span in filling and loop.kind == "range"]
    return any(
        _depends_on_program(stop - start) and not _equal_shares(start, stop)
        for start, stop in bounds
        if start is not None and stop is not None
    )


def _equal_shares(start: Poly, stop: Poly) -> bool:
    """Whether a loop takes a share as long as any other, but for the last: from `i * share` to `min(… + share, n)`."""
    ends = [symbol for symbol in stop.symbols if symbol.template == "tl.minimum({}, {})"]
    if len(ends) != 1 or stop != Poly.of(ends[0]):
        return False
    return any(not _depends_on_program(end - start) for end in ends[0].operands if _depends_on_program(end))


def _depends_on_program(scalar: Poly) -> bool:
    return any(_by_program(symbol) for symbol in scalar.symbols)


def _by_program(symbol: Symbol) -> bool:
    """Whether a scalar is, or is computed from, the id of the program."""
    inner = (one for operand in symbol.operands for one in operand.symbols)
    return symbol.name.startswith("tl.program_id(") or any(map(_by_program, inner))


def _persistence(
    facts: Facts, parameters: tuple[str, ...], names: Names, filling: frozenset[Span]
) -> Persistence | None:
    """A tile loop, where each program id and count is of a literal axis and stands in the kernel itself.

    One in the head of a loop that fills slots stays as it is: its bounds are repeated elsewhere as the source wrote
    them.
    """
    calls = (*facts.program_ids, *facts.num_programs)
    if not facts.program_ids or any(axis is None or helpers for _, axis, helpers in calls):
        return None
    heads = [text for loop in facts.loops if loop.span in filling for text in loop.text]
    if any("program_id" in text or "num_programs" in text for text in heads):
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
    if any(dot.statement.contains(read.span) for dot in facts.dots for read in axis.reads):
        return None  # what is left of a dot's statement is the source's text
    if axis.reads and any(axis.length.text() in statement.binds for statement in every(facts.statements)):
        return None  # its name may mean something else where it is to stand for the length
    if any(number not in store.axes for store in facts.stores):
        return None  # every group would do it: not the same where it updates what it stores
    if any(what == "tl.debug_barrier" for _, what in facts.effects):
        return None  # a group's barrier holds up that group alone
    if any(_reads_others_rows(facts, load, number) for load in facts.loads):
        return None
    return axis


def _reads_others_rows(facts: Facts, load: Load, rows: AxisId) -> bool:
    """Whether a load may see what another consumer group has stored: it has rows of its own only if none is split."""
    stores = [store for store in facts.stores if store.pointer == load.pointer or load.pointer is None]
    access = facts.access(load.span)
    return any(access is None or rows not in load.axes or access != facts.access(store.span) for store in stores)


def _split(axis: Axis, names: Names) -> Split:
    creators = tuple(Creator(creator.kind, creator.span) for creator in axis.creators if creator.kind != "block")
    length, rows, group = axis.length.text(), names.fresh("ROWS"), names.fresh("group")
    reads = tuple((read.span, read.text.format(length=length, rows=rows)) for read in axis.reads)
    return Split(length, rows, group, creators, reads)
