"""Liveness: which statements a role keeps so that its roots find what they read."""

from __future__ import annotations

import ast
import textwrap

import pytest

from tlxify.analyses.defuse import statement_facts
from tlxify.model import Branch, Loop, Node, Statement
from tlxify.schedules.slicing import Reads, keep
from tlxify.source import Span


def nodes(body: list[ast.stmt]) -> tuple[Node, ...]:
    """Statements as the model has them."""

    def node(statement: ast.stmt) -> Node:
        span = Span.of(statement)
        match statement:
            case ast.For() | ast.While():
                return Loop(span, statement, nodes(statement.body))
            case ast.If():
                return Branch(span, statement, nodes(statement.body), nodes(statement.orelse))
            case _:
                return Statement(span, statement)

    return tuple(map(node, body))


def kept(source: str, always: str = "") -> str:
    """The kept lines of a program whose roots are the calls of `root(…)`: a root reads its arguments and binds nothing.

    Statements that call `always` are kept with what they read themselves.
    """
    text = textwrap.dedent(source).strip("\n")
    tree = ast.parse(text)
    roots, extra = {}, set()
    for statement in ast.walk(tree):
        if not isinstance(statement, ast.stmt) or isinstance(statement, ast.For | ast.While | ast.If):
            continue
        for node in ast.walk(statement):
            match node:
                case ast.Call(func=ast.Name("root"), args=arguments):
                    targets = getattr(statement, "targets", [])
                    roots[Span.of(statement)] = Reads(
                        frozenset(ast.unparse(argument) for argument in arguments),
                        frozenset(ast.unparse(target) for target in targets),
                    )
                case ast.Call(func=ast.Name(name)) if always and name == always:
                    extra.add(Span.of(statement))
    spans = keep(statement_facts(nodes(tree.body)), roots, frozenset(extra))
    lines = text.splitlines()
    return "\n".join(lines[span.line - 1] for span in sorted(spans, key=lambda span: span.line))


CASES = {
    "what nothing reads goes": (
        """
        a = 1
        b = 2
        root(a)
        """,
        """
        a = 1
        root(a)
        """,
    ),
    "a name bound again hides what came before": (
        """
        a = one()
        a = two()
        root(a)
        a = three()
        """,
        """
        a = two()
        root(a)
        """,
    ),
    "an augmented assignment reads its own name": (
        """
        a = one()
        a += step
        root(a)
        """,
        """
        a = one()
        a += step
        root(a)
        """,
    ),
    "chains are followed": (
        """
        a = 1
        b = a
        c = b
        d = a
        root(c)
        """,
        """
        a = 1
        b = a
        c = b
        root(c)
        """,
    ),
    "a name carried around a loop is kept with its start": (
        """
        a = 0
        b = 0
        for i in range(n):
            root(a)
            a = a + 1
            b = b + 1
        """,
        """
        a = 0
        for i in range(n):
            root(a)
            a = a + 1
        """,
    ),
    "carried through another name": (
        """
        a = 0
        b = 0
        for i in range(n):
            root(a)
            a = b
            b = b + 1
        """,
        """
        a = 0
        b = 0
        for i in range(n):
            root(a)
            a = b
            b = b + 1
        """,
    ),
    "a loop is kept for what it leaves behind, with what its head reads": (
        """
        n = size()
        a = 0
        for i in range(n):
            a = a + i
        root(a)
        """,
        """
        n = size()
        a = 0
        for i in range(n):
            a = a + i
        root(a)
        """,
    ),
    "a loop that may not run leaves the name as it was": (
        """
        a = before()
        for i in range(n):
            a = inside()
        root(a)
        """,
        """
        a = before()
        for i in range(n):
            a = inside()
        root(a)
        """,
    ),
    "a loop without a use goes as a whole": (
        """
        a = 0
        for i in range(n):
            a = a + 1
        root(b)
        """,
        """
        root(b)
        """,
    ),
    "a name that both arms bind hides what came before": (
        """
        a = 0
        if flag:
            a = 1
            b = 1
        else:
            a = 2
        root(a)
        """,
        """
        if flag:
            a = 1
            a = 2
        root(a)
        """,
    ),
    "a name that one arm binds keeps its start": (
        """
        a = 0
        if flag:
            b = 1
        else:
            a = 2
        root(a)
        """,
        """
        a = 0
        if flag:
            a = 2
        root(a)
        """,
    ),
    "a branch is kept with what its condition reads": (
        """
        flag = test()
        other = test()
        if flag:
            root(a)
        if other:
            b = 1
        """,
        """
        flag = test()
        if flag:
            root(a)
        """,
    ),
    "a branch in a loop": (
        """
        a = 0
        c = 0
        for i in range(n):
            if i > c:
                a = i
            root(a)
        """,
        """
        a = 0
        c = 0
        for i in range(n):
            if i > c:
                a = i
            root(a)
        """,
    ),
    "loops inside loops": (
        """
        a = 0
        for i in range(n):
            b = i
            for j in range(b):
                root(a)
            a = b
        """,
        """
        a = 0
        for i in range(n):
            b = i
            for j in range(b):
                root(a)
            a = b
        """,
    ),
    "a root binds: what its name held before is not needed": (
        """
        a = one()
        a = root(b)
        root(a)
        """,
        """
        a = root(b)
        root(a)
        """,
    ),
    "unpacking keeps what feeds either name": (
        """
        c = 1
        a, b = c, d
        root(b)
        """,
        """
        c = 1
        a, b = c, d
        root(b)
        """,
    ),
    "nothing is kept without a root": ("a = 1\nfor i in range(n):\n    a = i", ""),
}


@pytest.mark.parametrize("case", CASES)
def test_a_role_keeps_what_its_roots_read(case):
    source, expected = CASES[case]
    assert kept(source) == textwrap.dedent(expected).strip("\n")


def test_what_is_always_kept_brings_what_it_reads():
    source = """
    a = 1
    b = 2
    check(b)
    root(c)
    """
    assert kept(source) == "root(c)"
    assert kept(source, always="check") == "b = 2\ncheck(b)\nroot(c)"


def test_a_replaced_statement_no_longer_reads_what_it_read():
    tree = ast.parse("p = address()\nx = load(p)")
    load = Span.of(tree.body[1])
    facts = statement_facts(nodes(tree.body))
    assert keep(facts, {load: Reads(frozenset({"p"}))}) == {Span.of(tree.body[0]), load}
    assert keep(facts, {load: Reads(frozenset())}) == {load}
