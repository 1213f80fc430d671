"""Functions of the launch and of scalars: program ids, ceiling division, checks and effects."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ...diagnostics import Decline
from ...poly import Symbol
from ..values import Value, literal, number, pure
from .registry import Call, handles

if TYPE_CHECKING:
    from ..interpret import Interpreter


@handles("program_id", "num_programs")
def program(run: Interpreter, call: Call) -> Value:
    """A scalar named after its grid axis; `?` where the axis is no literal."""
    value = run.expression(call.get(0, "axis") or ast.Constant(0)).literal
    axis = value if isinstance(value, int) and value in range(3) else None
    record = run.events.program_ids if call.name == "program_id" else run.events.num_programs
    entry = (call.span, axis, run.helpers)
    if entry not in record:
        record.append(entry)
    return number(Symbol(f"tl.{call.name}({axis if axis is not None else '?' + run.site(call.span)})"))


@handles("cdiv")
def cdiv(run: Interpreter, call: Call) -> Value:
    """The quotient rounded up: a number where both sides are, else a pure function of them."""
    left, right = run.expression(call.need(0, "x")), run.expression(call.need(1, "div"))
    if not left.scalar or not right.scalar:
        return run.arithmetic.pointwise(left, right, template="cdiv({}, {})")
    dividend, divisor = (value.poly.constant if value.poly is not None else None for value in (left, right))
    if dividend is not None and divisor:
        return number(-(-dividend // divisor))
    return pure("cdiv({}, {})", left, right)


@handles("static_assert", "assume")
def check(run: Interpreter, call: Call) -> Value:
    """Checks and promises without an effect on results: kept where their names are."""
    for node in call.positional[:1]:
        run.events.used(run.expression(node), call.span)
    return literal(None)


@handles("device_print", "static_print", "device_assert", "debug_barrier")
def effect(run: Interpreter, call: Call) -> Value:
    """What no role may take over silently."""
    if call.name == "device_assert":  # the consumers keep it
        run.events.used(run.expression(call.need(0, "cond")), call.span)
    run.events.effects.append((run.place(call.node), f"tl.{call.name}"))
    return literal(None)


@handles("inline_asm_elementwise")
def inline_assembly(run: Interpreter, call: Call) -> Value:
    """Raises Decline TLX307."""
    raise Decline("TLX307", call.span)
