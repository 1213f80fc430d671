"""Functions that work position by position: arithmetic, casts, and promises that change no value."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from ...poly import EITHER, ONE, ZERO, Poly, Symbol
from .. import spreads
from ..lengths import promised
from ..values import MISSING, Value, number, pure
from .registry import LANGUAGE, Call, handles

if TYPE_CHECKING:
    from ..interpret import Interpreter

_FUNCTIONS = (
    "abs ceil clamp cos div_rn erf exp exp2 fdiv floor fma log log2 maximum minimum rsqrt sigmoid sin sqrt sqrt_rn "
    "umulhi add sub mul rand randn randint rand4x to_tensor"
)
_DTYPES = (
    "int1 int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
    "float8e4nv float8e5 float8e4b15 float8e4b8 float8e5b16 float16 bfloat16 float32 float64 void"
)
_INTEGERS = frozenset("int8 int16 int32 int64 uint8 uint16 uint32 uint64".split())


@handles(*_FUNCTIONS.split())
def elementwise(run: Interpreter, call: Call) -> Value:
    """Data of the arguments' common shape; a scalar where all of them are."""
    return pointwise(run, call, f"tl.{call.name}")


def pointwise(run: Interpreter, call: Call, name: str) -> Value:
    """The same under another name. The smaller or larger of two known integers is known."""
    values = call.used(run)
    pick = {"minimum": min, "maximum": max, "min": min, "max": max}.get(call.name.rpartition(".")[2])
    known = [value.literal for value in values if value.literal is not MISSING and isinstance(value.literal, int)]
    if pick is not None and len(values) == len(known) == 2:
        return number(int(pick(known)))
    return _pointwise(run, call, name, values)


def _pointwise(run: Interpreter, call: Call, name: str, values: list[Value]) -> Value:
    written = ", ".join([*("{}" for _ in call.positional), *(f"{keyword}={{}}" for keyword in call.keywords)])
    result = run.arithmetic.pointwise(*values, template=f"{name}({written})")
    if len(result.axes) == 2:
        run.events.elementwise.append((run.place(call.node), name.rpartition(".")[2]))
    return run.worked(name.rpartition(".")[2], result)


@handles("where")
def where(run: Interpreter, call: Call) -> Value:
    """Data; `where(i < M, i, 0)` is a tile that begins anew at its extent, as `i % M` is one that does where M fits.

    The two differ in positions past the extent alone, and a wrapped tile is taken only where those reach nothing.
    """
    found = {node: run.expression(node) for node in (*call.positional, *call.keywords.values())}
    nodes = (call.need(0, "condition"), call.need(1, "x"), call.need(2, "y"))
    condition, inside, outside = (found[node] for node in nodes)
    if condition.bounds is not None and len(condition.bounds) == 1 and not condition.partial:
        (bound,) = condition.bounds
        terms = inside.terms if inside.affine else ()
        zero = outside.scalar and outside.poly == ZERO
        if zero and not bound.waived and len(terms) == 1 and inside.poly is not None:
            (term,) = terms
            if term.plain and (term.dim, term.stride) == (bound.dim, ONE):
                wrapped = replace(term, offset=inside.poly, modulus=inside.poly - bound.index, folded=True)
                return replace(inside, poly=ZERO, terms=(wrapped,), loads=inside.loads | condition.loads)
    result = _pointwise(run, call, "tl.where", [run.events.used(value, call.span) for value in found.values()])
    which = Symbol(f"{EITHER}where@{run.site(call.span)}", operands=_options(condition, inside, outside))
    return result if result.scalar else replace(result, spread=spreads.either(which, condition, inside, outside))


def _options(condition: Value, inside: Value, outside: Value) -> tuple[Poly, ...]:
    """What a block is at most at each position; nothing where that is not known."""
    found: list[Poly] = []
    for value in (inside, outside):
        known = value.spreading
        if known is None:
            return ()
        if not known.terms:
            found.append(known.poly)
            continue
        term, bound = known.terms[0], (condition.bounds or (None,))[0]
        if value is outside or bound is None or not term.plain or (term.dim, term.stride) != (bound.dim, ONE):
            return ()
        found.append(known.poly - bound.index - ONE)  # positions below an end
    return tuple(found)


@handles("cast")
def cast(run: Interpreter, call: Call) -> Value:
    """Integers stay affine under integer casts; everything else becomes data."""
    value, dtype = run.expression(call.need(0, "input")), call.get(1, "dtype")
    target = run.expression(dtype) if dtype is not None else Value()
    if target.reference and target.reference.removeprefix(LANGUAGE) in _INTEGERS and value.affine:
        return value
    if isinstance(dtype, ast.Name) and target.poly is not None and target.poly.constexpr:
        run.events.casts.setdefault(dtype.id, call.span)
    if value.scalar:
        return pure(f"{{}}.to({ast.unparse(dtype) if dtype else ''})", value) if not value.loads else value
    integer = target.reference is not None and target.reference.removeprefix(LANGUAGE) in _INTEGERS
    data = run.events.used(value, call.span).data(value.axes)
    return run.worked("to", replace(data, why=value.why, spread=value.spread if integer else None))


@handles("swizzle2d")
def swizzle2d(run: Interpreter, call: Call) -> Value:
    """The coordinates of a tile in another order: two pure functions of scalars."""
    operands = [run.expression(node) for node in (*call.positional, *call.keywords.values())]
    written = ", ".join([*("{}" for _ in call.positional), *(f"{keyword}={{}}" for keyword in call.keywords)])
    made = [run.arithmetic.pointwise(*operands, template=f"tl.swizzle2d({written})[{i}]") for i in range(2)]
    return Value(items=tuple(made))


@handles("standard._log2", "pointer_type")
def compile_time(run: Interpreter, call: Call) -> Value:
    """Numbers and types of the compiler's."""
    return pointwise(run, call, f"tl.{call.name}")


@handles("multiple_of", "max_contiguous", "max_constancy")
def promise(run: Interpreter, call: Call) -> Value:
    """Promises to the compiler about a value: the value itself."""
    value = run.expression(call.need(0, "input"))
    promised(run, value, call.get(1, "values"))
    return value


@handles("constexpr", *_DTYPES.split())
def unchanged(run: Interpreter, call: Call) -> Value:
    """Wrappers around a value: the value itself."""
    return run.expression(call.need(0, "input"))
