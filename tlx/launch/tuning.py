"""From a config of the source to consumer groups, registers and ring depth, and which configs to try at all.

Rules (design: whose tiles, warps and grid):

* tile sizes stay the source's; `num_warps` counts the consumer warps in total, rounded up to a warp group;
* `num_stages` is the depth of the rings, at least 2, at most what fits shared memory beside the epilogue;
* configs of our own differ in depth, or come from the plan; those with other tiles need a grid that follows them.

Figures are Hopper's (CUDA programming guide, compute capability 9.0).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from triton import Config

from tlx.launch.computing import Computing
from tlx.launch.guard import CopiedRows, Fallback, TmaView
from tlx.launch.schedule import Box, RingPlan, Schedule

__all__ = ["OVERRIDES", "Boxes", "Candidate", "candidates", "config_of", "plan_ring"]

#: Given every argument and constexpr of the source by name and `CONSUMERS`: the box of each descriptor.
Boxes = Callable[..., Mapping[str, Box]]

#: Shared memory one CTA may have, and an SM has, in bytes; each resident CTA also costs the system 1 KiB.
CTA_SHARED_BYTES = 232_448
SM_SHARED_BYTES = 233_472
RESERVED_BYTES = 1_024
#: Rows of the smallest wgmma: a consumer group of fewer has nothing to multiply.
WGMMA_ROWS = 64
#: Elements along one axis of a TMA box, and bytes along its contiguous one.
BOX_LIMIT = 256
BOX_INNER_BYTES = 16
#: A full and an empty barrier of 8 bytes for each stage; the block they share is aligned to 128 bytes.
BARRIER_BYTES = 16
BARRIER_BLOCK = 128
MIN_STAGES = 2
#: What Triton launches with where a call does not say.
DEFAULT_WARPS, DEFAULT_STAGES = 4, 3
#: Eight consumer warps: 256 threads of 232 registers and 128 of 40 in the producer fit the SM's 65536.
MANY_REGISTERS = 232
#: Registers of all threads of a launch of twelve warps, 168 each: what one task does not take, the others have.
TASK_REGISTERS = 384 * 168
#: Bytes that the 128 threads of the producer copy with one instruction each, 16 a thread.
COPIED_BYTES = 128 * 16
#: Registers of a producer's thread that copies: some, and an address per copy of a tile. With 40 the ptxas of Triton
#: 3.6 spilled for 128 x 128 elements of 16 bits a tile and for none of half the size; with 24 for 64 x 64.
COPY_BASE_REGISTERS, COPY_REGISTERS = 24, 2
#: Codes of refusals that no other launch with these dtypes and tiles would escape.
STRUCTURAL = ("rows", "box", "shared-memory", "registers")
#: Entries of a config that fix what would otherwise be derived.
OVERRIDES = ("CONSUMERS", "CONSUMER_WARPS", "CONSUMER_REGISTERS")


@dataclass(frozen=True, slots=True)
class Sharing:
    """How CTAs with one consumer group of four warps share an SM: 128 consumer and 128 producer threads in each."""

    #: CTAs on one SM.
    ctas: int
    #: Registers of a consumer thread, and of every thread at launch. The consumers' and what that leaves the producer
    #: (40, or 24) come to `ctas` equal shares of the register file.
    consumer_registers: int
    maxnreg: int
    #: Widest wgmma that ptxas takes under that cap: half a register per column and thread, and some 26 more (C7602).
    columns: int
    #: Accumulators that a consumer thread can hold beside addresses.
    accumulators: int


#: Small tiles keep the tensor cores busy only together: the 64 x 64 x 32 GEMM runs at half its source's speed with two
#: CTAs on an SM.
SHARINGS = (Sharing(4, 104, 64, 64, 32), Sharing(2, 216, 128, 128, 128))


#: Accumulators per thread beside which as much again may be held: ptxas spills with 128.
CROWDED_ACCUMULATORS = 64
#: Accumulators per thread, over all dots of a loop, that no thread can hold: 256 spilled 440 bytes, 192 none.
TOO_MANY_ACCUMULATORS = 224


@dataclass(frozen=True, slots=True)
class Candidate:
    """A config for Triton's tuner, in the source's terms."""

    config: Any
    #: Whether we added it; the others are the source's own.
    added: bool


def plan_ring(
    schedule: Schedule,
    boxes: Boxes,
    views: Mapping[str, TmaView | CopiedRows],
    arguments: Mapping[str, Any],
    num_warps: int = DEFAULT_WARPS,
    num_stages: int = DEFAULT_STAGES,
) -> RingPlan:
    """The converted kernel's share of one config; `arguments` are the source's by name, constexprs included.

    Raises `Fallback` with code `rows` (too few for a consumer group), `box` (one the TMA cannot load), `registers` (a
    group cannot hold a whole tile), `shared-memory` (not even two stages fit) or `guard-error` (`boxes` failed), and
    whatever `boxes` raises to leave a config to the original.
    """
    narrow = any(view.itemsize == 1 for view in views.values())
    groups = (1, num_warps, 0)
    if not schedule.plain:
        groups = _consumer_groups(schedule, arguments, num_warps, narrow=narrow)
    consumers, warps, registers = groups
    try:
        chosen = boxes(**(arguments if schedule.plain else {**arguments, "CONSUMERS": consumers}))
    except Fallback:
        raise
    except Exception as error:
        raise Fallback("guard-error", f"the boxes failed: {type(error).__name__}: {error}") from error
    for name, view in views.items():
        if name not in chosen or (isinstance(view, TmaView) and len(chosen[name].shape) != len(view.shape)):
            raise Fallback("box", f"the boxes have none of the axes of {name}")
    layouts = tuple((name, chosen[name], views[name].itemsize, views[name].transposed) for name in views)
    if schedule.plain:
        return _plain(layouts, warps, num_stages)
    copies = sum(math.ceil(box.elements * itemsize / COPIED_BYTES) for _, box, itemsize, _ in layouts if box.copied)
    written = [(name, box, views[box.like].itemsize, False) for name, box in chosen.items() if box.like is not None]
    transform = 0
    if written:
        operands = {box.like for _, box, _, _ in written}
        raw = sum(box.elements * itemsize for name, box, itemsize, _ in layouts if name not in operands)
        need = Computing(
            warps=consumers * warps,
            accumulators=_accumulators(schedule, arguments, consumers * warps),
            columns=_widest(schedule, arguments),
            raw_bytes=raw,
            block=sum(box.elements for _, box, _, _ in written),
            producer=_copying_registers(copies),
        )
        registers, transform = need.registers(arguments.get("CONSUMER_REGISTERS"))
    elif "CONSUMER_REGISTERS" not in arguments:
        registers = _beside_copies(registers, consumers * warps, copies)
    layouts += tuple(written)
    products = schedule.products or ((schedule.output,) if schedule.output else ())
    for rows in {arguments.get(rows) for rows, *_ in products}:
        if isinstance(rows, int) and rows % WGMMA_ROWS:
            raise Fallback("rows", f"a dot of {rows} rows; the tensor cores take multiples of {WGMMA_ROWS}")
    # Groups that take whole tiles in turn finish them side by side; those that share a tile have a part of it each.
    epilogue = _epilogue_bytes(schedule, arguments) * (consumers if schedule.alternating else 1)
    ring = _fit(layouts, epilogue, num_stages, consumers, warps, registers)
    if isinstance(ring, RingPlan):
        return replace(ring, transform_registers=transform) if transform else ring
    raise Fallback(ring.code, ring.text)


def _plain(layouts: tuple[tuple[str, Box, int, bool], ...], warps: int, stages: int) -> RingPlan:
    """A launch of plain Triton: what it takes of shared memory is the compiler's affair. Raises `Fallback`."""
    for name, box, itemsize, transposed in layouts:
        if (refusal := _box_refusal(name, box, itemsize, transposed)) is not None:
            raise refusal
    return RingPlan(
        stages=stages,
        consumers=1,
        consumer_warps=warps,
        consumer_registers=0,
        maxnreg=None,
        resident=1,
        asked=stages,
        deepest=0,
        deepest_paired=0,
        boxes=MappingProxyType({name: box for name, box, _, _ in layouts}),
    )


