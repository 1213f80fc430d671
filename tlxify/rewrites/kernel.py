"""The converted kernel: signature, docstring, rings and barriers, then one task per role."""

from __future__ import annotations

import libcst as cst

from ..model import Kernel, walk
from ..plan import Buffer, Plan, decoded
from ..source import Span
from . import consumer, producer
from .comments import comment_lines, comments_in, with_leading
from .function import parse_function
from .lines import statements
from .role import Role
from .signature import signature


def converted_kernel(kernel: Kernel, plan: Plan, tl: str) -> tuple[str, tuple[str, ...]]:
    """The text of the converted kernel, and its parameter names. `tl` is the module's name for `triton.language`."""
    text = parse_function(kernel)
    bound = _bound_names(kernel)
    views = {b.name: _view_name(kernel, b, bound) for b in plan.ring.buffers}
    kept = plan.task("producer").keeps | plan.task("consumer").keeps
    fills, uses = producer.fills(plan, tl), consumer.replacements(plan, views)
    dropped = frozenset(node.span for node in walk(kernel.body)) - kept - set(fills) - set(uses)
    counters = {plan.ring.loop: plan.ring.variable}
    feeding = Role(
        text,
        plan.task("producer").keeps,
        fills,
        _program_ids(plan),
        at_loop_end=producer.at_loop_end(plan),
        counters=counters,
        adopts=dropped,
    )
    finishing = Role(
        text,
        plan.task("consumer").keeps,
        uses,
        {**_program_ids(plan), **_rows(plan, tl)},
        at_loop_end=consumer.at_loop_end(plan),
        after_loop=consumer.after_loop(plan),
        counters=counters,
        notes={span: f"# {note}" for span, note in plan.notes},
        # The producer shows what is said about an operand's load; the consumer need not say it again.
        silent=frozenset(buffer.statement for buffer in plan.ring.buffers) - {dot.statement for dot in plan.ring.dots},
    )
    docstring, finishing_body = _without_docstring(finishing.body())
    body = [
        *docstring,
        *statements(_rings(plan, tl)),
        _tasks(plan, feeding.body(), finishing_body, tl),
    ]
    function = text.function
    block = function.body
    assert isinstance(block, cst.IndentedBlock)
    names = _read_names(body)
    constexprs = [v.flag for v in (b.view for b in plan.ring.buffers) if v.flag] + [
        plan.name(n)
        for n in ("STAGES", *(("CONSUMERS",) if plan.split else ()), "CONSUMER_WARPS", "CONSUMER_REGISTERS")
    ]
    scalars = list(plan.persistence.extents) if plan.persistence else []
    own = frozenset(param.name for param in kernel.params)
    parameters = signature(
        function.params,
        names & own,
        {b.view.parameter: b.view.descriptor for b in plan.ring.buffers},
        scalars,
        list(dict.fromkeys(constexprs)),
        tl,
    )
    result = function.with_changes(
        name=cst.Name(plan.converted),
        params=parameters,
        decorators=[cst.Decorator(decorator=cst.parse_expression(_decorator(plan)))],
        leading_lines=[],
        lines_after_decorators=_decorator_comments(function),
        whitespace_before_params=cst.ParenthesizedWhitespace(indent=True, last_line=cst.SimpleWhitespace("    ")),
        body=block.with_changes(body=body, footer=block.footer),
    )
    return text.module.with_changes(body=[result], header=[], footer=[]).code, tuple(
        p.name.value for p in parameters.params
    )


def _decorator(plan: Plan) -> str:
    """Extents of the grid differ from launch to launch: a kernel compiled anew for each would help nobody."""
    if plan.persistence is None:
        return "tlx.jit"
    names = ", ".join(f'"{name}"' for name in plan.persistence.extents)
    return f"tlx.jit(do_not_specialize=[{names}])"


def _decorator_comments(function: cst.FunctionDef) -> list[cst.EmptyLine]:
    """Comments between the source's decorators: the decorators stay with the original, what was said about them is kept."""
    texts = [c for decorator in function.decorators[1:] for line in decorator.leading_lines for c in comments_in(line)]
    texts += [c for line in function.lines_after_decorators for c in comments_in(line)]
    return comment_lines(texts)


def _bound_names(kernel: Kernel) -> dict[str, int]:
    """How many statements bind each name."""
    text = parse_function(kernel)
    counter = _Bindings()
    text.function.body.visit(counter)
    return counter.count


class _Bindings(cst.CSTVisitor):
    def __init__(self) -> None:
        self.count: dict[str, int] = {}

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        self._add(node.target)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        self._add(node.target)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self._add(node.target)

    def visit_For(self, node: cst.For) -> None:
        self._add(node.target)

    def _add(self, target: cst.BaseExpression) -> None:
        match target:
            case cst.Name(value=name):
                self.count[name] = self.count.get(name, 0) + 1
            case cst.Tuple(elements=elements) | cst.List(elements=elements):
                for element in elements:
                    self._add(element.value)


def _view_name(kernel: Kernel, buffer: Buffer, bound: dict[str, int]) -> str:
    """The user's name for the tile, unless it also means something else; then the ring's name tells it apart."""
    name = buffer.name.removesuffix("_ring")
    if bound.get(name) == 1 and kernel.param(name) is None:
        return name
    return f"{name}_tile"


