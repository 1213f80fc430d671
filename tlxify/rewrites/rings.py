"""The rings and barriers at the top of a converted kernel.

What: one allocation per operand, a pair of barrier arrays, and the bytes of a slot.
Why: shared memory and barriers exist before the tasks do; here a reader learns what each is for.
Before: nothing; the source leaves shared memory to the compiler.
After: `a_ring = tlx.local_alloc((BLOCK_M, BLOCK_K), tlx.dtype_of(a_desc), STAGES)` for each operand, then
`full = tlx.alloc_barriers(STAGES, …)`.
When refused: never; sizes that do not fit are refused at the launch.
"""

from __future__ import annotations

from ..plan import Plan, Ring, Transform
from .turns import barriers


def rings(plan: Plan, tl: str) -> str:
    """Allocations, with what each is for."""
    split, stages = plan.split, plan.name("STAGES")
    lines = []
    buffers = [buffer for _, buffer in plan.buffers()]
    shared = [b.name for b in buffers if b.split is None or split is None]
    own = [b.name for b in buffers if b.split is not None and split is not None]
    lines.append(f"# Rings of {stages} slots, filled by the producer and freed by the consumers.")
    if own and shared:
        rows = split.rows if split else ""
        lines.append(
            f"# {listed(own)}: one tile of {rows} rows per consumer group; {listed(shared)}: one tile for all."
        )
    staying = [b.name for ring, b in plan.buffers() if ring.depth == "1"]
    if staying:
        lines.append(f"# {listed(staying)}: a single slot, whose tile stays while a whole loop reads it.")
    if plan.transform is not None:
        raw = listed([buffer.name for ring, buffer in plan.buffers() if ring.transformed])
        lines.append(f"# {raw}: freed by the transform, which fills {plan.transform.name} from it.")
    if split is not None:
        lines.append(f"{split.rows}: {tl}.constexpr = {split.length} // {plan.name('CONSUMERS')}")
    for ring in plan.rings:
        lines += _one(plan, ring, tl)
    if plan.transform is not None:
        lines += _computed(plan, plan.transform)
    if any(ring.lagging is not None for ring in plan.rings):
        lines.append("# Copies of so many later slots are under way while a slot is announced.")
        lines.append(f"{plan.name('BEHIND')}: {tl}.constexpr = {stages} - 2 if {stages} > 2 else 0")
    lines += barriers(plan, tl)
    return "\n".join(lines)


def _one(plan: Plan, ring: Ring, tl: str) -> list[str]:
    depth = plan.name(ring.depth) if ring.depth != "1" else ring.depth
    lines, split = [], plan.split
    for buffer in ring.buffers:
        sides = list(buffer.tile)
        count = depth
        if buffer.split is not None and split is not None:
            sides[buffer.split] = split.rows
            count = plan.name("CONSUMERS") if depth == "1" else f"{depth} * {plan.name('CONSUMERS')}"
        shape = f"({sides[0]}, {sides[1]})"
        if buffer.view.copied is not None and buffer.view.copied.swapped:
            shape = f"({sides[1]}, {sides[0]})"
        if buffer.view.flag:
            shape = f"({sides[1]}, {sides[0]}) if {buffer.view.flag} else {shape}"
        lines.append(f"{buffer.name} = tlx.local_alloc({shape}, tlx.dtype_of({buffer.view.descriptor}), {count})")
    lines += _barriers(plan, ring, depth)
    if ring.described:
        # Tiles that share a slot are operands of one dot, and so of one dtype.
        elements = _elements([buffer.tile for buffer in ring.described])
        size = f"tlx.size_of(tlx.dtype_of({ring.described[0].view.descriptor}))"
        lines.append(f"{ring.bytes}: {tl}.constexpr = {elements} * {size}")
    return lines


#: What a role is called in a comment.
_CALLED = {"producer": "producer", "consumer": "consumers", "transform": "transform"}


def _barriers(plan: Plan, ring: Ring, depth: str) -> list[str]:
    lines = []
    for barrier in plan.barriers:
        if barrier.name in (ring.full, ring.empty):
            lines.append(f"# {_CALLED[barrier.arrives]} → {_CALLED[barrier.waits]}: {barrier.meaning}.")
            lines.append(f"{barrier.name} = tlx.alloc_barriers({depth}, arrive_count={barrier.arrivals})")
    return lines


def _computed(plan: Plan, one: Transform) -> list[str]:
    """The ring of blocks that a role computes, of the dtype that the dot's other operand has."""
    depth = plan.name(one.slots.depth)
    dtype = f"tlx.dtype_of({one.like.descriptor})"
    lines = [f"{one.name} = tlx.local_alloc(({one.tile[0]}, {one.tile[1]}), {dtype}, {depth})"]
    return lines + _barriers(plan, one.slots, depth)


def listed(names: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def _elements(tiles: list[tuple[str, str]]) -> str:
    """Elements of one slot, as a product where the tiles share a side: `(BLOCK_M + BLOCK_N) * BLOCK_K`."""
    for side in tiles[0]:
        if all(side in tile for tile in tiles) and len(tiles) > 1:
            others = [tile[1] if tile[0] == side else tile[0] for tile in tiles]
            return f"({' + '.join(others)}) * {side}"
    total = " + ".join(f"{rows} * {columns}" for rows, columns in tiles)
    return f"({total})" if len(tiles) > 1 else total