@functools.lru_cache(maxsize=1024)
def _fit(
    layouts: tuple[tuple[str, Box, int, bool], ...],
    epilogue: int,
    num_stages: int,
    consumers: int,
    warps: int,
    registers: int,
) -> RingPlan | Fallback:
    """The rings for boxes given as (descriptor, box, bytes per element, transposed), or why there are none."""
    for name, box, itemsize, transposed in layouts:
        loaded = not box.copied and box.like is None
        if loaded and (refusal := _box_refusal(name, box, itemsize, transposed)) is not None:
            return refusal
    stage = sum(box.elements * itemsize for _, box, itemsize, _ in layouts if not box.stays)
    # The barriers of tiles that stay, one pair each, share a block with nothing else in the worst case.
    staying = [box.elements * itemsize + BARRIER_BLOCK for _, box, itemsize, _ in layouts if box.stays]
    free = CTA_SHARED_BYTES - epilogue - sum(staying)
    deepest = _depth(stage, free)
    stages = min(max(MIN_STAGES, num_stages), deepest)
    if stages < MIN_STAGES:
        return Fallback("shared-memory", f"{MIN_STAGES} stages of {stage} bytes do not fit into {free} bytes")
    sharing = next((way for way in SHARINGS if consumers * warps == 4 and registers == way.consumer_registers), None)
    beside = SM_SHARED_BYTES // sharing.ctas - RESERVED_BYTES - epilogue - sum(staying) if sharing else 0
    fitting = SM_SHARED_BYTES // (_ring_bytes(stage, stages) + sum(staying) + epilogue + RESERVED_BYTES)
    return RingPlan(
        stages=stages,
        consumers=consumers,
        consumer_warps=warps,
        consumer_registers=registers,
        maxnreg=sharing.maxnreg if sharing else None,
        resident=max(1, min(sharing.ctas, fitting)) if sharing else 1,
        asked=num_stages,
        deepest=deepest,
        deepest_paired=_depth(stage, beside) if sharing else 0,
        boxes=MappingProxyType({name: box for name, box, _, _ in layouts}),
    )


