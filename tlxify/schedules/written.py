"""Block pointers and descriptors that stay in a role → ordinary pointers with a mask.

Either is a base, and per axis an offset, a stride, a length and perhaps a checked bound: `base + Σ (offset +
position)·stride`, masked by the bounds. Positions are 64 bits wide, as a block pointer's are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..diagnostics import Decline
from ..facts import BlockAccess, BlockAxis, Facts, Load, Store
from ..plan import WrittenOut
from ..poly import ONE, ZERO, Poly
from ..source import Span
from .buffers import scope_of
from .frame import Frame
from .positions import never_negative
from .slicing import Reads
from .writing import Written, write_in_scope


@dataclass(frozen=True, slots=True)
class Rewritten:
    """An access that is written out, and what its statement then reads."""

    access: WrittenOut
    reads: frozenset[str]


def written_out(frame: Frame, fed: frozenset[Span], replaced: frozenset[Span]) -> tuple[Rewritten, ...]:
    """Every access through a block pointer but the loads `fed` by rings, and through descriptors where the frame asks.

    `replaced` are statements that get other text of ours. Raises Decline TLX209 where one cannot be written.
    """
    facts = frame.facts
    known = {block.span: block for block in facts.blocks}
    loads = [load for load in facts.loads if load.span not in fed and not load.parts]
    accesses: list[Load | Store] = [*loads, *facts.stores]
    spans = [one.span for one in accesses if one.block_pointer or (frame.spelled and one.descriptor)]
    return tuple(_one(frame, known.get(span), span, replaced) for span in spans)


def reads(found: tuple[Rewritten, ...], facts: Facts) -> dict[Span, Reads]:
    """What the statements read once they are written out; what made and moved the block pointers goes."""
    places = ((one.access.statement, one.reads) for one in found)
    return {statement: Reads(read, facts.statement(statement).binds) for statement, read in places}


def _one(frame: Frame, block: BlockAccess | None, span: Span, replaced: frozenset[Span]) -> Rewritten:
    if block is None or block.statement in replaced:
        raise Decline("TLX209", span, name="the tile", why="it loads no operand of a ring, and cannot be written out")
    used: set[str] = set(block.beside)
    loops = tuple(loop.span for loop in frame.facts.loops if loop.span.contains(block.statement))
    scope = scope_of(frame, block.scope, loops)

    def text(poly: Poly, what: str) -> str:
        written: Written | None = write_in_scope(poly, scope)
        if written is None:
            raise Decline("TLX209", span, name="the tile", why=f"no name holds its {what} `{poly}`")
        used.update(written.reads)
        return written.text

    stem = "stored" if not block.loads else "loaded"
    names = _names(len(block.axes), stem)
    positions, steps, tests = [], [], []
    for number, axis in enumerate(block.axes):
        if axis.extent is not None and not never_negative(frame.facts, axis.offset):
            raise Decline("TLX209", span, name="the tile", why=f"`{axis.offset}` may be negative")
        name = frame.names.fresh(names[number])
        positions.append((name, _positions(frame, axis, text)))
        place = _placed(name, number, len(block.axes))
        wide = f"{place}.to(tl.int64)"
        steps.append(wide if axis.stride == ONE else f"{wide} * {_factor(text(axis.stride, 'stride'))}")
        if axis.extent is not None:
            tests.append(f"({place} < {text(axis.extent, 'extent')})")
    mask = " & ".join(tests) if len(tests) > 1 else tests[0][1:-1] if tests else None
    pointer = " + ".join([text(block.base, "base"), *steps])
    other = "0.0" if block.zeros and mask is not None else None
    access = WrittenOut(block.span, block.statement, tuple(positions), pointer, mask, other, block.method)
    return Rewritten(access, frozenset(used))


def _positions(frame: Frame, axis: BlockAxis, text: Callable[[Poly, str], str]) -> str:
    offset = "" if axis.offset == ZERO else f"{text(axis.offset, 'offset')} + "
    length = "1" if axis.axis is None else frame.facts.axis(axis.axis).length.text()
    if frame.split and frame.split_axis and axis.axis == frame.split_axis.id:
        return f"{offset}{frame.split.rows} * {frame.split.group} + tl.arange(0, {frame.split.rows})"
    return f"{offset}tl.arange(0, {length})"


def _names(rank: int, stem: str) -> list[str]:
    known = {1: ["positions"], 2: ["rows", "columns"]}
    return [f"{stem}_{name}" for name in known.get(rank, [f"axis_{i}" for i in range(rank)])]


def _placed(name: str, number: int, rank: int) -> str:
    if rank == 1:
        return name
    return f"{name}[{', '.join(':' if i == number else 'None' for i in range(rank))}]"


def _factor(text: str) -> str:
    return text if text.isidentifier() or text.isdigit() else f"({text})"
