"""Writes out calls of helpers, statement by statement, in evaluation order."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

import libcst as cst

from ..diagnostics import Decline
from ..model import Helper, Kernel
from ..slice import tl_name
from ..source import Origin
from .arguments import Argument, Mismatch, bound, parameters
from .binding import Binder, Binding
from .lines import OneALine, above, spoken
from .namespace import Namespace, Shadowed
from .returns import Returns, Tangled, return_of, returns_in
from .substitute import Substitute
from .targets import independent, names_of, same_name
from .trees import (
    Block,
    Copy,
    Origins,
    body_of,
    chain_of,
    closed,
    comment_lines,
    comments_in,
    leading,
    line_of,
    otherwise,
    suite,
    with_arms,
)
from .unroll import Unroll
from .wanted import LANGUAGE, Contents, helper_of

#: Calls that are written out for one kernel, at most: nested helpers multiply.
MOST = 400


class Expansion:
    """One kernel on its way to a text without calls of wanted helpers. Raises Decline for what cannot be written so."""

    def __init__(self, kernel: Kernel, origins: Origins) -> None:
        self.kernel = kernel
        self.origins = origins
        self.contents = Contents()
        self.namespace = Namespace(kernel)
        self.constexprs = frozenset(param.name for param in kernel.params if param.constexpr)
        self.constexprs |= frozenset((*kernel.module.constants, *kernel.module.names.aliases)) - self.namespace.locals
        declared = (node for node in ast.walk(kernel.node) if isinstance(node, ast.AnnAssign))
        constants = (d for d in declared if kernel.module.names.canonical(d.annotation) == f"{LANGUAGE}constexpr")
        self.constexprs |= {d.target.id for d in constants if isinstance(d.target, ast.Name)}
        self.unroll = Unroll(kernel, origins, self.has_dot)
        self.count = 0
        #: The helpers that we are inside of.
        self._active: tuple[int, ...] = ()
        #: Loops around us that are unrolled when the kernel compiles.
        self._static = 0
        self._trees: dict[int, cst.FunctionDef] = {}
        self._home = Origin(kernel.module.source, kernel.span)

    # ---- what is there to do

    def helper(self, call: cst.Call) -> Helper | None:
        """The helper behind a call that must be written out."""
        chain = chain_of(call.func)
        if chain is None or chain.partition(".")[0] in self.namespace.taken_locally:
            return None
        found = self._named(chain)
        if found is None:
            return None
        # A function that is passed on is known by name only where it is called.
        passed = any(self._named(chain_of(argument.value)) for argument in call.args)
        return found if passed or self.contents.of(found).wanted else None

    def _named(self, chain: str | None) -> Helper | None:
        if chain is None or chain.partition(".")[0] in self.namespace.taken_locally:
            return None
        if isinstance(added := self.namespace.added.get(chain), Helper):
            return added
        return helper_of(self.kernel.module, chain)

    def calls(self, node: cst.CSTNode) -> list[cst.Call]:
        """The calls in a node that must be written out, those inside of others first."""
        inner = [call for child in node.children for call in self.calls(child)]
        return [*inner, node] if isinstance(node, cst.Call) and self.helper(node) is not None else inner

    def has_dot(self, node: cst.CSTNode) -> bool:
        """Whether a dot is reached from a node."""
        if isinstance(node, cst.Call):
            chain = chain_of(node.func) or ""
            found = self.helper(node)
            if found is not None and self.contents.of(found).dot:
                return True
            name = self.kernel.module.names.canonical(ast.parse(chain, mode="eval").body) if chain else None
            if name in ("triton.language.dot", "triton.language.dot_scaled"):
                return True
        return any(self.has_dot(child) for child in node.children)

    # ---- statements

    def block(self, block: Sequence[cst.BaseStatement]) -> Block:
        """Statements with their calls written out."""
        return [written for statement in block for written in self.statement(statement)]

    def statement(self, statement: cst.BaseStatement) -> Block:
        """One statement, and what stands for it."""
        if not self.calls(statement) and not self.unroll.loops_in(statement):
            return [statement]
        if isinstance(statement, cst.BaseCompoundStatement):
            statement = OneALine(self.origins).of(statement)
        match statement:
            case cst.SimpleStatementLine():
                return self._line(statement)
            case cst.For() if (copies := self.unroll.copies(statement)) is not None:
                return self.block(copies)
            case cst.For():
                before, iterable = self.expression(statement.iter)
                static = self.unroll.is_static(statement)
                self._static += static
                body = self.block(body_of(statement.body))
                self._static -= static
                looped = self.origins.changed(statement, iter=iterable, body=suite(body, statement.body))
                return above([*before, looped], leading(statement), looped)
            case cst.If():
                return self._if(statement)
            case cst.While():
                if calls := self.calls(statement.test):
                    raise self._refused(calls[0], "the helper `{name}` in the condition of a `while`")
                body = self.block(body_of(statement.body))
                return [self.origins.changed(statement, body=suite(body, statement.body))]
            case _:
                if calls := self.calls(statement):
                    raise self._refused(calls[0], f"the helper `{{name}}` in a `{type(statement).__name__.lower()}`")
                return [statement]

    def _if(self, statement: cst.If) -> Block:
        before, test = self.expression(statement.test)
        known = self.origins.changed(statement, test=test)
        made = with_arms(self.origins, known, self.block(body_of(statement.body)), self.block(otherwise(statement)))
        return above([*before, made], leading(statement), made)

    def _line(self, line: cst.SimpleStatementLine) -> Block:
        """A line of small statements, each written out for itself."""
        result: Block = []
        for small in line.body:
            result += self._small(small) if self.calls(small) else [self.origins.line(small)]
        said = [text for small in line.body for text in comments_in(small)]
        said += comments_in(line.trailing_whitespace)
        return above(result, [*line.leading_lines, *comment_lines(said)])

    def _small(self, small: cst.BaseSmallStatement) -> Block:
        match small:
            case cst.Expr(value=cst.Call() as call) if self.helper(call) is not None:
                return self._called(call, None, small)
            case cst.Assign(targets=[cst.AssignTarget(target=target)], value=cst.Call() as call) if self.helper(call):
                if names_of(target) is not None:
                    return self._called(call, target, small)
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Tuple() as target)], value=cst.Tuple() as values):
                if (names := names_of(target)) is not None and independent(names, values):
                    lines = (
                        self._assignment(cst.Name(n), e.value, small)
                        for n, e in zip(names, values.elements, strict=True)
                    )
                    return self.block(list(lines))
            case cst.Assign(value=cst.IfExp() as choice):
                return self._chosen(small, choice)
            case cst.Return(value=cst.Call() as call) if self.helper(call) is not None:
                return [*self._called(call, None, small), line_of(self.origins.changed(small, value=None))]
        value = getattr(small, "value", None) or getattr(small, "test", None)
        if not isinstance(value, cst.BaseExpression) or len(self.calls(value)) != len(self.calls(small)):
            raise self._refused(self.calls(small)[0], "the helper `{name}` in this kind of statement")
        before, here = self.expression(value)
        part = "value" if hasattr(small, "value") else "test"
        return [*before, line_of(self.origins.changed(small, **{part: here}))]

    def _chosen(self, small: cst.Assign, choice: cst.IfExp) -> Block:
        """`x = f(a) if c else b` as an `if`: only one side may run."""
        sides = [line_of(self.origins.changed(small, value=value)) for value in (choice.body, choice.orelse)]
        stays = len(small.targets) == 1 and same_name(small.targets[0].target, choice.orelse)
        otherwise = None if stays else cst.Else(suite([Copy(self.origins).of(sides[1])]))
        made = cst.If(choice.test, suite([sides[0]]), orelse=otherwise)
        self.origins.carry(small, made)
        return self._if(made)

    # ---- expressions

    def expression(self, node: cst.BaseExpression) -> tuple[Block, cst.BaseExpression]:
        """What must run before an expression, and the expression without calls of wanted helpers."""
        calls = self.calls(node)
        if not calls:
            return [], node
        hoist = _Hoist(self, calls)
        return hoist.before, hoist.of(node)

    def value_of(self, call: cst.Call, *, last: bool) -> tuple[Block, cst.BaseExpression]:
        """A call inside an expression: what runs before it, and its value. Only the `last` one need not be kept."""
        helper = self.helper(call)
        assert helper is not None
        if self.contents.of(helper).effect:
            raise self._refused(call, "the helper `{name}`, which stores, inside an expression")
        body, binding = self._body(call, helper, ())
        if last and len(returns_in(body)) == 1 and (returned := return_of(body[-1])) is not None and returned.value:
            statements = self._inside(helper, binding, body[:-1])
            before, value = self._within(helper, returned.value)
            return [*statements, *before], closed(value)
        name = self.namespace.fresh(f"{helper.name.strip('_')}_value")
        target = cst.Name(name)
        return self._ended(call, helper, body, binding, target), cst.Name(name)

    # ---- calls

    def _called(self, call: cst.Call, target: cst.BaseAssignTargetExpression | None, at: cst.CSTNode) -> Block:
        """A call that is a whole statement, or all that is assigned in one."""
        helper = self.helper(call)
        assert helper is not None
        before: Block = []
        arguments = []
        for number, argument in enumerate(call.args):
            inner, value = self.expression(argument.value)
            if inner and any(self.calls(other.value) for other in call.args[number + 1 :]):
                name = self.namespace.fresh("argument")
                inner.append(self._assignment(cst.Name(name), value, argument))
                value = cst.Name(name)
            before += inner
            arguments.append(self.origins.changed(argument, value=value))
        call = self.origins.changed(call, args=arguments)
        targets = names_of(target) if target is not None else ()
        body, binding = self._body(call, helper, targets or ())
        return [*before, *self._ended(call, helper, body, binding, target)]

    def _body(self, call: cst.Call, helper: Helper, targets: Sequence[str]) -> tuple[Block, Binding]:
        """The helper's statements in the names of this call, its returns still in them."""
        if id(helper.node) in self._active:
            raise Decline("TLX106", None, name=helper.name).at(self.origins.at(call), self._home.source)
        self.count += 1
        if self.count > MOST:
            raise self._refused(call, f"more than {MOST} calls of helpers, of which `{{name}}` is the last,")
        function = self._tree(helper)
        try:
            chains = self.namespace.globals_of(helper)
            arguments = [self._argument(one, chains) for one in bound(parameters(function), call)]
        except Mismatch as why:
            raise self._refused(call, f"a call of the helper `{{name}}` with {why}") from None
        except Shadowed as name:
            shadowed = f"the builtin `{name}` that it reads is a variable of the kernel"
            refusal = Decline("TLX105", None, name=helper.name, why=shadowed)
            raise refusal.at(self.origins.at(call), self._home.source) from None
        binding = Binder(helper, arguments, targets, self.namespace, self.constexprs).binding(
            inside_static=self._static > 0
        )
        if self._static and binding.constexprs:
            raise self._refused(call, "the helper `{name}`, which declares constants, in `tl.static_range`")
        self.constexprs |= binding.constexprs
        if helper.module is not self.kernel.module:
            self.constexprs |= {here for here, m in self.namespace.added.items() if not isinstance(m, Helper)}
        substitute = Substitute(self.origins, binding.names, chains)
        body = substitute.block(spoken(body_of(function.body)))
        given = [self._begun(name, argument, constant) for name, argument, constant in binding.assigned]
        return [*given, *body], binding

    def _argument(self, argument: Argument, chains: Mapping[str, str]) -> Argument:
        if not argument.default:
            return argument
        return Argument(argument.parameter, Substitute(self.origins, {}, chains).of(argument.value), True)

    def _begun(self, name: str, argument: Argument, constant: bool) -> cst.BaseStatement:
        """A parameter that is a variable of its own, where its argument was written."""
        value = Copy(self.origins).of(argument.value)
        if not constant:
            return self._assignment(cst.Name(name), value, argument.value)
        kind = cst.Annotation(cst.parse_expression(f"{tl_name(self.kernel.module)}.constexpr"))
        made = cst.AnnAssign(cst.Name(name), kind, value)
        self.origins.carry(argument.value, made)
        return line_of(made)

    def _ended(
        self,
        call: cst.Call,
        helper: Helper,
        body: Block,
        binding: Binding,
        target: cst.BaseAssignTargetExpression | None,
    ) -> Block:
        """The statements with their returns turned into assignments, and further calls written out."""
        gives = any(found.value is not None for found in returns_in(body))

        def finish(found: cst.Return | None) -> Block:
            if target is None:
                effect = found is not None and isinstance(found.value, cst.Call)
                return [self._line_at(cst.Expr(found.value), found)] if found and found.value and effect else []
            value = found.value if found is not None and found.value is not None else cst.Name("None")
            return self._given(target, value, found or call)

        try:
            ended = Returns(self.origins, finish, None if gives else lambda: self.namespace.fresh("active")).last(body)
        except Tangled as tangled:
            what = tangled.what.format(name=helper.name)
            refusal = Decline("TLX104", None, what=what)
            raise refusal.at(self.origins.at(tangled.node), self._home.source) from None
        return self._inside(helper, binding, ended)

    def _given(self, target: cst.BaseAssignTargetExpression, value: cst.BaseExpression, at: cst.CSTNode) -> Block:
        """`target = value`, without what stays where it is."""
        names = names_of(target)
        assert names is not None
        if isinstance(target, cst.Tuple) and isinstance(value, cst.Tuple) and len(value.elements) == len(names):
            pairs = list(zip(target.elements, value.elements, strict=True))
            moved = [(t.value, v.value) for t, v in pairs if not same_name(t.value, v.value)]
            if not moved:
                return []
            named = names_of(cst.Tuple([cst.Element(t) for t, _ in moved])) or ()
            if independent(named, cst.Tuple([cst.Element(v) for _, v in moved])):
                return [self._assignment(t, v, at) for t, v in moved]
            left, right = (cst.Tuple([cst.Element(pair[side]) for pair in moved], lpar=[], rpar=[]) for side in (0, 1))
            return [self._assignment(left, right, at)]
        if same_name(target, value):
            return []
        return [self._assignment(target, value, at)]

    def _assignment(self, target: cst.BaseExpression, value: cst.BaseExpression, at: cst.CSTNode) -> cst.BaseStatement:
        named = Copy(self.origins).of(target)
        assert isinstance(named, cst.BaseAssignTargetExpression)
        made = cst.Assign([cst.AssignTarget(named)], value)
        return self._line_at(made, at)

    def _line_at(self, made: cst.BaseSmallStatement, at: cst.CSTNode) -> cst.BaseStatement:
        self.origins.carry(at, made)
        return line_of(made)

    def _inside(self, helper: Helper, binding: Binding, block: Block) -> Block:
        """Statements of a helper, with what they call in turn."""
        self._active = (*self._active, id(helper.node))
        self.unroll.enter(block)
        result = self.block(block)
        self._active = self._active[:-1]
        return result

    def _within(self, helper: Helper, value: cst.BaseExpression) -> tuple[Block, cst.BaseExpression]:
        self._active = (*self._active, id(helper.node))
        result = self.expression(value)
        self._active = self._active[:-1]
        return result

    def _tree(self, helper: Helper) -> cst.FunctionDef:
        key = id(helper.node)
        if key not in self._trees:
            end = helper.node.end_lineno or helper.node.lineno
            function = self.origins.read(helper.module.source, helper.node.lineno, end)
            self._trees[key] = OneALine(self.origins).of(function)
        return self._trees[key]

    def _refused(self, call: cst.Call, what: str) -> Decline:
        name = (chain_of(call.func) or "").rpartition(".")[2]
        return Decline("TLX104", None, what=what.format(name=name)).at(self.origins.at(call), self._home.source)


