"""From ``with tlx.async_tasks()`` to a warp-specialize operation."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from triton.compiler.code_generator import (
    _is_constexpr,
    _is_triton_value,
    _unwrap_if_constexpr,
    flatten_values_to_ir,
    unflatten_ir_values,
)

from ..tasks import RegionSpec, TaskSpec, async_task
from . import budget, stale, versions
from .barriers import MOST_THREADS
from .semantic import Task, TaskContext
from .state import current

if TYPE_CHECKING:
    from .codegen import TLXCodeGenerator

#: registers of one SM, and warps per register allocation unit
SM_REGISTERS = 65536
WARP_GROUP = 4
#: what setmaxnreg can leave a thread, and what a thread can address
LEAST_REGISTERS = 24
MOST_REGISTERS = 256
#: partitions for which hardware barriers are left: 16 less the default task's and the worker loop's
MOST_PARTITIONS = 14


@dataclass(frozen=True, slots=True)
class Role:
    """One copy of one task."""

    node: ast.With
    spec: TaskSpec
    replica: int
    warps: int
    #: registers per thread; None leaves the split to the compiler
    registers: int | None = None
    #: only there to complete a warp group, so that all threads of a CTA can meet those of others
    filler: bool = False


def generate_region(gen: TLXCodeGenerator, node: ast.With, region: RegionSpec) -> None:
    """Emits the whole region at the insertion point; the variables afterwards are those before it.

    Raises:
        CompilationError: at the user's line, for whatever TLX forbids in a region.
    """
    if current().gfx:
        raise gen.error(node, f"async_tasks needs an NVIDIA GPU; this kernel is compiled for {current().gfx}")
    if gen.semantic.task.replica is not None:
        raise gen.error(node, "async_tasks cannot be nested")
    _no_return(gen, node)
    _alone(gen, node, region)
    gen.lay_out_pools()
    default, workers = _roles(gen, node)
    workers = _share_registers(gen, node, default, workers)
    if gen.semantic.cluster_size > 1:
        if not current().has_region:
            raise gen.error(node, "in a clustered kernel the region must stand in the kernel itself, not in a helper")
        workers = [*workers, *_fillers(node, workers)]
    threads = 32 * (default.warps + sum(role.warps for role in workers))
    if threads > MOST_THREADS:
        raise gen.error(node, f"the tasks have {threads} threads, a CTA has at most {MOST_THREADS}")
    if len(workers) > MOST_PARTITIONS:
        raise gen.error(node, f"{len(workers)} partitions: hardware barriers are left for {MOST_PARTITIONS}")

    written = list({id(role.node): role.node for role in [default, *workers] if not role.filler}.values())
    for read, origin in stale.reads(gen.function, node, written, gen.lscope):
        gen.stale[read.id, read.lineno, read.col_offset] = origin
    outer, context = gen.semantic.task, gen.caller_context
    scope, local_defs, hidden = gen.lscope.copy(), gen.local_defs.copy(), gen.out_of_reach
    try:
        if workers:
            _specialize(gen, node, region, default, workers)
        else:
            # Constexpr conditions left the default task alone: it is just a block of code.
            _body(gen, region, default, 0)
    finally:
        gen.lscope, gen.local_defs, gen.out_of_reach = scope, local_defs, hidden
        gen.caller_context = context
        gen.semantic.enter(outer)


def _no_return(gen: TLXCodeGenerator, node: ast.With) -> None:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Return):
            raise gen.error(inner, "return inside async_tasks: a task ends at the end of its block")


def _alone(gen: TLXCodeGenerator, node: ast.With, region: RegionSpec) -> None:
    """Holds a region to ``exclusive=True``, over all functions of the kernel."""
    seen = current().regions
    place = (str(gen.file_name), gen.begin_line + node.lineno)
    others = {where: exclusive for where, exclusive in seen.items() if where != place}
    seen[place] = region.exclusive
    if others and (region.exclusive or any(others.values())):
        file, line = next(iter(others))
        raise gen.error(
            node,
            f"async_tasks(exclusive=True) promised that there is no other region, and there is one at {file}:{line}",
        )


def _blocks(gen: TLXCodeGenerator, body: list[ast.stmt]) -> Iterator[ast.With]:
    """The task blocks of a region, with constexpr conditions resolved."""
    for stmt in body:
        if isinstance(stmt, ast.Pass):
            continue
        if isinstance(stmt, ast.If):
            cond = _unwrap_if_constexpr(gen.visit(stmt.test))
            if _is_triton_value(cond):
                raise gen.error(stmt, "an if between tasks must be decided at compile time (constexpr)")
            yield from _blocks(gen, stmt.body if cond else stmt.orelse)
        elif isinstance(stmt, ast.With) and gen.opened(stmt) is async_task:
            yield stmt
        else:
            raise gen.error(stmt, "only `with tlx.async_task(...)` blocks may stand directly inside async_tasks")


def _roles(gen: TLXCodeGenerator, node: ast.With) -> tuple[Role, list[Role]]:
    """The default task's first copy, and all others in the order in which they are written."""
    default: Role | None = None
    workers = []
    for block in _blocks(gen, node.body):
        spec = gen.evaluate(block)
        warps = gen.semantic.warps if spec.is_default else spec.num_warps
        first, *copies = (Role(block, spec, replica, warps) for replica in range(spec.replicate))
        if spec.is_default:
            if default is not None:
                raise gen.error(block, "exactly one task of a region is the default; this is a second one")
            default = first
            workers.extend(copies)
        else:
            workers.extend([first, *copies])
    if default is None:
        raise gen.error(node, 'exactly one task of a region must be async_task("default"); there is none')
    return default, workers


