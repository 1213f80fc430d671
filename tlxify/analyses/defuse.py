"""Which names each statement reads and binds: what slicing a role out of a kernel needs to know."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from ..facts import StatementFact
from ..model import Branch, Loop, Node, Statement
from ..source import Span


def statement_facts(nodes: tuple[Node, ...], settled: Mapping[Span, bool] | None = None) -> tuple[StatementFact, ...]:
    """The statements with their names, nested as in the source.

    `settled` says of branches which arm is taken (the first: True): its statements stand in place of the branch.
    """
    return tuple(fact for node in nodes for fact in _taken(node, settled or {}))


def _taken(node: Node, settled: Mapping[Span, bool]) -> Iterator[StatementFact]:
    if isinstance(node, Branch) and node.span in settled:
        yield from statement_facts(node.body if settled[node.span] else node.orelse, settled)
    else:
        yield _fact(node, settled)


def _fact(node: Node, settled: Mapping[Span, bool]) -> StatementFact:
    match node:
        case Loop(span=span, node=ast.For() as loop, body=body):
            head = names(loop.iter, ast.Load)
            return StatementFact(span, "loop", names(loop.target, ast.Store), head, statement_facts(body, settled))
        case Loop(span=span, node=loop, body=body):
            assert isinstance(loop, ast.While)
            head = names(loop.test, ast.Load)
            return StatementFact(span, "loop", frozenset(), head, statement_facts(body, settled), text_kind="while")
        case Branch(span=span, node=branch, body=body, orelse=orelse):
            arms = statement_facts(body, settled), statement_facts(orelse, settled)
            return StatementFact(span, "branch", frozenset(), names(branch.test, ast.Load), *arms)
        case Statement(span=span, node=statement):
            uses = names(statement, ast.Load)
            asked = asks(statement)
            if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
                uses |= {statement.target.id}
                asked -= {statement.target.id}
            binds = names(statement, ast.Store)
            return StatementFact(span, "simple", binds, uses, text_kind=_kind(statement), asks=asked)


def names(node: ast.AST, context: type[ast.expr_context]) -> frozenset[str]:
    """Names that a node reads (ast.Load) or binds (ast.Store)."""
    return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, context))


def asks(node: ast.AST) -> frozenset[str]:
    """Names that a node reads as `name.dtype` and in no other way."""
    found = (n.value for n in ast.walk(node) if isinstance(n, ast.Attribute) and n.attr == "dtype")
    asked = [value.id for value in found if isinstance(value, ast.Name)]
    read = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)] if asked else []
    return frozenset(name for name in asked if asked.count(name) == read.count(name))


def names_beside(node: ast.AST, without: Iterable[Span]) -> frozenset[str]:
    """Names that a node reads outside of the expressions at some places."""
    hidden = set(without)

    def seen(inner: ast.AST) -> Iterator[str]:
        if isinstance(inner, ast.expr) and Span.of(inner) in hidden:
            return
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load):
            yield inner.id
        for child in ast.iter_child_nodes(inner):
            yield from seen(child)

    reads = frozenset(seen(node))
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        return reads | {node.target.id}
    return reads


def _kind(statement: ast.stmt) -> str:
    match statement:
        case ast.Expr(value=ast.Constant(value=str())):
            return "docstring"
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=attribute))):
            return attribute
        case _:
            return type(statement).__name__.lower()
