"""Matrix products: they tie the contracted axes of their operands together."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ...diagnostics import Decline
from ..events import DotEvent
from ..values import DOT, Origin, Value
from .registry import Call, handles

if TYPE_CHECKING:
    from ..interpret import Interpreter


_PARAMETERS = "input other acc input_precision allow_tf32 max_num_imprecise_acc out_dtype".split()


@handles("dot")
def dot(run: Interpreter, call: Call) -> Value:
    """Rows of the one, columns of the other. Raises Decline TLX104 for operands that are not two-dimensional."""
    a_node, b_node, accumulator = call.need(0, "input"), call.need(1, "other"), call.get(2, "acc")
    a, b = run.expression(a_node), run.expression(b_node)
    held = run.expression(accumulator) if accumulator is not None else None
    if len(a.axes) != 2 or len(b.axes) != 2:
        raise Decline("TLX104", call.span, what="a dot of blocks that are not two-dimensional")
    a_inner, b_inner = a.axes[1], b.axes[0]
    if a_inner is not None and b_inner is not None:
        run.axes.union(a_inner, b_inner)
    run.axes.mark(a_inner, "contracted")
    run.axes.mark(b_inner, "contracted")
    axes = run.axes.broadcast((a.axes[0], b.axes[1]), held.axes if held is not None else ())
    for keyword in call.keywords:
        if keyword not in _PARAMETERS:  # `trans_b` of old: no Triton that has warp groups knows it
            raise Decline("TLX104", call.span, what=f"a dot with the argument `{keyword}`")
    given = {**dict(zip(_PARAMETERS, call.positional, strict=False)), **call.keywords}
    options = tuple((name, ast.unparse(value)) for name, value in given.items() if name not in _PARAMETERS[:3])
    known = {"": held, **run.scope} if held is not None else run.scope
    elements = tuple((name, value.element) for name, value in known.items() if value.element is not None)
    run.events.dots.append(DotEvent(run.place(call.node), a, b, a_node, b_node, accumulator, options, elements))
    return Value(axes=axes, origin=Origin("dot"), loads=a.loads | b.loads | {DOT})


@handles("dot_scaled")
def dot_scaled(run: Interpreter, call: Call) -> Value:
    """Raises Decline TLX315."""
    raise Decline("TLX315", call.span)