def _share_registers(gen: TLXCodeGenerator, node: ast.With, default: Role, workers: list[Role]) -> list[Role]:
    """The workers with their registers: what they ask for, and for copies of the default task an equal share of the
    rest.
    """
    asking = [role for role in workers if not role.spec.is_default]
    asked = [role for role in asking if role.spec.registers is not None]
    if not asked:
        if default.spec.registers is not None:
            raise gen.error(default.node, "registers of the default task mean something only if all others give theirs")
        return workers
    if len(asked) != len(asking):
        silent = next(role for role in asking if role.spec.registers is None)
        raise gen.error(silent.node, "either all non-default tasks say how many registers they take, or none does")
    # The compiler fills up to whole warp groups with idle warps, and hands out what a uniform launch would have had.
    workers_warps = sum(role.warps for role in workers)
    threads = 32 * (default.warps + workers_warps + -workers_warps % WARP_GROUP)
    pool = SM_REGISTERS // threads // 8 * 8 * threads
    taken = _taken(asked)
    sharing = 32 * default.warps * default.spec.replicate
    share = (pool - taken) // sharing // 8 * 8
    if default.spec.registers is not None and share < default.spec.registers:
        raise gen.error(
            default.node,
            f"the default task asks for {default.spec.registers} registers per thread; the others leave it {share}",
        )
    if share < LEAST_REGISTERS:
        raise gen.error(
            node,
            f"the tasks ask for {taken} registers; of the {pool} that {threads} threads can have, that leaves the "
            f"default task {max(0, pool - taken) // sharing} per thread, and it needs at least {LEAST_REGISTERS}",
        )
    return [replace(role, registers=_own(role) or min(share, MOST_REGISTERS)) for role in workers]


def _own(role: Role) -> int | None:
    return None if role.spec.is_default else role.spec.registers


def _fillers(node: ast.With, workers: list[Role]) -> list[Role]:
    """Roles for the warps that the compiler would add to complete a warp group, and let sleep."""
    missing = -sum(role.warps for role in workers) % WARP_GROUP
    spec = TaskSpec(is_default=False, num_warps=1, registers=None, replicate=1)
    registers = LEAST_REGISTERS if workers and workers[0].registers is not None else None
    return [Role(node, spec, 0, warps, registers, filler=True) for warps in (2, 1) if missing & warps]