def _program_ids(plan: Plan) -> dict[Span, str]:
    """Program ids and counts of the source, decoded from the tile index."""
    held = plan.persistence
    if held is None:
        return {}
    replacements = {span: decoded(held, axis) for span, axis in plan.program_ids}
    for span, axis in plan.num_programs:
        replacements[span] = held.extents[axis] if axis < held.rank else "1"
    return replacements


def _rows(plan: Plan, tl: str) -> dict[Span, str]:
    """The split axis of each group: its own rows, at its own offset."""
    split = plan.split
    if split is None:
        return {}
    group_rows = f"{split.rows} * {split.group} + {tl}.arange(0, {split.rows})"
    return {c.span: group_rows if c.kind == "arange" else split.rows for c in split.creators}


def _rings(plan: Plan, tl: str) -> str:
    """Allocations, with what each is for."""
    ring, split, stages = plan.ring, plan.split, plan.name("STAGES")
    lines = []
    shared = [b.name for b in ring.buffers if b.split is None or split is None]
    own = [b.name for b in ring.buffers if b.split is not None and split is not None]
    lines.append(f"# Rings of {stages} slots, filled by the producer and freed by the consumers.")
    if own and shared:
        rows = split.rows if split else ""
        lines.append(
            f"# {_listed(own)}: one tile of {rows} rows per consumer group; {_listed(shared)}: one tile for all."
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
    elements = " + ".join(f"{b.tile[0]} * {b.tile[1]}" for b in ring.buffers)
    lines.append(
        f"{plan.name('SLOT_BYTES')}: {tl}.constexpr = ({elements}) * tlx.size_of(tlx.dtype_of({ring.buffers[0].view.descriptor}))"
    )
    return "\n".join(lines)


def _listed(names: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def _tasks(
    plan: Plan, feeding: list[cst.BaseStatement], finishing: list[cst.BaseStatement], tl: str
) -> cst.BaseStatement:
    """`with tlx.async_tasks():` around both roles."""
    ring = plan.ring
    tiles = _listed([b.name.removesuffix("_ring") for b in ring.buffers])
    produce = _task(
        '"default"',
        f"# Producer: waits until the consumers have freed a slot, then has the TMA fill it with tiles of {tiles}.",
        [] if ring.counted_by_loop else [f"{plan.name('filled')} = 0"],
        feeding,
        plan,
        tl,
    )
    setup = [f"{plan.split.group}: {tl}.constexpr = tlx.async_task_replica_id()"] if plan.split else []
    if not ring.counted_by_loop:
        setup.append(f"{plan.name('used')} = 0")
    arguments = f"num_warps={plan.name('CONSUMER_WARPS')}, registers={plan.name('CONSUMER_REGISTERS')}"
    if plan.split:
        arguments += f", replicate={plan.name('CONSUMERS')}"
    words = (
        f"# Consumers: each group multiplies its {plan.split.rows} rows of every slot, hands the slot back and finishes its rows."
        if plan.split
        else "# Consumer: multiplies from each slot, hands it back and finishes the tile."
    )
    consume = _task(arguments, words, setup, finishing, plan, tl)
    region = cst.parse_statement("with tlx.async_tasks():\n    pass\n")
    assert isinstance(region, cst.With)
    block = cst.IndentedBlock(
        body=[produce, with_leading(consume, [cst.EmptyLine(indent=False), *consume.leading_lines])]
    )
    return region.with_changes(body=block, leading_lines=[cst.EmptyLine(indent=False)])


def _task(arguments: str, words: str, setup: list[str], body: list[cst.BaseStatement], plan: Plan, tl: str) -> cst.With:
    if plan.persistence is not None:
        held = plan.persistence
        tiles = " * ".join(held.extents)
        loop = cst.parse_statement(
            f"for {held.tile} in range({tl}.program_id(0), {tiles}, {tl}.num_programs(0)):\n    pass\n"
        )
        assert isinstance(loop, cst.For)
        body = [loop.with_changes(body=cst.IndentedBlock(body=body))]
    task = cst.parse_statement(f"with tlx.async_task({arguments}):\n    pass\n")
    assert isinstance(task, cst.With)
    inner = [*statements("\n".join(setup)), *body]
    return task.with_changes(body=cst.IndentedBlock(body=inner), leading_lines=comment_lines([words]))


def _without_docstring(body: list[cst.BaseStatement]) -> tuple[list[cst.BaseStatement], list[cst.BaseStatement]]:
    if body and isinstance(body[0], cst.SimpleStatementLine):
        first = body[0].body[0]
        if isinstance(first, cst.Expr) and isinstance(first.value, cst.SimpleString | cst.ConcatenatedString):
            return body[:1], body[1:]
    return [], body


def _read_names(body: list[cst.BaseStatement]) -> frozenset[str]:
    collector = _Names()
    for statement in body:
        statement.visit(collector)
    return frozenset(collector.found)


class _Names(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: set[str] = set()

    def visit_Name(self, node: cst.Name) -> None:
        self.found.add(node.value)
