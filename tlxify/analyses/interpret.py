"""Abstract interpretation of a kernel body: statements.

Every name is bound to what is known of its value. Both arms of an `if` are interpreted and joined; jit helpers are
interpreted in place with their arguments.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ..diagnostics import Decline
from ..model import Helper, Kernel, Module
from ..poly import Poly, Symbol
from ..source import Span
from .alternatives import either
from .arithmetic import Arithmetic
from .arms import Choice, differ, join_loads, join_masks, join_numbers
from .axes import AxisTable
from .elsewhere import Elsewhere
from .events import Events, OperationEvent, Place
from .expressions import binary, evaluate
from .hosted import Descriptors
from .loops import for_loop, while_loop
from .values import MISSING, Scope, Value, literal, number, scalars


class Interpreter:
    """One run over one kernel. The result is in `events` and `axes`."""

    def __init__(self, module: Module, pointers: frozenset[str] = frozenset()) -> None:
        """`pointers` are parameters that a flag may choose between, and that are no numbers."""
        self.module = module
        self.pointers = pointers
        self.axes = AxisTable()
        self.arithmetic = Arithmetic(self.axes)
        self.events = Events()
        self.scope: Scope = {}
        self.statement = Span(1, 0, 1, 0)
        #: The expression that is being assigned, and the name it goes to.
        self.named: tuple[ast.expr, str] | None = None
        self.loops: tuple[Span, ...] = ()
        self.branches: tuple[Span, ...] = ()
        self.arms: tuple[Span, ...] = ()
        self.helpers: tuple[str, ...] = ()
        #: Where the helpers that we are inside of were called: one helper called twice has two sets of unknowns.
        self.calls_made: tuple[Span, ...] = ()
        self.elsewhere = Elsewhere(module)
        self._returned: list[Value] = []
        self._active: tuple[tuple[str, int], ...] = ()

    def run(self, kernel: Kernel, assumed: Mapping[str, object]) -> None:
        """Interprets the kernel with its parameters as unknowns that the launch fixes, or as what they are assumed.

        Raises ValueError for an assumption about something that is no parameter, or neither constexpr nor an integer.
        """
        self.scope = {p.name: number(Symbol(p.name, launch=True, constexpr=p.constexpr)) for p in kernel.params}
        for name, value in assumed.items():
            param = kernel.param(name)
            if param is None or not (param.constexpr or type(value) is int):
                raise ValueError(f"{kernel.name} has no parameter {name} that is known when it is compiled")
            self.scope[name] = literal(value)
        self.descriptors = Descriptors(kernel, self.scope)
        self.block([node.node for node in kernel.body])
        for test in self.axes.deciding:
            self.events.undecided.update(dict.fromkeys(sorted(_parameters(test))))

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
                if self.named is not None:
                    self.events.carry(result, Span.of(statement))
                for target in targets:
                    self.bind(target, result)
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self.named = (value, target.id) if isinstance(target, ast.Name) else None
                    self.bind(target, self.expression(value))
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                left = self.expression(ast.copy_location(ast.Name(name, ast.Load()), target))
                self.bind(target, binary(self, op, left, self.expression(value), Span.of(statement)))
            case ast.Expr(value=value):
                self.expression(value)
            case ast.Return(value=value):
                self._return(statement, value)
            case ast.For():
                for_loop(self, statement)
            case ast.While():
                while_loop(self, statement)
            case ast.If():
                self._if(statement)
            case ast.Pass():
                pass
            case ast.Assert():
                self.expression(statement.test)
            case _:
                raise Decline("TLX104", Span.of(statement), what=f"a `{type(statement).__name__.lower()}` statement")

    def expression(self, node: ast.expr) -> Value:
        """The value of an expression. Raises Decline TLX104 for a construct it does not know."""
        return evaluate(self, node)

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

    def site(self, span: Span) -> str:
        """A place as part of a symbol's name: the same in both passes over a loop, one per call of a helper."""
        return "<".join(f"{s.line}:{s.column}" for s in (span, *reversed(self.calls_made)))

    def unknown(self, value: Value, span: Span) -> Value:
        """A component of a value that is not taken apart: same axes, no affine form."""
        if value.scalar:
            return Value(poly=Poly.of(Symbol(f"part@{self.site(span)}")), loads=value.loads)
        for axis in value.axes:
            self.axes.mark(axis, "opaque")
        return value.data(value.axes)

    def place(self, node: ast.AST) -> Place:
        """Where `node` is, for an event."""
        span = self.statement if self.helpers else Span.of(node)
        return Place(span, self.statement, self.loops, self.branches, self.arms, self.helpers)

    def worked(self, name: str, value: Value) -> Value:
        """`value`, with a note that something was done to each of its elements."""
        if value.axes:
            place = Place(self.statement, self.statement, self.loops, self.branches, self.arms, self.helpers)
            self.events.operations.append(OperationEvent(name, place, value))
        return value

    def _return(self, statement: ast.Return, value: ast.expr | None) -> None:
        if self.helpers:
            self._returned.append(self.expression(value) if value is not None else literal(None))
        elif self.loops or value is not None:
            self.events.returns.append(self.place(statement))  # all others end the kernel where they stand

    # ---- helpers

    def call_helper(self, helper: Helper, arguments: list[Value], keywords: dict[str, Value], span: Span) -> Value:
        """The value of a jit helper for these arguments. Raises Decline for recursion and unmatched arguments.

        A helper from another file is interpreted with the names of its own module; what there is to say about it is
        said about the call.
        """
        function = self.elsewhere.function(helper)
        if (function.name, id(function)) in self._active:
            raise Decline("TLX106", span, name=function.name)
        parameters = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        written: list[ast.expr | None] = [*function.args.defaults, *function.args.kw_defaults]
        defaults = [*[None] * (len(parameters) - len(written)), *written]
        scope: Scope = dict(zip((p.arg for p in parameters), arguments, strict=False))
        scope.update(keywords)
        saved = (self.scope, self._returned, self.named, self.module, self._active)
        self.scope, self._returned, self.named = scope, [], None
        self.module, self._active = helper.module, (*self._active, (function.name, id(function)))
        self.helpers = (*self.helpers, function.name)
        self.calls_made = (*self.calls_made, span)
        try:
            for parameter, default in zip(parameters, defaults, strict=True):
                if parameter.arg not in scope:
                    if default is None:
                        raise Decline("TLX105", span, name=f"{function.name}: argument {parameter.arg}")
                    scope[parameter.arg] = self.expression(default)
            self.block(function.body)
            results = self._returned
        except Decline as refusal:
            if self.elsewhere.holds(refusal.diagnostic.span):
                raise Decline(refusal.diagnostic.code, span, **dict(refusal.diagnostic.facts)) from None
            raise
        finally:
            self.helpers = self.helpers[:-1]
            self.calls_made = self.calls_made[:-1]
            self.scope, self._returned, self.named, self.module, self._active = saved
        self.events.move(self.elsewhere.holds, span)
        if not results:
            return literal(None)
        result = results[0]
        for other in results[1:]:
            result = self.join(result, other, f"{function.name}@{self.site(span)}")
        return result

    # ---- branches

    def _if(self, statement: ast.If) -> None:
        question, holds = _without_not(statement.test)
        test = self.expression(question)
        span = Span.of(statement)
        if test.literal is not MISSING and isinstance(test.literal, bool | int | str | None):
            first = bool(test.literal) == holds
            self.events.asked(span, first)
            self.block(statement.body if first else statement.orelse)
            return
        self.events.asked(span, None)
        constexpr = test.poly is not None and test.poly.constexpr
        before = self.scope
        if not self.helpers and not test.scalar:
            self.events.block_tests.add(span)
        if constexpr and test.poly is not None:
            self.arms = (*self.arms, span)
            self.axes.arms.append(test.poly)
        else:
            self.branches = (*self.branches, span)
        self.scope = dict(before)
        self.block(statement.body)
        taken, self.scope = self.scope, dict(before)
        self.block(statement.orelse)
        second = self.scope
        choice = None
        if constexpr:
            self.arms = self.arms[:-1]
            self.axes.arms.pop()
            choice = self.choice(before, test, span, holds=holds)
        else:
            self.branches = self.branches[:-1]
        self.scope = {
            name: self.join(taken[name], second[name], f"{name}@{self.site(span)}", choice, name)
            if name in taken and name in second
            else replace((taken | second)[name], unsure=True)
            for name in [*taken, *(n for n in second if n not in taken)]
        }

    def choice(self, scope: Scope, test: Value, span: Span, *, holds: bool = True) -> Choice | None:
        """A test that the compilation settles, for values that are one in either arm."""
        if test.poly is None or not test.poly.constexpr:
            return None
        place = Place(span, span, self.loops, self.branches, self.arms, self.helpers)
        return Choice(test.poly, holds, place, scalars(scope), self.pointers)

    def join(self, first: Value, second: Value, which: str, choice: Choice | None = None, name: str = "") -> Value:
        """What is known of a value that is one of two; `which` names it and where they meet.

        `choice` is what decides, if the compilation does, and `name` what the result is assigned to, if anything.
        """
        if first == second:
            return first
        if choice is not None:
            fit = self.axes.fit(first.axes, second.axes)
            both = join_masks(self.axes, first, second, choice) if fit else None
            both = both or (join_loads(self.events, self.axes, first, second, name, choice) if fit else None)
            if both is not None and not differ(self.events, both):
                return both
            # What a flag chooses, others may have to take as settled.
            self.events.undecided.update(dict.fromkeys(sorted(_parameters(choice.test))))
            both = both or (join_numbers(self.events, self.axes, first, second, choice) if fit else None)
            if both is not None:
                return both
            if not fit:
                # Only one of the shapes is ever compiled: axes of the one are not axes of the other.
                axes, why = self.axes.unrelated(first.axes), ("TLX201", "a value that depends on a branch")
                return Value(axes=axes, loads=first.loads | second.loads, why=why)
        loads = first.loads | second.loads
        if first.items is not None and second.items is not None and len(first.items) == len(second.items):
            return Value(
                items=tuple(
                    self.join(a, b, f"{which}.{i}", choice)
                    for i, (a, b) in enumerate(zip(first.items, second.items, strict=True))
                )
            )
        if first.scalar and second.scalar:
            options = (poly for poly in (first.poly, second.poly) if poly is not None)
            return Value(poly=Poly.of(either(which, *options)), loads=loads)
        if len(first.axes) == len(second.axes):
            axes = self.axes.broadcast(first.axes, second.axes)
            if first.affine and first.poly == second.poly and first.terms == second.terms:
                return replace(first, axes=axes, loads=loads)
            return Value(axes=axes, loads=loads, why=("TLX201", "a value that depends on a branch"))
        for axis in (*first.axes, *second.axes):
            self.axes.mark(axis, "opaque")
        return Value(axes=first.axes or second.axes, loads=loads, why=("TLX201", "a value that depends on a branch"))


def _without_not(test: ast.expr) -> tuple[ast.expr, bool]:
    """(what is asked, whether the answer must be yes)."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner, holds = _without_not(operand)
            return inner, not holds
        case _:
            return test, True


def _parameters(test: Poly) -> Iterator[str]:
    """The constexpr parameters that a test asks for."""
    for symbol in test.symbols:
        if symbol.operands:
            for operand in symbol.operands:
                yield from _parameters(operand)
        elif symbol.name.isidentifier():
            yield symbol.name