class _Hoist(Copy):
    """Takes the wanted calls out of an expression, in the order in which Python evaluates them."""

    def __init__(self, expansion: Expansion, calls: Sequence[cst.Call]) -> None:
        super().__init__(expansion.origins)
        self.expansion = expansion
        self.calls = list(calls)
        self.before: Block = []

    def visit_IfExp(self, node: cst.IfExp) -> None:
        """Only one side runs."""
        self._never(node.body, node.orelse)

    def visit_BooleanOperation(self, node: cst.BooleanOperation) -> None:
        """The right side may not run."""
        self._never(node.right)

    def visit_Lambda(self, node: cst.Lambda) -> None:
        """Runs later, if at all."""
        self._never(node.body)

    def visit_GeneratorExp(self, node: cst.GeneratorExp) -> None:
        """Runs any number of times."""
        self._never(node)

    def visit_ListComp(self, node: cst.ListComp) -> None:
        """Runs any number of times."""
        self._never(node)

    def _never(self, *nodes: cst.CSTNode) -> None:
        for node in nodes:
            for call in self.expansion.calls(node):
                raise self.expansion._refused(call, "the helper `{name}` in a part of an expression that may not run")

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        """A call is replaced by its value."""
        if original_node not in self.calls:
            return updated_node
        self.calls.remove(original_node)
        self.origins.carry(original_node, updated_node)
        statements, value = self.expansion.value_of(updated_node, last=not self.calls)
        self.before += statements
        return value
