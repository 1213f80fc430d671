"""The converted kernel: signature, docstring, rings and barriers, then one task per role.

What: the whole function, assembled from what the files beside this one write.
Why: one place shows the order in which a reader of the output meets things.
Before: the source kernel, with its decorators.
After: `@tlx.jit def _matmul_kernel_ws(a_desc, …)`, without the source's decorators but with what was said about them.
When refused: never; what cannot be converted has no plan.
"""

from __future__ import annotations

from functools import partial

import libcst as cst

from ..model import Kernel, Statement, walk
from ..plan import Plan, decoded
from ..source import Span
from . import consumer, late, producer, slots, transform
from .dealt import dealt
from .described import described_kernel
from .expressions import written_at
from .function import FunctionText
from .lines import statements
from .names import read_names
from .rings import rings
from .role import Role
from .shell import before_params, called, decorator_comments
from .signature import signature
from .structure import structured
from .tasks import tasks


def converted_kernel(kernel: Kernel, plan: Plan, tl: str) -> str:
    """The text of the converted kernel. `tl` is the module's name for `triton.language`."""
    if plan.plain:
        return described_kernel(kernel, plan, tl)
    text = structured(kernel)
    kept = frozenset[Span]().union(*(task.keeps for task in plan.tasks))
    ids = _program_ids(plan)
    fills, uses = producer.fills(plan, tl, lambda span: written_at(text, span, ids)), consumer.edits(plan)
    dropped = frozenset(node.span for node in walk(kernel.body)) - kept - set(fills) - set(uses.replaced)
    # What is said about a statement that no role keeps is said where the statements around it are kept.
    settled = dict(plan.settled)
    dropped -= set(settled)
    hidden = [
        n.span
        for n in walk(kernel.body)
        if not isinstance(n, Statement) and n.span not in plan.task("producer").keeps and n.span not in settled
    ]
    unseen = frozenset(span for span in dropped if any(outer != span and outer.contains(span) for outer in hidden))
    counters = dict(plan.counters)
    feeding = Role(
        text,
        plan.task("producer").keeps,
        fills,
        ids,
        at_loop_end=producer.at_loop_end(plan),
        after=producer.after(plan),
        counters=counters,
        adopts=dropped - unseen,
        reversible=plan.reversible,
        settled=settled,
        acquiring=frozenset(site.first for ring in plan.rings for site in ring.sites),
    )
    filling = frozenset(fill.statement for _, _, fill in plan.fills())
    keeps = plan.task("consumer").keeps - consumer.dropped(plan)
    finishing = Role(
        text,
        keeps,
        slots.texts(uses.replaced),
        {**_expressions(plan, tl), **uses.expressions},
        accesses={**{one.span: called(one, tl) for one in plan.written_out}, **slots.under_masks(uses, tl)},
        at_loop_end=consumer.at_loop_end(plan),
        before=slots.texts(uses.before),
        after=slots.texts(uses.after),
        heads=late.heads(plan),
        counters=counters,
        adopts=unseen,
        reversible=plan.reversible,
        settled=settled,
        notes={span: f"# {note}" for span, note in plan.notes},
        # The producer shows what is said about an operand's load; the consumer need not say it again.
        silent=filling - {step.statement for step in plan.dots},
    )
    finishing.before = {**finishing.before, **late.first_trips(plan, finishing, _expressions(plan, tl), tl)}
    held = plan.alternation
    if held is not None and held.block is not None:
        finishing.blocks = {held.block: partial(dealt, plan, held, finishing, _expressions(plan, tl))}
    docstring, finishing_body = _without_docstring(finishing.body())
    if held is not None and held.block is None:
        finishing_body = dealt(plan, held, finishing, _expressions(plan, tl), finishing_body)
    computing = _transform(plan, text, counters, settled, filling, tl).body() if plan.transform is not None else []
    body = [
        *docstring,
        *statements(rings(plan, tl)),
        tasks(plan, feeding.body(), computing, finishing_body, tl),
    ]
    function = text.function
    block = function.body
    assert isinstance(block, cst.IndentedBlock)
    names = read_names(body)
    purposes = ["STAGES", *(("CONSUMERS",) if plan.group else ()), "CONSUMER_WARPS", "CONSUMER_REGISTERS"]
    purposes += ["TRANSFORM_REGISTERS"] if plan.transform is not None else []
    constexprs = [b.view.flag for _, b in plan.buffers() if b.view.flag]
    constexprs += [name for purpose in purposes if (name := plan.name(purpose)) in names]
    scalars = list(plan.persistence.extents) if plan.persistence else []
    own = frozenset(param.name for param in kernel.params)
    parameters = signature(
        function.params,
        names & own,
        _descriptors(plan),
        scalars,
        list(dict.fromkeys(constexprs)),
        tl,
    )
    result = function.with_changes(
        name=cst.Name(plan.converted),
        params=parameters,
        decorators=[cst.Decorator(decorator=cst.parse_expression(_decorator(plan)))],
        leading_lines=[],
        lines_after_decorators=decorator_comments(function),
        whitespace_before_params=before_params(function),
        body=block.with_changes(body=body, footer=block.footer),
    )
    return text.module.with_changes(body=[result], header=[], footer=[]).code


