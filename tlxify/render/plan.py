"""The plan as tables: roles, what fills and empties the rings, barriers, and the memory each config asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ..contract import Contract, LaunchConfig, evaluate

if TYPE_CHECKING:
    from ..plan import Fill, Plan, View

#: Bytes of an fp16 or bf16 element.
ITEM_BYTES = 2


def grid(title: str, *columns: str) -> Table:
    """An empty table in the house look."""
    table = Table(
        title=title, title_justify="left", title_style="bold", box=None, header_style="dim", padding=(0, 2, 0, 0)
    )
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def add(table: Table, *cells: object) -> None:
    """A row of plain texts; square brackets in them mean themselves."""
    table.add_row(*(Text("–" if cell is None else str(cell)) for cell in cells))


def plan_tables(plan: Plan, contract: Contract | None) -> Iterator[RenderableType]:
    """Every table of the plan, in the order in which data flows."""
    if plan.plain:
        yield Text(f"\nplan: {plan.schedule} on {plan.target}, plain Triton", "bold")
        yield Text()
        yield descriptors(plan)
        return
    how = "persistent: program ids become a tile loop" if plan.persistence else "one tile per program"
    yield Text(f"\nplan: {plan.schedule} on {plan.target}, {how}", "bold")
    tables = [tasks(plan), rings(plan), barriers(plan)]
    if contract is not None:
        tables.append(memory(plan, contract))
    for table in tables:
        yield Text()
        yield table


def tasks(plan: Plan) -> Table:
    """Who runs, with how many warps and registers."""
    table = grid("tasks", "task", "warps", "registers a thread", "replicas", "statements kept")
    for task in plan.tasks:
        add(table, task.name, task.warps, task.registers, task.replicas or 1, len(task.keeps))
    return table


def _read(fills: Sequence[Fill]) -> str:
    if not all(fill.in_place for fill in fills):
        return "into registers"
    return "in place, and into registers" if any(fill.values for fill in fills) else "in place"


def rings(plan: Plan) -> Table:
    """The buffers of the rings: what one slot holds, where the TMA takes it from and where dots read it."""
    table = grid("rings", "buffer", "slots", "tile", "split", "read", "from", "at")
    for held, buffer in plan.buffers():
        split = f"axis {buffer.split} by group" if buffer.split is not None and plan.split is not None else "shared"
        fills = [fill for site in held.sites for fill in site.fills if fill.buffer == buffer.name]
        add(
            table,
            buffer.name,
            plan.name(held.depth) if held.depth != "1" else held.depth,
            " × ".join(buffer.tile),
            split,
            _read(fills),
            described(buffer.view),
            "; ".join(dict.fromkeys(", ".join(fill.coordinates) for fill in fills)),
        )
    if (one := plan.transform) is not None:
        slots, tile = plan.name(one.slots.depth), " × ".join(one.tile)
        add(table, one.name, slots, tile, "shared", "in place", "the transform", None)
    return table


def descriptors(plan: Plan) -> Table:
    """The loads that go through descriptors, without roles: each with its tensor and where its tile lies there."""
    table = grid("descriptors", "descriptor", "tile", "from", "at", "line")
    for one in plan.described:
        tile, at = " × ".join(one.tile), ", ".join(one.coordinates)
        add(table, one.view.descriptor, tile, described(one.view), at, one.load.line)
    return table


def described(view: View) -> str:
    """The tensor behind a descriptor: parameter, extents, strides."""
    if view.copied is not None:
        return f"rows of {view.parameter}, stride {view.copied.unit} along them"
    shape = ", ".join("…" if extent is None else extent for extent in view.shape)
    return f"{view.parameter}[{shape}] strides ({', '.join(view.strides)})"


def barriers(plan: Plan) -> Table:
    """Who tells whom what."""
    table = grid("barriers, one per slot", "barrier", "arrivals", "arrives", "waits", "meaning")
    for barrier in plan.barriers:
        add(table, barrier.name, barrier.arrivals, barrier.arrives, barrier.waits, barrier.meaning)
    return table


def memory(plan: Plan, contract: Contract) -> Table:
    """Bytes of shared memory per config, with 16-bit operands. The launcher cuts rings that do not fit."""
    known = "" if contract.configs_known else " (ours: the source's are not known)"
    table = grid(f"configs{known}, 16-bit operands", "config", "warps", "stages", "bytes a stage", "bytes of all rings")
    for config in contract.configs:
        stage, staying = stage_bytes(plan, config), stage_bytes(plan, config, stays=True)
        values = " ".join(f"{name}={value}" for name, value in config.values)
        total = None if stage is None or staying is None else f"{stage * config.num_stages + staying:,}"
        add(table, values, config.num_warps, config.num_stages, None if stage is None else f"{stage:,}", total)
    return table


def stage_bytes(plan: Plan, config: LaunchConfig, *, stays: bool = False) -> int | None:
    """Bytes that one stage, or all tiles that stay, take under `config`; None if it does not fix every tile size."""
    sides = [buffer.tile for ring, buffer in plan.buffers() if (ring.depth == "1") is stays]
    if plan.transform is not None and not stays:
        sides.append(plan.transform.tile)
    try:
        return ITEM_BYTES * sum(evaluate(f"{rows} * {columns}", dict(config.values)) for rows, columns in sides)
    except (KeyError, ValueError):
        return None