def _taken(roles: list[Role]) -> int:
    """Registers of all ``roles``: warps are packed into groups largest task first, and a group has one budget."""
    per_warp = [
        role.spec.registers or 0 for role in sorted(roles, key=lambda role: -role.warps) for _ in range(role.warps)
    ]
    groups = [per_warp[start : start + WARP_GROUP] for start in range(0, len(per_warp), WARP_GROUP)]
    return sum(32 * WARP_GROUP * max(group) for group in groups)


def _captures(gen: TLXCodeGenerator, workers: list[Role]) -> tuple[list[str], frozenset[str]]:
    """Outer variables to pass to the worker regions, and the blocks among them, which cannot be passed."""
    used = {
        inner.id
        for block in {id(role.node): role.node for role in workers}.values()
        for inner in ast.walk(block)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load)
    }
    passed, blocks = [], set()
    for name, value in gen.lscope.items():
        if not _is_triton_value(value) or _is_constexpr(value):
            continue
        if _holds_block(value):
            blocks.add(name)
        elif name in used:
            passed.append(name)
    return passed, frozenset(blocks)


def _holds_block(value: Any) -> bool:
    if hasattr(value, "values"):
        return any(_holds_block(item) for item in value.values if _is_triton_value(item))
    is_block = getattr(value.type, "is_block", None)
    return bool(is_block and is_block())


def _body(gen: TLXCodeGenerator, region: RegionSpec, role: Role, partitions: int) -> None:
    task = Task(role.warps, role.replica, partitions)
    gen.semantic.enter(task)
    gen.caller_context = TaskContext(task)
    clustered = partitions > 0 and gen.semantic.cluster_size > 1
    if clustered:
        # Nobody may signal a barrier of another CTA before that has initialised it ...
        gen.semantic.meet_in_region()
    if not role.filler:
        gen.visit_compound_statement(role.node.body)
    if clustered and not region.no_ending_cluster_sync:
        # ... and no CTA may be gone while others still write to it.
        gen.semantic.meet_in_region()


def _specialize(gen: TLXCodeGenerator, node: ast.With, region: RegionSpec, default: Role, workers: list[Role]) -> None:
    builder = gen.builder
    names, blocks = _captures(gen, workers)
    outer = gen.lscope.copy()
    values = [outer[name] for name in names]
    if problem := budget.exceeded(dict(zip(names, values, strict=True))):
        raise gen.error(node, problem)
    handles = flatten_values_to_ir(values)

    op = versions.warp_specialize(builder, handles, [role.warps for role in workers])
    if workers[0].registers is not None:
        op.set_requested_registers([role.registers for role in workers])

    builder.create_block_with_parent(op.get_default_region(), [])
    gen.lscope, gen.local_defs = outer.copy(), {}
    _body(gen, region, default, len(workers))
    builder.create_warp_yield([])

    builder.create_block_with_parent(op.get_partition_op_holder(), [])
    holder = versions.partitions(builder, handles, len(workers))
    types = [handle.get_type() for handle in handles]
    # What is not passed must not be reachable: an outer value used inside would break the region's isolation.
    kept = {name: value for name, value in outer.items() if not _is_triton_value(value) or _is_constexpr(value)}
    for index, role in enumerate(workers):
        block = builder.create_block_with_parent(holder.get_region(index), types)
        arguments = [block.arg(position) for position in range(len(handles))]
        inner = unflatten_ir_values(arguments, [value.type for value in values])
        gen.lscope, gen.local_defs = {**kept, **dict(zip(names, inner, strict=True))}, {}
        gen.out_of_reach = blocks
        _body(gen, region, role, len(workers))
        builder.create_warp_return()
    builder.set_insertion_point_after(op.get_operation())