def _transform(
    plan: Plan,
    text: FunctionText,
    counters: dict[Span, str],
    settled: dict[Span, bool],
    filling: frozenset[Span],
    tl: str,
) -> Role:
    """The role that computes a second operand; `filling` are the statements in whose place slots are filled."""
    assert plan.transform is not None
    uses = transform.edits(plan, plan.transform, text, _program_ids(plan), tl)
    return Role(
        text,
        plan.task("transform").keeps,
        slots.texts(uses.replaced),
        uses.expressions,
        accesses=slots.under_masks(uses, tl),
        before=slots.texts(uses.before),
        after=slots.texts(uses.after),
        counters=counters,
        reversible=plan.reversible,
        settled=settled,
        # The producer shows what is said about a load, the consumers what is said about the dot.
        silent=filling | {plan.transform.statement},
    )


def _descriptors(plan: Plan) -> dict[str, list[str]]:
    """The descriptors of each pointer parameter: one tensor may be read through several."""
    found: dict[str, list[str]] = {}
    for _, one in plan.buffers():
        found.setdefault(one.view.parameter, []).append(one.view.descriptor)
    return found


def _decorator(plan: Plan) -> str:
    """Extents of the grid differ from launch to launch: a kernel compiled anew for each would help nobody."""
    if plan.persistence is None:
        return "tlx.jit"
    names = ", ".join(f'"{name}"' for name in plan.persistence.extents)
    return f"tlx.jit(do_not_specialize=[{names}])"


def _program_ids(plan: Plan) -> dict[Span, str]:
    """Program ids and counts of the source, decoded from the tile index."""
    held = plan.persistence
    if held is None:
        return {}
    replacements = {span: decoded(held, axis) for span, axis in plan.program_ids}
    for span, axis in plan.num_programs:
        replacements[span] = held.extents[axis] if axis < held.rank else "1"
    return replacements


def _expressions(plan: Plan, tl: str) -> dict[Span, str]:
    """What the consumers write differently whatever they use slots for."""
    return {**_program_ids(plan), **_rows(plan, tl)}


def _rows(plan: Plan, tl: str) -> dict[Span, str]:
    """The split axis of each group: its own rows, at its own offset."""
    split = plan.split
    if split is None:
        return {}
    group_rows = f"{split.rows} * {split.group} + {tl}.arange(0, {split.rows})"
    made = {c.span: group_rows if c.kind == "arange" else split.rows for c in split.creators}
    return {**dict(split.reads), **made}  # where a shape asks for it, the block is as long as the group's rows


def _without_docstring(body: list[cst.BaseStatement]) -> tuple[list[cst.BaseStatement], list[cst.BaseStatement]]:
    if body and isinstance(body[0], cst.SimpleStatementLine):
        first = body[0].body[0]
        if isinstance(first, cst.Expr) and isinstance(first.value, cst.SimpleString | cst.ConcatenatedString):
            return body[:1], body[1:]
    return [], body
