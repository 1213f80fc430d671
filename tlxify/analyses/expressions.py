"""Abstract interpretation of expressions: names, operators, choices, subscripts and attributes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..diagnostics import Decline
from ..model import Alias, Constant, Helper, Unresolved
from ..poly import Poly, Symbol
from ..source import Span
from .calls import call
from .language.shapes import transposed
from .lengths import all_read, lengths, one_read, shape
from .spreads import SIGNS
from .values import MISSING, Value, literal

if TYPE_CHECKING:
    from .interpret import Interpreter

_BUILTINS = frozenset("range min max abs len int float bool sum print isinstance slice".split())
#: What can be asked of a dtype, or of a value about its dtype: settled when the kernel is compiled.
_DTYPE_QUESTIONS = ("dtype", "type", "element_ty", "value", "scalar", "primitive_bitwidth", "is_fp8", "handle")


def evaluate(run: Interpreter, node: ast.expr) -> Value:
    """The value of an expression. Raises Decline TLX104 for a construct it does not know."""
    match node:
        case ast.Constant(value=value):
            return literal(value)
        case ast.Name():
            return _name(run, node)
        case ast.BinOp(left=left, op=op, right=right):
            return binary(run, op, evaluate(run, left), evaluate(run, right), Span.of(node))
        case ast.UnaryOp(op=op, operand=operand):
            return _unary(run, op, evaluate(run, operand), Span.of(node))
        case ast.BoolOp():
            return _both_or_either(run, node)
        case ast.Compare(left=left, ops=[_], comparators=[right]):
            return _compare(run, node, evaluate(run, left), evaluate(run, right))
        case ast.IfExp():
            return _either(run, node)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return Value(items=tuple(evaluate(run, element) for element in elements))
        case ast.Subscript():
            return _subscript(run, node)
        case ast.Attribute():
            return _attribute(run, node)
        case ast.Call():
            return call(run, node)
        case ast.JoinedStr():
            return literal("")
        case _:
            raise Decline("TLX104", Span.of(node), what=f"a `{type(node).__name__}` expression")


def _both_or_either(run: Interpreter, node: ast.BoolOp) -> Value:
    """`a and b`, `a or b`: a flag that is settled decides, or has no say. Raises Decline as `evaluate` does."""
    word, decisive = (" and ", False) if isinstance(node.op, ast.And) else (" or ", True)
    operands: list[Value] = []
    for part in node.values:
        value = evaluate(run, part)
        if not operands and value.literal is not MISSING and bool(value.literal) == decisive:
            return value
        if value.literal is not (not decisive):
            operands.append(value)
    if not operands:
        return literal(not decisive)
    return run.worked(
        word.strip(), run.arithmetic.pointwise(*operands, template=f"({word.join('{}' for _ in operands)})")
    )


def _either(run: Interpreter, node: ast.IfExp) -> Value:
    known = evaluate(run, node.test)
    if known.literal is not MISSING:
        return evaluate(run, node.body if known.literal else node.orelse)
    name = run.named[1] if run.named is not None and run.named[0] is node else ""
    first, second = evaluate(run, node.body), evaluate(run, node.orelse)
    choice = run.choice(run.scope, known, run.statement)
    return run.join(first, second, f"@{run.site(Span.of(node))}", choice, name)


def binary(run: Interpreter, op: ast.operator, left: Value, right: Value, span: Span) -> Value:
    """`left op right`, as a use of both sides."""
    result = run.arithmetic.binary(op, run.events.used(left, span), run.events.used(right, span))
    if isinstance(op, ast.Add) and "dot" in (left.origin.kind, right.origin.kind):
        return result  # the tensor cores add up in what the product is added to
    return run.worked(SIGNS[type(op)], result)


def _unary(run: Interpreter, op: ast.unaryop, operand: Value, span: Span) -> Value:
    match op:
        case ast.UAdd():
            return operand
        case ast.USub():
            return run.worked("-", run.arithmetic.negate(run.events.used(operand, span)))
        case ast.Not() if operand.literal is not MISSING:
            return literal(not operand.literal)
        case _:
            template = "(not {})" if isinstance(op, ast.Not) else "(~{})"
            return run.worked("~", run.arithmetic.pointwise(run.events.used(operand, span), template=template))


def _name(run: Interpreter, node: ast.Name) -> Value:
    if node.id in run.scope:
        return run.scope[node.id]
    if node.id in _BUILTINS and run.module.meaning(node.id) is None:
        return Value(reference=node.id)
    return _global(run, node, node.id)


def _global(run: Interpreter, node: ast.Name | ast.Attribute, chain: str) -> Value:
    """A name of the module, or a member of a module that it names. Raises Decline TLX107."""
    prefix, meaning = run.module.meaning(chain) or (chain, None)
    match meaning:
        case Constant(value=value) if chain in (prefix, f"{prefix}.value"):
            return literal(value)
        case Helper() if chain == prefix:
            return Value(reference=chain)
        case Alias(canonical=canonical):
            return Value(reference=canonical + chain.removeprefix(prefix))
        case Unresolved(why=why):
            raise Decline("TLX107", Span.of(node), name=prefix, why=why)
    raise Decline("TLX107", Span.of(node), name=chain)


def _compare(run: Interpreter, node: ast.Compare, left: Value, right: Value) -> Value:
    op, span = node.ops[0], Span.of(node)
    if left.scalar and right.scalar and not run.helpers:
        run.events.comparisons[span] = (node, left, right)
    for block, scalar in ((left, right), (right, left)):
        if block.spread is not None and scalar.scalar and scalar.poly is not None:
            run.events.thresholds.update({(symbol, scalar.poly): None for symbol in block.spread.poly.symbols})
    if left.literal is not MISSING and right.literal is not MISSING:
        match op:
            case ast.Eq() | ast.Is():
                return literal(left.literal == right.literal)
            case ast.NotEq() | ast.IsNot():
                return literal(left.literal != right.literal)
    if isinstance(op, ast.Is | ast.IsNot) and right.literal is None:
        # Triton specializes arguments that are None: the question is settled when the kernel is compiled. What was
        # computed is never None.
        parameter = left.poly is not None and any(Poly.of(s) == left.poly and not s.operands for s in left.poly.symbols)
        if left.axes or left.reference or (left.poly is not None and not parameter):
            return literal(isinstance(op, ast.IsNot))
        what = left.poly.text() if left.poly is not None else "?"
        return Value(poly=Poly.of(Symbol(f"({what} is None)", launch=True, constexpr=True)))
    compared = run.arithmetic.compare(op, run.events.used(left, span), run.events.used(right, span))
    return run.worked(SIGNS[type(op)], compared)


def _subscript(run: Interpreter, node: ast.Subscript) -> Value:
    """`x[:, None]` inserts axes; `t[0]` takes an item of a tuple."""
    index = node.slice
    if isinstance(node.value, ast.Attribute) and _is_shape(run, node.value):
        block, owner = shape(run, node.value)
        place = evaluate(run, index).literal
        if isinstance(place, int):
            one_read(run, node, block, owner, place)
        value = lengths(run, owner)
    else:
        value = evaluate(run, node.value)
    if value.items is not None:
        which = evaluate(run, index).literal
        if isinstance(which, int) and -len(value.items) <= which < len(value.items):
            return value.items[which]
        raise Decline("TLX104", Span.of(node), what="an index into a tuple that is not a literal")
    for position, entry in enumerate(index.elts if isinstance(index, ast.Tuple) else [index]):
        match entry:
            case ast.Slice(lower=None, upper=None, step=None) if position < len(value.axes):
                pass
            case ast.Constant(value=None):
                value = value.with_axis(position)
            case _:
                raise Decline("TLX104", Span.of(node), what="a subscript other than `:` and `None`")
    return value


def _is_shape(run: Interpreter, node: ast.Attribute) -> bool:
    """Whether it is the shape of what the kernel has, not a member of a module."""
    root: ast.expr = node
    while isinstance(root, ast.Attribute):
        root = root.value
    return node.attr == "shape" and not (isinstance(root, ast.Name) and root.id not in run.scope)


def _attribute(run: Interpreter, node: ast.Attribute) -> Value:
    """Attributes of modules, dtypes and blocks."""
    root: ast.expr = node
    while isinstance(root, ast.Attribute):
        root = root.value
    if isinstance(root, ast.Name) and root.id not in run.scope:
        return _global(run, node, ast.unparse(node))
    if node.attr == "shape":
        block, owner = shape(run, node)
        all_read(run, node, block, owner)
        return lengths(run, owner)
    value = evaluate(run, node.value)
    if node.attr == "T":
        return transposed(run, value, Span.of(node))
    if node.attr in _DTYPE_QUESTIONS:
        return Value(reference="?dtype") if value.reference or value.axes or value.poly is not None else value
    raise Decline("TLX104", Span.of(node), what=f"the attribute `{node.attr}`")
