"""Functions that combine the positions of an axis: reductions drop it, scans keep it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...poly import REDUCED, Poly, Symbol
from ..values import Value
from .registry import Call, handles
from .shapes import opaque

if TYPE_CHECKING:
    from ..interpret import Interpreter


@handles("sum", "max", "min", "argmax", "argmin", "xor_sum", "reduce_or", "reduce")
def reduce(run: Interpreter, call: Call) -> Value:
    """The value without one of its axes, or without any; with `keep_dims` their length becomes one."""
    value = run.events.used(run.expression(call.need(0, "input")), call.span)
    run.worked(call.name, value)
    axis, keep = call.get(1, "axis"), call.keywords.get("keep_dims")
    which = None if axis is None else run.expression(axis).literal
    keeps = keep is not None and run.expression(keep).literal is True
    rank = len(value.axes)
    reduced = range(rank) if not isinstance(which, int) else [which % rank] if rank else []
    for position in reduced:
        run.axes.mark(value.axes[position], "reduced")
    axes = tuple(None if i in reduced else a for i, a in enumerate(value.axes) if keeps or i not in reduced)
    if not axes:
        symbol = Symbol(f"{REDUCED}{run.site(call.span)}")
        return Value(poly=Poly.of(symbol), loads=value.loads)
    return Value(axes=axes, loads=value.loads)


@handles("cumsum", "cumprod", "sort", "softmax", "flip", "associative_scan", "histogram", "topk")
def scan(run: Interpreter, call: Call) -> Value:
    """Data of the same shape whose positions depend on each other."""
    value = run.expression(call.need(0, "input"))
    if "axis" in call.keywords:
        run.events.used(run.expression(call.keywords["axis"]), call.span)
    return opaque(run, run.worked(call.name, value), call.span)


@handles("gather")
def gather(run: Interpreter, call: Call) -> Value:
    """Positions of a block picked by another, which has the result's shape."""
    source, index = run.expression(call.need(0, "src")), run.expression(call.need(1, "index"))
    opaque(run, source, call.span)
    picked = opaque(run, index, call.span)
    return Value(axes=picked.axes, loads=source.loads | index.loads)
