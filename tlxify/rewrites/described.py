"""Descriptors only: the kernel as it stands, with loads through descriptors in the place of loads through pointers.

What: one body, in which each tile that the TMA can be asked for is loaded by `a_desc.load([…])`.
Why: addresses and masks of whole tiles are computed by hardware, and the compiler's pipelining stays what it was.
Before: `a = tl.load(a_ptrs, mask=…, other=0.0)`.
After: `a = a_desc.load([pid_m * BLOCK_M, k * BLOCK_K])`; what only led to `a_ptrs` is gone.
When refused: never; the schedule has found coordinates that can be written with names in scope.
"""

from __future__ import annotations

import re

import libcst as cst

from ..model import Kernel, walk
from ..plan import Described, Plan
from ..source import Span
from .lines import choice
from .names import read_names
from .role import Role
from .shell import before_params, called, decorator_comments
from .signature import signature
from .structure import structured


def described_kernel(kernel: Kernel, plan: Plan, tl: str) -> str:
    """The text of the converted kernel. `tl` is the module's name for `triton.language`."""
    text = structured(kernel)
    keeps = plan.task("program").keeps
    branches: dict[Span, list[str]] = {}
    for one in plan.described:
        if one.whole:
            branches.setdefault(one.statement, []).append(f"{one.name} = {_load(one, tl)}")
    whole = {span: "\n".join(lines) for span, lines in branches.items()}
    settled = dict(plan.settled)
    dropped = frozenset(node.span for node in walk(kernel.body)) - keeps - set(whole) - set(settled)
    before: dict[Span, list[str]] = {}
    for access in plan.written_out:
        before.setdefault(access.statement, []).extend(f"{name} = {value}" for name, value in access.positions)
    role = Role(
        text,
        keeps,
        whole,
        {one.load: _load(one, tl) for one in plan.described if not one.whole},
        accesses={one.span: called(one, tl) for one in plan.written_out},
        before={access.statement: "\n".join(before[access.statement]) for access in plan.written_out},
        counters=dict(plan.counters),
        adopts=dropped,
        reversible=plan.reversible,
        settled=settled,
        pipelined=False,
    )
    body = role.body()
    function = text.function
    block = function.body
    assert isinstance(block, cst.IndentedBlock)
    names = read_names(body)
    flags = list(dict.fromkeys(one.view.flag for one in plan.described if one.view.flag))
    descriptors: dict[str, list[str]] = {}
    for one in plan.described:
        known = descriptors.setdefault(one.view.parameter, [])
        known += [one.view.descriptor] if one.view.descriptor not in known else []
    parameters = signature(
        function.params, names & frozenset(param.name for param in kernel.params), descriptors, [], flags, tl
    )
    result = function.with_changes(
        name=cst.Name(plan.converted),
        params=parameters,
        decorators=[cst.Decorator(decorator=cst.parse_expression("triton.jit"))],
        leading_lines=[],
        lines_after_decorators=decorator_comments(function),
        whitespace_before_params=before_params(function),
        body=block.with_changes(body=body, footer=block.footer),
    )
    return text.module.with_changes(body=[result], header=[], footer=[]).code


def _load(one: Described, tl: str) -> str:
    """The load as an expression: rows first, whichever axis is contiguous in memory."""
    # Coordinates call Triton's functions `tl`, whatever the module does.
    *batch, row, column = (re.sub(r"(?<![\w.])tl\.", f"{tl}.", text) for text in one.coordinates)
    rows, columns = one.tile

    def shaped(*sides: str) -> str:
        return f".reshape({', '.join(sides)})" if batch else ""

    name = one.view.descriptor
    straight = f"{name}.load([{', '.join([*batch, row, column])}]){shaped(rows, columns)}"
    swapped = f"{name}.load([{', '.join([*batch, column, row])}]){shaped(columns, rows)}.T"
    text = choice(one.view.flag, swapped, straight)
    if not one.shape:
        return text
    return f"({text}).reshape({', '.join(one.shape)})"
