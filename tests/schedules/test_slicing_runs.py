"""Sliced programs run: the roots of a random program see the same values with and without what was dropped."""

from __future__ import annotations

import ast
import textwrap

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.schedules.test_slicing import nodes
from tlxify.analyses.defuse import statement_facts
from tlxify.schedules.slicing import Reads, keep
from tlxify.source import Span

NAMES = "abcd"
START = {name: position for position, name in enumerate(NAMES, start=1)}

names = st.sampled_from(NAMES)
simple = st.one_of(
    st.builds("{} = {} + {}".format, names, names, st.integers(0, 3)),
    st.builds("{} += {}".format, names, names),
    st.builds("{}, {} = {}, {}".format, names, names, names, names),
    st.builds("{} = {}".format, names, st.integers(0, 9)),
    st.builds("root({})".format, names),
)


def indented(statements):
    return textwrap.indent("\n".join(statements), "    ")


def compound(inner):
    bodies = st.lists(inner, min_size=1, max_size=4)
    return st.one_of(
        st.builds(lambda n, body: f"for i{n} in range({n} % 3):\n{indented(body)}", names, bodies),
        st.builds(lambda n, body: f"if {n} % 2:\n{indented(body)}", names, bodies),
        st.builds(
            lambda n, body, orelse: f"if {n} % 2:\n{indented(body)}\nelse:\n{indented(orelse)}", names, bodies, bodies
        ),
    )


programs = st.lists(st.recursive(simple, compound, max_leaves=8), min_size=1, max_size=8).map("\n".join)


class Kept(ast.NodeTransformer):
    """Takes out the statements that are not among the spans."""

    def __init__(self, spans):
        self.spans = spans

    def visit(self, node):
        if isinstance(node, ast.stmt) and Span.of(node) not in self.spans:
            return None
        self.generic_visit(node)
        if isinstance(node, ast.If | ast.For) and not node.body:
            node.body = [ast.Pass()]
        return node


def sliced(text: str, wanted: str) -> ast.Module:
    """The program with the roots that call with the name `wanted`, and what they need."""
    tree = ast.parse(text)
    roots = {
        Span.of(node): Reads(frozenset({wanted}))
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and ast.unparse(node) == f"root({wanted})"
    }
    return Kept(keep(statement_facts(nodes(tree.body)), roots)).visit(tree)


def seen(tree: ast.Module, wanted: str) -> list[int]:
    """What the calls `root(wanted)` are given when the program runs."""
    found: list[int] = []
    tree = ast.parse(ast.unparse(tree).replace(f"root({wanted})", f"wanted({wanted})"))
    exec(compile(tree, "program", "exec"), {"root": lambda value: None, "wanted": found.append, **START})
    return found


@settings(max_examples=100, deadline=None)
@given(programs, names)
def test_a_slice_gives_its_roots_what_the_program_gave_them(text, wanted):
    assert seen(sliced(text, wanted), wanted) == seen(ast.parse(text), wanted)


def test_the_comparison_sees_a_statement_too_few():
    text = "a = b + 1\na += b\nroot(a)"
    whole = ast.parse(text)
    shorter = ast.Module([whole.body[0], whole.body[2]], [])
    assert seen(sliced(text, "a"), "a") == seen(whole, "a") != seen(shorter, "a")
