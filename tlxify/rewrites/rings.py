"""The rings and barriers at the top of a converted kernel.

What: one allocation per operand, a pair of barrier arrays, and the bytes of a slot.
Why: shared memory and barriers exist before the tasks do; here a reader learns what each is for.
Before: nothing; the source leaves shared memory to the compiler.
After: `a_ring = tlx.local_alloc((BLOCK_M, BLOCK_K), tlx.dtype_of(a_desc), STAGES)` for each operand, then
`full = tlx.alloc_barriers(STAGES, …)`.
When refused: never; sizes that do not fit are refused at the launch.
"""

from __future__ import annotations

from ..plan import Plan


def rings(plan: Plan, tl: str) -> str:
    """Allocations, with what each is for."""
    ring, split, stages = plan.ring, plan.split, plan.name("STAGES")
    lines = []
    shared = [b.name for b in ring.buffers if b.split is None or split is None]
    own = [b.name for b in ring.buffers if b.split is not None and split is not None]
    lines.append(f"# Rings of {stages} slots, filled by the producer and freed by the consumers.")
    if own and shared:
        rows = split.rows if split else ""
        lines.append(
            f"# {listed(own)}: one tile of {rows} rows per consumer group; {listed(shared)}: one tile for all."
        )
    if split is not None:
        lines.append(f"{split.rows}: {tl}.constexpr = {split.length} // {plan.name('CONSUMERS')}")
    for buffer in ring.buffers:
        sides = list(buffer.tile)
        count = stages
        if buffer.split is not None and split is not None:
            sides[buffer.split] = split.rows
            count = f"{stages} * {plan.name('CONSUMERS')}"
        shape = f"({sides[0]}, {sides[1]})"
        if buffer.view.flag:
            shape = f"({sides[1]}, {sides[0]}) if {buffer.view.flag} else {shape}"
        lines.append(f"{buffer.name} = tlx.local_alloc({shape}, tlx.dtype_of({buffer.view.descriptor}), {count})")
    for barrier, arrow in zip(plan.barriers, ("producer → consumers", "consumers → producer"), strict=True):
        lines.append(f"# {arrow}: {barrier.meaning}.")
        lines.append(f"{barrier.name} = tlx.alloc_barriers({stages}, arrive_count={barrier.arrivals})")
    elements = _elements([buffer.tile for buffer in ring.buffers])
    size = f"tlx.size_of(tlx.dtype_of({ring.buffers[0].view.descriptor}))"
    lines.append(f"{plan.name('SLOT_BYTES')}: {tl}.constexpr = {elements} * {size}")
    return "\n".join(lines)


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
