"""Abstract interpretation of a kernel body: statements.

Every name is bound to what is known of its value. A loop body is interpreted twice: first with a placeholder for each name
it rebinds, to find names that step by an invariant amount, then with `entry + trip × step` in their place. Both arms of an
`if` are interpreted and joined; jit helpers are interpreted in place with their arguments.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from ..diagnostics import Decline
from ..facts import LoopFact
from ..model import Kernel, Module
from ..poly import Poly, Symbol
from ..source import Span
from .arithmetic import Arithmetic
from .axes import AxisTable
from .calls import Calls
from .events import Events, Place
from .values import MISSING, Value, literal, number

Scope = dict[str, Value]


class Interpreter:
    """One run over one kernel. The result is in `events` and `axes`."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.axes = AxisTable()
        self.arithmetic = Arithmetic(self.axes)
        self.events = Events()
        self.scope: Scope = {}
        self.calls = Calls(self)
        self.statement = Span(1, 0, 1, 0)
        #: The expression that is being assigned, and the name it goes to.
        self.named: tuple[ast.expr, str] | None = None
        self.loops: tuple[Span, ...] = ()
        self.branches: tuple[Span, ...] = ()
        self.helpers: tuple[str, ...] = ()
        self._returned: list[Value] = []

    def run(self, kernel: Kernel) -> None:
        """Interprets the kernel with its parameters as unknowns that the launch fixes."""
        self.scope = {p.name: number(Symbol(p.name, launch=True, constexpr=p.constexpr)) for p in kernel.params}
        self.block(kernel.node.body)

    # ---- statements

    def block(self, body: list[ast.stmt]) -> None:
        """Interprets statements in order."""
        for statement in body:
            if not self.helpers:
                self.statement = Span.of(statement)
            self.execute(statement)

    def execute(self, statement: ast.stmt) -> None:
        """Interprets one statement. Raises Decline TLX104 for a construct it does not know."""
        match statement:
            case ast.Assign(targets=targets, value=value):
                self.named = (value, targets[0].id) if len(targets) == 1 and isinstance(targets[0], ast.Name) else None
                result = self.expression(value)
                for target in targets:
                    self.bind(target, result)
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self.named = (value, target.id) if isinstance(target, ast.Name) else None
                    self.bind(target, self.expression(value))
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                left = self.expression(ast.copy_location(ast.Name(name, ast.Load()), target))
                self.bind(target, self.calls.use_binary(op, left, self.expression(value), Span.of(statement)))
            case ast.Expr(value=value):
                self.expression(value)
            case ast.Return(value=value):
                self._return(statement, value)
            case ast.For():
                self._for(statement)
            case ast.While():
                self._while(statement)
            case ast.If():
                self._if(statement)
            case ast.Pass():
                pass
            case ast.Assert():
                self.expression(statement.test)
            case _:
                raise Decline("TLX104", Span.of(statement), what=f"a `{type(statement).__name__.lower()}` statement")

    def bind(self, target: ast.expr, value: Value) -> None:
        """Assigns to a name or unpacks a tuple."""
        match target:
            case ast.Name(id=name):
                self.scope[name] = value
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                items = value.items
                for position, element in enumerate(elements):
                    known = items is not None and len(items) == len(elements)
                    self.bind(element, items[position] if known and items else self.unknown(value, Span.of(element)))
            case _:
                raise Decline("TLX104", Span.of(target), what="an assignment to something other than a name")

    def unknown(self, value: Value, span: Span) -> Value:
        """A component of a value that is not taken apart: same axes, no affine form."""
        if value.scalar:
            return Value(poly=Poly.of(Symbol(f"part@{span.line}:{span.column}")), loads=value.loads)
        for axis in value.axes:
            self.axes.mark(axis, "opaque")
        return value.data(value.axes)

    def place(self, node: ast.AST) -> Place:
        """Where `node` is, for an event."""
        span = self.statement if self.helpers else Span.of(node)
        return Place(span, self.statement, self.loops, self.branches, self.helpers)

    def _return(self, statement: ast.Return, value: ast.expr | None) -> None:
        if self.helpers:
            self._returned.append(self.expression(value) if value is not None else literal(None))
        else:
            self.events.returns.append(self.place(statement))

    # ---- helpers

    def call_helper(
        self, function: ast.FunctionDef, arguments: list[Value], keywords: dict[str, Value], span: Span
    ) -> Value:
        """The value of a jit helper for these arguments. Raises Decline for recursion and unmatched arguments."""
        if function.name in self.helpers:
            raise Decline("TLX106", span, name=function.name)
        parameters = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        defaults = [None] * (len(function.args.posonlyargs) + len(function.args.args) - len(function.args.defaults))
        defaults += [*function.args.defaults, *function.args.kw_defaults]  # type: ignore[list-item]
        scope: Scope = dict(zip((p.arg for p in parameters), arguments, strict=False))
        scope.update(keywords)
        saved = (self.scope, self._returned, self.named)
        self.scope, self._returned, self.named = scope, [], None
        self.helpers = (*self.helpers, function.name)
        try:
            for parameter, default in zip(parameters, defaults, strict=True):
                if parameter.arg not in scope:
                    if default is None:
                        raise Decline("TLX105", span, name=f"{function.name}: argument {parameter.arg}")
                    scope[parameter.arg] = self.expression(default)
            self.block(function.body)
            results = self._returned
        finally:
            self.helpers = self.helpers[:-1]
            self.scope, self._returned, self.named = saved
        if not results:
            return literal(None)
        result = results[0]
        for other in results[1:]:
            result = self.join(result, other, span)
        return result

    # ---- branches

    def _if(self, statement: ast.If) -> None:
        test = self.expression(statement.test)
        if test.literal is not MISSING and isinstance(test.literal, bool | int | str | None):
            self.block(statement.body if test.literal else statement.orelse)
            return
        constexpr = test.poly is not None and test.poly.constexpr
        before, span = self.scope, Span.of(statement)
        if not constexpr:
            self.branches = (*self.branches, span)
        self.scope = dict(before)
        self.block(statement.body)
        first, self.scope = self.scope, dict(before)
        self.block(statement.orelse)
        second = self.scope
        if not constexpr:
            self.branches = self.branches[:-1]
        self.scope = {
            name: self.join(first[name], second[name], span)
            if name in first and name in second
            else (first | second)[name]
            for name in [*first, *(n for n in second if n not in first)]
        }

    def join(self, first: Value, second: Value, span: Span) -> Value:
        """What is known of a value that is one of two."""
        if first == second:
            return first
        loads = first.loads | second.loads
        if first.items is not None and second.items is not None and len(first.items) == len(second.items):
            return Value(items=tuple(self.join(a, b, span) for a, b in zip(first.items, second.items, strict=True)))
        if first.scalar and second.scalar:
            return Value(poly=Poly.of(Symbol(f"either@{span.line}:{span.column}")), loads=loads)
        if len(first.axes) == len(second.axes):
            axes = self.axes.broadcast(first.axes, second.axes)
            if first.affine and first.poly == second.poly and first.terms == second.terms:
                return replace(first, axes=axes, loads=loads)
            return Value(axes=axes, loads=loads, why=("TLX201", "a value that depends on a branch"))
        for axis in (*first.axes, *second.axes):
            self.axes.mark(axis, "opaque")
        return Value(axes=first.axes or second.axes, loads=loads, why=("TLX201", "a value that depends on a branch"))

    # ---- loops

    def _for(self, statement: ast.For) -> None:
        span = Span.of(statement)
        trip = Symbol(f"trip@{span.line}:{span.column}", trip=True)
        bounds = self.calls.loop_bounds(statement.iter)
        start, stop, step = (value.poly for value in bounds.values)
        variable = statement.target.id if isinstance(statement.target, ast.Name) else None
        if variable is None:
            raise Decline("TLX104", Span.of(statement.target), what="a loop over several names")
        fact = LoopFact(span, bounds.kind, variable, start, stop, step, trip, bounds.text)
        counter = Value(poly=Poly.of(Symbol(f"{variable}@{span.line}")))
        if start is not None and step is not None:
            counter = number(start + step * Poly.of(trip))
        self._repeat(statement.body, fact, {variable: counter})
        if statement.orelse:
            raise Decline("TLX104", Span.of(statement.orelse[0]), what="`else` of a loop")

    def _while(self, statement: ast.While) -> None:
        span = Span.of(statement)
        trip = Symbol(f"trip@{span.line}:{span.column}", trip=True)
        self.expression(statement.test)
        self._repeat(statement.body, LoopFact(span, "while", None, None, None, None, trip), {})

    def _repeat(self, body: list[ast.stmt], fact: LoopFact, counters: Scope) -> None:
        rebound = sorted(_assigned(body) - set(counters))
        entry = self.scope
        known = {s for value in entry.values() if value.poly is not None for s in value.poly.symbols}
        placeholders = {name: self._placeholder(name, entry[name], fact) for name in rebound if name in entry}
        mark = self.events.mark()
        self.loops = (*self.loops, fact.span)
        self.scope = {**entry, **placeholders, **counters}
        self.block(body)
        carried: Scope = {}
        for name, before in placeholders.items():
            carried[name] = self._carried(name, entry[name], before, self.scope.get(name, before), fact, known)
        self.events.rollback(mark)
        self.events.loops.append(fact)
        self.scope = {**entry, **carried, **counters}
        self.block(body)
        self.loops = self.loops[:-1]
        after = self.scope
        self.scope = {
            name: self._after(name, value, entry, fact) if name in rebound or name in counters else value
            for name, value in after.items()
        }

    def _placeholder(self, name: str, value: Value, fact: LoopFact) -> Value:
        if value.affine:
            return replace(value, poly=Poly.of(Symbol(f"{name}@{fact.span.line}")), literal=MISSING)
        return Value(axes=value.axes, loads=value.loads, why=value.why)

    def _carried(
        self, name: str, entry: Value, before: Value, after: Value, fact: LoopFact, known: set[Symbol]
    ) -> Value:
        """What a rebound name holds at the start of trip t."""
        if entry.poly is not None and before.poly is not None:
            if after.poly is not None and after.terms == before.terms:
                step = after.poly - before.poly
                if all(symbol.launch or symbol in known for symbol in step.symbols):
                    return replace(entry, poly=entry.poly + step * Poly.of(fact.trip), literal=MISSING)
            if entry.scalar:
                return Value(poly=before.poly, loads=after.loads)
            axes = self.axes.broadcast(entry.axes, after.axes)
            return Value(axes=axes, loads=entry.loads | after.loads, why=("TLX203", name))
        if len(entry.axes) != len(after.axes):
            return Value(axes=entry.axes, loads=entry.loads | after.loads)
        axes = self.axes.broadcast(entry.axes, after.axes)
        return Value(axes=axes, loads=entry.loads | after.loads, why=entry.why)

    def _after(self, name: str, value: Value, entry: Scope, fact: LoopFact) -> Value:
        if value.poly is None or (name not in entry and value.scalar is False):
            return value
        if name in entry and value == entry[name]:
            return value
        if value.scalar:
            return Value(poly=Poly.of(Symbol(f"{name}@after {fact.span.line}")), loads=value.loads)
        return Value(axes=value.axes, loads=value.loads, why=("TLX203", name))

    # ---- expressions

    def expression(self, node: ast.expr) -> Value:
        """The value of an expression. Raises Decline TLX104 for a construct it does not know."""
        match node:
            case ast.Constant(value=value):
                return literal(value)
            case ast.Name():
                return self._name(node)
            case ast.BinOp(left=left, op=op, right=right):
                return self.calls.use_binary(op, self.expression(left), self.expression(right), Span.of(node))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.arithmetic.negate(self.calls.used(self.expression(operand), Span.of(node)))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.expression(operand)
            case ast.UnaryOp(operand=operand):
                value = self.expression(operand)
                if isinstance(node.op, ast.Not) and value.literal is not MISSING:
                    return literal(not value.literal)
                return self.arithmetic.pointwise(self.calls.used(value, Span.of(node)), name="not")
            case ast.BoolOp(values=values):
                return self.arithmetic.pointwise(
                    *(self.expression(value) for value in values), name=type(node.op).__name__.lower()
                )
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._compare(op, self.expression(left), self.expression(right), Span.of(node))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                known = self.expression(test)
                if known.literal is not MISSING:
                    return self.expression(body if known.literal else orelse)
                return self.join(self.expression(body), self.expression(orelse), Span.of(node))
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return Value(items=tuple(self.expression(element) for element in elements))
            case ast.Subscript():
                return self.calls.subscript(node)
            case ast.Attribute():
                return self.calls.attribute(node)
            case ast.Call():
                return self.calls.call(node)
            case ast.JoinedStr():
                return literal("")
            case _:
                raise Decline("TLX104", Span.of(node), what=f"a `{type(node).__name__}` expression")

    def _name(self, node: ast.Name) -> Value:
        if node.id in self.scope:
            return self.scope[node.id]
        if node.id in self.module.constants:
            return literal(self.module.constants[node.id])
        if node.id in self.module.helpers:
            return Value(reference=node.id)
        canonical = self.module.names.canonical(node)
        if canonical is not None and (canonical != node.id or node.id in BUILTINS):
            return Value(reference=canonical)
        raise Decline("TLX107", Span.of(node), name=node.id)

    def _compare(self, op: ast.cmpop, left: Value, right: Value, span: Span) -> Value:
        if left.literal is not MISSING and right.literal is not MISSING:
            match op:
                case ast.Eq() | ast.Is():
                    return literal(left.literal == right.literal)
                case ast.NotEq() | ast.IsNot():
                    return literal(left.literal != right.literal)
        if isinstance(op, ast.Is | ast.IsNot) and right.literal is None:
            # Triton specializes arguments that are None: the question is settled when the kernel is compiled.
            settled = Symbol(
                f"({left.poly.text() if left.poly is not None else '?'} is None)", launch=True, constexpr=True
            )
            return Value(poly=Poly.of(settled))
        return self.arithmetic.compare(op, self.calls.used(left, span), self.calls.used(right, span))


BUILTINS = frozenset(
    {"range", "min", "max", "abs", "len", "int", "float", "bool", "sum", "print", "isinstance", "slice"}
)


def _assigned(body: list[ast.stmt]) -> set[str]:
    """Names that statements bind, also inside their bodies."""
    return {
        node.id
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
