"""The plan as tables: roles, what fills and empties the ring, barriers, and the memory each config asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ..contract import Contract, LaunchConfig, evaluate

if TYPE_CHECKING:
    from ..plan import Plan, View

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
    how = "persistent: program ids become a tile loop" if plan.persistence else "one tile per program"
    yield Text(f"\nplan: {plan.schedule} on {plan.target}, {how}", "bold")
    tables = [tasks(plan), ring(plan), barriers(plan)]
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


def ring(plan: Plan) -> Table:
    """The buffers of the ring: what one slot holds and where the TMA takes it from."""
    table = grid(f"ring of {plan.name('STAGES')} slots", "buffer", "tile", "elements a slot", "split", "from", "at")
    for buffer, elements in plan.slot_bytes():
        split = f"axis {buffer.split} by group" if buffer.split is not None and plan.split is not None else "shared"
        add(
            table,
            buffer.name,
            " × ".join(buffer.tile),
            elements,
            split,
            described(buffer.view),
            ", ".join(buffer.coordinates),
        )
    return table


def described(view: View) -> str:
    """The tensor behind a descriptor: parameter, extents, strides."""
    shape = ", ".join("…" if extent is None else extent for extent in view.shape)
    return f"{view.parameter}[{shape}] strides ({', '.join(view.strides)})"


def barriers(plan: Plan) -> Table:
    """Who tells whom what."""
    table = grid("barriers, one per slot", "barrier", "arrivals", "arrives", "waits", "meaning")
    for barrier in plan.barriers:
        add(table, barrier.name, barrier.arrivals, barrier.arrives, barrier.waits, barrier.meaning)
    return table


def memory(plan: Plan, contract: Contract) -> Table:
    """Bytes of shared memory per config, with 16-bit operands. The launcher cuts a ring that does not fit."""
    known = "" if contract.configs_known else " (ours: the source's are not known)"
    table = grid(f"configs{known}, 16-bit operands", "config", "warps", "stages", "bytes a stage", "bytes of the ring")
    for config in contract.configs:
        stage = stage_bytes(plan, config)
        values = " ".join(f"{name}={value}" for name, value in config.values)
        total = None if stage is None else f"{stage * config.num_stages:,}"
        add(table, values, config.num_warps, config.num_stages, None if stage is None else f"{stage:,}", total)
    return table


def stage_bytes(plan: Plan, config: LaunchConfig) -> int | None:
    """Bytes that one slot takes under `config`; None if the config does not fix every tile size."""
    try:
        return ITEM_BYTES * sum(evaluate(elements, dict(config.values)) for _, elements in plan.slot_bytes())
    except (KeyError, TypeError, ValueError):
        return None