def candidates(
    schedule: Schedule,
    boxes: Boxes,
    views: Mapping[str, TmaView | CopiedRows],
    complete: Callable[[Any], Mapping[str, Any]],
    source: Iterable[Any],
    *,
    grid_follows: bool,
    own_tiles: bool = True,
) -> list[Candidate]:
    """The configs to tune over: the source's that can be specialized, then ours; no two that come to the same plan.

    `complete` gives the arguments that reach the kernel under a config. `grid_follows` says that the grid is computed
    from the config; otherwise, and without `own_tiles`, only the source's tiles may be used. A config that `boxes`
    itself leaves to the original stays in: its reason may lie in this launch only. Raises the first config's `Fallback`
    if none is left.
    """
    found: dict[tuple[Any, ...], Candidate] = {}
    refusals: list[Fallback] = []
    source = list(source)

    def offer(config: Any, *, added: bool) -> None:
        shape: tuple[int, ...]
        try:
            plan = plan_ring(schedule, boxes, views, complete(config), config.num_warps, config.num_stages)
            shape = (plan.stages, plan.consumers, plan.consumer_warps)
        except Fallback as refusal:
            if refusal.code in STRUCTURAL:
                refusals.append(refusal)
                return
            shape = (config.num_stages, config.num_warps)
        same = (tuple(sorted(config.kwargs.items())), config.pre_hook, shape)
        found.setdefault(same, Candidate(config, added))

    for config in source:
        offer(config, added=False)
    for config in source:
        for depth in _deeper(schedule, boxes, views, complete(config), config):
            offer(_with_depth(config, depth), added=True)
    # What a hook of a config does to the arguments, nobody would do for tiles of ours.
    hooked = any(config.pre_hook is not None for config in source)
    for entry in schedule.configs:
        config = config_of(entry)
        other = grid_follows and own_tiles and not (schedule.programs is not None and hooked)
        if ((found or not source) and other) or any(_same_tiles(config, own) for own in source):
            offer(config, added=True)
    if not found:
        raise refusals[0] if refusals else Fallback("no-config", "the plan names no config that this grid allows")
    return list(found.values())


