"""What each name of a helper is called, or replaced by, where one call of it is written out.

A parameter is replaced by its argument where that is a name or a literal and nothing rebinds it. What a call gives back
to the name that it took (`acc = f(acc)`) is worked on in place; what it gives to another name goes by that name from
the start. All other local names stay as they are if they are free, else they get one number in common.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import libcst as cst

from ..model import Helper
from ..parse.kernels import is_constexpr
from .arguments import Argument
from .folding import UNKNOWN, literal
from .namespace import Namespace
from .trees import chain_of

_DTYPES = ("dtype", "type", "element_ty", "scalar")


@dataclass(frozen=True, slots=True)
class Binding:
    """The names of one call."""

    #: What stands for each local name of the helper.
    names: dict[str, cst.BaseExpression]
    #: Parameters that begin as a variable of their own: name here, argument, whether it is a compile-time constant.
    assigned: tuple[tuple[str, Argument, bool], ...]
    #: Names here that are constants when the kernel is compiled.
    constexprs: frozenset[str]


class Binder:
    """Works out the names of one call of a helper."""

    def __init__(
        self,
        helper: Helper,
        arguments: Sequence[Argument],
        targets: Sequence[str],
        namespace: Namespace,
        constexprs: frozenset[str],
    ) -> None:
        """`targets` are the names that the call is assigned to, `constexprs` those known when the kernel compiles."""
        self.helper = helper
        self.arguments = arguments
        self.targets = targets
        self.namespace = namespace
        self.constexprs = constexprs
        nodes = list(ast.walk(helper.node))
        self.stores = {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        self.reads = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        self.asked = {n.value.id for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)}
        self.annotated = frozenset(_annotated(helper))
        self.mentions = {a.parameter.name: names_in(a.value) for a in arguments}
        self.names: dict[str, cst.BaseExpression] = {}

    def binding(self, *, inside_static: bool) -> Binding:
        """The names. In a loop that is unrolled when the kernel compiles, no name may be declared a constant."""
        own: list[Argument] = []
        for argument in self.arguments:
            name = argument.parameter.name
            if name in self.stores:
                if (given := self._in_place(argument)) is not None:
                    self.names[name] = cst.Name(given)
                else:
                    own.append(argument)
            elif name in self.reads:
                constant = self._constant(argument)
                if self._replaceable(argument) or (constant and inside_static):
                    self.names[name] = argument.value
                else:
                    own.append(argument)
        self._results()
        self._rest(argument.parameter.name for argument in own)
        assigned = []
        for argument in own:
            name = argument.parameter.name
            here = self.names[name]
            assert isinstance(here, cst.Name)
            assigned.append((here.value, argument, name not in self.stores and self._constant(argument)))
        known = [name for name, _, constant in assigned if constant]
        declared = (self.names.get(name) for name in self.annotated)
        known += [own_name.value for own_name in declared if isinstance(own_name, cst.Name)]
        return Binding(self.names, tuple(assigned), frozenset(known))

    def _in_place(self, argument: Argument) -> str | None:
        """The caller's variable that a parameter may be, though it is rebound: the call assigns it anyway."""
        value = argument.value
        if not isinstance(value, cst.Name) or argument.default or list(self.targets).count(value.value) != 1:
            return None
        others = (self.mentions[a.parameter.name] for a in self.arguments if a is not argument)
        return None if any(value.value in names for names in others) else value.value

    def _replaceable(self, argument: Argument) -> bool:
        """Whether an argument may stand wherever its parameter does: it costs nothing and stays the same."""
        if argument.parameter.name in self.asked and literal(argument.value) is not UNKNOWN:
            return False  # a number has no attributes
        return self._plain(argument.value)

    def _plain(self, value: cst.BaseExpression) -> bool:
        if literal(value) is not UNKNOWN:
            return True
        match value:
            case cst.Name():
                return True
            case cst.Attribute(attr=cst.Name(value=leaf)):
                chain = chain_of(value)
                if chain is None:
                    return False
                head = chain.partition(".")[0]
                return leaf in _DTYPES or head not in self.namespace.taken_locally
            case cst.Tuple(elements=elements) | cst.List(elements=elements):
                return all(isinstance(e, cst.Element) and self._plain(e.value) for e in elements)
        return False

    def _constant(self, argument: Argument) -> bool:
        """Whether an argument is known when the kernel compiles: declared so, or made of what is."""
        given = self.helper.node.args
        declared = {one.arg: one for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
        if is_constexpr(declared[argument.parameter.name], self.helper.module):
            return True
        return names_in(argument.value) <= self.constexprs and all(map(_keeps_constant, _calls(argument.value)))

    def _results(self) -> None:
        """Gives a variable that every return hands back in one place the name that it is assigned to."""
        returned = [n.value for n in ast.walk(self.helper.node) if isinstance(n, ast.Return) and n.value is not None]
        read = {name for p, names in self.mentions.items() if p in self.names for name in names}
        used = {value.value for value in self.names.values() if isinstance(value, cst.Name)}
        for position, target in enumerate(self.targets):
            if target in read | used or list(self.targets).count(target) != 1:
                continue
            for result in returned:
                parts = result.elts if isinstance(result, ast.Tuple) else [result]
                if len(parts) != len(self.targets) or not isinstance(part := parts[position], ast.Name):
                    continue
                if part.id not in self.names and part.id not in self.annotated and self._may_be(part.id, target):
                    self.names[part.id] = cst.Name(target)
                    break

    def _may_be(self, name: str, target: str) -> bool:
        """Whether a variable of the helper may go by the name that it is assigned to in the end.

        It must be bound outside of loops and branches first. A parameter begins with its argument: it must stay one
        thing, and no other argument may still ask for what the name held before.
        """
        if name not in self.stores:
            return False
        if name in self.mentions:
            others = (names for parameter, names in self.mentions.items() if parameter != name)
            return self._stays_one_thing(name) and not any(target in names for names in others)
        for statement in self.helper.node.body:
            bound = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
            if name in bound:
                return isinstance(statement, ast.Assign)
        return False

    def _stays_one_thing(self, name: str) -> bool:
        """Whether whatever rebinds a variable works on it: `acc += x`, `acc = f(acc)`."""
        for node in ast.walk(self.helper.node):
            match node:
                case ast.Assign(targets=targets, value=value):
                    bound = {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
                    if name in bound and not any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(value)):
                        return False
                case ast.For(target=ast.Name(id=counter)) if counter == name:
                    return False
        return True

    def _rest(self, own: Iterable[str]) -> None:
        """Names for all other variables."""
        parameters = {argument.parameter.name for argument in self.arguments}
        variables = sorted({*own, *(self.stores - parameters)} - self.names.keys())
        clashing = [name for name in variables if name in self.namespace.taken]
        ending = self.namespace.suffix(clashing, self.stores | self.reads | parameters) if clashing else ""
        for name in variables:
            here = f"{name}{ending}" if name in clashing else name
            self.names[name] = cst.Name(here)
            self.namespace.bind(here)


def names_in(node: cst.CSTNode) -> frozenset[str]:
    """The variables and first parts of chains in an expression."""
    if isinstance(node, cst.Name):
        return frozenset({node.value})
    if isinstance(node, cst.Attribute):
        return names_in(node.value)
    children = [node.value] if isinstance(node, cst.Arg) else node.children
    return frozenset(name for child in children for name in names_in(child))


def _calls(node: cst.CSTNode) -> list[cst.Call]:
    inner = [call for child in node.children for call in _calls(child)]
    return [node, *inner] if isinstance(node, cst.Call) else inner


def _keeps_constant(call: cst.Call) -> bool:
    """Whether a call of constants is one. Of a constant, Triton computes these while it compiles."""
    return (chain_of(call.func) or "").rpartition(".")[2] in ("cdiv", "next_power_of_2", "min", "max", "len")


def _annotated(helper: Helper) -> Iterable[str]:
    """Local names that a helper declares as constants."""
    for node in ast.walk(helper.node):
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                if helper.module.names.canonical(annotation) == "triton.language.constexpr":
                    yield name
