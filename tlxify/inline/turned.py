"""A tile that is turned in the statement that loads it: loaded first, turned behind that.

What: `w = tl.load(p).T` becomes `w = tl.load(p)` and `w = w.T`; so does `tl.trans(…)`, `.trans()`, `.permute(…)`.
Why: roles are cut statement by statement. A statement that only loads is the producer's, and a dot that reads a turned
tile reads its slot the other way round; where both are one statement, the tile is computed.
When refused: never. What is loaded is the first thing that the statement computes, so it may as well have a name then.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst

from ..model import Names
from .trees import Copy, Origins, chain_of

_TURNS = ("trans", "permute")
_LANGUAGE = "triton.language."


def may_turn(function: ast.FunctionDef) -> bool:
    """Whether a function may have such a statement: told from the syntax tree that is there already."""
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name()], value=ast.Attribute(attr="T")):
                return True
            case ast.Assign(targets=[ast.Name()], value=ast.Call(func=func)):
                name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
                if name in _TURNS:
                    return True
    return False


class Turned(Copy):
    """A copy of a function in which no statement both loads a tile and turns it."""

    def __init__(self, origins: Origins, names: Names) -> None:
        super().__init__(origins)
        self.names = names

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.FlattenSentinel[cst.SimpleStatementLine]:
        """The line, or one for each of its statements and each half of those."""
        halves = [list(self._halves(small)) for small in updated_node.body]
        if all(len(one) == 1 for one in halves):
            return updated_node
        lines = [[self.origins.line(small) for small in one] for one in halves]
        lines[0][0] = lines[0][0].with_changes(leading_lines=updated_node.leading_lines)
        lines[-1][0] = lines[-1][0].with_changes(trailing_whitespace=updated_node.trailing_whitespace)
        return cst.FlattenSentinel([line for one in lines for line in one])

    def _halves(self, small: cst.BaseSmallStatement) -> Iterator[cst.BaseSmallStatement]:
        match small:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value):
                load = self._loaded(value)
                if load is not None and load is not value and _reads(value, name) == _reads(load, name):
                    yield self.origins.changed(small, value=load, semicolon=cst.MaybeSentinel.DEFAULT)
                    yield _Held(self.origins, load, name).of(small)
                    return
        yield small

    def _loaded(self, node: cst.BaseExpression) -> cst.Call | None:
        """The load that an expression turns, or is."""
        match node:
            case cst.Attribute(value=inner, attr=cst.Name(value="T")):
                return self._loaded(inner)
            case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value=name))) if (
                name in _TURNS and self._loaded(inner) is not None
            ):
                return self._loaded(inner)
            case cst.Call(func=func, args=[cst.Arg(value=inner, keyword=None, star=""), *_]):
                name = self._function(func)
                if name.startswith(_LANGUAGE) and name.removeprefix(_LANGUAGE) in _TURNS:
                    return self._loaded(inner)
        if isinstance(node, cst.Call) and (self._function(node.func).rpartition(".")[2] == "load" or _method(node)):
            return node
        return None

    def _function(self, func: cst.BaseExpression) -> str:
        chain = chain_of(func)
        return (self.names.canonical(ast.parse(chain, mode="eval").body) or "") if chain is not None else ""


class _Held(Copy):
    """A copy in which what is loaded has a name already."""

    def __init__(self, origins: Origins, load: cst.Call, name: str) -> None:
        super().__init__(origins)
        self.load = load
        self.name = name

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        """The name in the place of the load."""
        return cst.Name(self.name) if original_node is self.load else updated_node


def _method(call: cst.Call) -> bool:
    return isinstance(call.func, cst.Attribute) and call.func.attr.value == "load"


def _reads(node: cst.CSTNode, name: str) -> int:
    """How often a name occurs in an expression."""
    return (isinstance(node, cst.Name) and node.value == name) + sum(_reads(child, name) for child in node.children)