def _consumer_groups(
    schedule: Schedule, arguments: Mapping[str, Any], num_warps: int, *, narrow: bool
) -> tuple[int, int, int]:
    """Consumer groups, warps in each, and registers per consumer thread; `narrow` operands have elements of 8 bits."""
    rows = arguments.get(schedule.split) if schedule.split is not None else None
    splits = rows is not None and rows % (2 * WGMMA_ROWS) == 0
    # Products of 8-bit floats are added up in registers of their own before they join one of several sums.
    several = len(schedule.products) > len(set(schedule.products))
    crowded = schedule.crowded or (narrow and several)
    most = CROWDED_ACCUMULATORS if crowded else TOO_MANY_ACCUMULATORS
    few = num_warps <= 4 and _accumulators(schedule, arguments, 4) <= most
    if schedule.alternating and _accumulators(schedule, arguments, 4) > most:
        held = _accumulators(schedule, arguments, 4)
        raise Fallback(
            "registers", f"a whole tile is {held} registers of each thread of four warps; {most} is the most"
        )
    consumers, warps = (2, 4) if schedule.alternating else (1, 4) if few else (2, 4) if splits else (1, 8)
    consumers = arguments.get("CONSUMERS", consumers)
    warps = arguments.get("CONSUMER_WARPS", warps)
    registers = arguments.get("CONSUMER_REGISTERS", _registers(schedule, arguments, consumers * warps))
    if rows is not None and (rows % consumers or rows // consumers % WGMMA_ROWS):
        share = f"{schedule.split}={rows} gives each of {consumers} consumer groups"
        raise Fallback("rows", f"{share} no multiple of {WGMMA_ROWS} rows")
    return consumers, warps, registers


def _accumulators(schedule: Schedule, arguments: Mapping[str, Any], warps: int) -> int:
    """Accumulators of a consumer thread over all dots, 0 where no tile is known."""
    tiles = [[arguments.get(side) for side in sides] for sides in schedule.products or (schedule.output,)]
    known = [math.prod(tile) for tile in tiles if tile and all(isinstance(side, int) for side in tile)]  # type: ignore[arg-type]
    return sum(known) // (warps * 32)


def _registers(schedule: Schedule, arguments: Mapping[str, Any], warps: int) -> int:
    """Registers of a consumer thread: as few as its tile allows where CTAs can share an SM, else all there are."""
    output = [side for side in map(arguments.get, schedule.output) if isinstance(side, int)]
    if warps > 4 or len(output) != 2 or schedule.crowded:
        return MANY_REGISTERS
    wide = [arguments.get(columns) for _, columns in schedule.products]
    columns = max([output[1], *(side for side in wide if isinstance(side, int))])
    held = _accumulators(schedule, arguments, warps)
    return next(
        (way.consumer_registers for way in SHARINGS if columns <= way.columns and held <= way.accumulators),
        MANY_REGISTERS,
    )


def _widest(schedule: Schedule, arguments: Mapping[str, Any]) -> int:
    """Columns of the widest product, 0 where no tile is known."""
    sides = [arguments.get(sides[1]) for sides in schedule.products or (schedule.output,) if len(sides) > 1]
    return max((side for side in sides if isinstance(side, int)), default=0)


def _copying_registers(copies: int) -> int:
    """Registers of a thread of the producer that has so many copies to issue."""
    return max(40, COPY_BASE_REGISTERS + COPY_REGISTERS * copies) if copies else 40


def _beside_copies(registers: int, warps: int, copies: int) -> int:
    """Registers of a consumer thread of so many warps where each thread of the producer has so many copies to issue."""
    if not copies:
        return registers
    needed = _copying_registers(copies)
    for way in SHARINGS:
        if registers == way.consumer_registers:
            return registers if 2 * way.maxnreg - registers >= needed else MANY_REGISTERS
    if warps <= 4:
        return registers
    left = (TASK_REGISTERS - 128 * needed) // (32 * warps) // 8 * 8
    return min(registers, max(left, 24))


def _box_refusal(name: str, box: Box, itemsize: int, transposed: bool) -> Fallback | None:
    """What `cuTensorMapEncodeTiled` demands of a box, and Triton of a block shape."""
    for extent in box.shape:
        if not 1 <= extent <= BOX_LIMIT or extent & (extent - 1):
            return Fallback("box", f"the box of {name} is {box.shape}: each axis is a power of two up to {BOX_LIMIT}")
    inner = box.shape[-2 if transposed else -1] * itemsize
    if inner < BOX_INNER_BYTES:
        return Fallback("box", f"the box of {name} is {inner} bytes wide where memory is contiguous; the TMA needs 16")
    return None


def _ring_bytes(stage: int, stages: int) -> int:
    """Shared memory of so many stages of `stage` bytes, with their barriers."""
    return stages * stage + math.ceil(stages * BARRIER_BYTES / BARRIER_BLOCK) * BARRIER_BLOCK


def _depth(stage: int, free: int) -> int:
    """How many stages of `stage` bytes fit into `free` bytes, with their barriers."""
    stages = max(free, 0) // (stage + BARRIER_BYTES)
    while stages and _ring_bytes(stage, stages) > free:
        stages -= 1
    return stages


def _epilogue_bytes(schedule: Schedule, arguments: Mapping[str, Any]) -> int:
    """An estimate: one byte per element of the output tile.

    A 128 x 256 tile stored as 16 bits takes 32 KiB to change from the layout of wgmma to that of the stores. Where
    an epilogue needs more, the launch runs out of resources and is tried again with one stage less.
    """
    return math.prod(arguments[name] for name in schedule.output) if schedule.output else 0


def _deeper(
    schedule: Schedule,
    boxes: Boxes,
    views: Mapping[str, TmaView | CopiedRows],
    arguments: Mapping[str, Any],
    config: Any,
) -> Sequence[int]:
    """Depths worth trying besides the config's own: the deepest, and the deepest that leaves room for a second CTA."""
    try:
        plan = plan_ring(schedule, boxes, views, arguments, config.num_warps, config.num_stages)
    except Fallback:
        return ()
    return [depth for depth in (plan.deepest, plan.deepest_paired) if depth >= MIN_STAGES]


def config_of(entry: Mapping[str, Any]) -> Any:
    """The `triton.Config` that a mapping of constexprs, `num_warps` and `num_stages` spells."""
    constexprs = {name: value for name, value in entry.items() if name not in ("num_warps", "num_stages")}
    warps, stages = entry.get("num_warps", DEFAULT_WARPS), entry.get("num_stages", DEFAULT_STAGES)
    return Config(constexprs, num_warps=warps, num_stages=stages)


def _with_depth(config: Any, depth: int) -> Any:
    return Config(dict(config.kwargs), num_warps=config.num_warps, num_stages=depth, pre_hook=config.pre_hook)


def _same_tiles(config: Any, own: Any) -> bool:
    tiles = {name: value for name, value in config.kwargs.items() if name not in OVERRIDES}
    return bool(tiles == own.kwargs)
