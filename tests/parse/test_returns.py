"""Early returns as arms: a kernel whose returns are lifted does what it did, on any path."""

from __future__ import annotations

import ast
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tlxify.parse.returns import lifted

CASES = {
    "at the top": ("if c:\n    return\nwork(1)", "if c:\n    return\nelse:\n    work(1)"),
    "after other work": (
        "if c:\n    work(0)\n    return\nwork(1)",
        "if c:\n    work(0)\n    return\nelse:\n    work(1)",
    ),
    "in the other arm": (
        "if c:\n    work(0)\nelse:\n    return\nwork(1)",
        "if c:\n    work(0)\n    work(1)\nelse:\n    return",
    ),
    "at the end anyway": ("work(1)\nreturn", "work(1)\nreturn"),
    "inside another branch": (
        "if a:\n    if c:\n        return\n    work(0)\nwork(1)",
        "active = True\nif a:\n    if c:\n        active = False\n    else:\n        work(0)\nif active:\n    work(1)",
    ),
    "in a loop": ("for i in x:\n    if c:\n        return\nwork(1)", "for i in x:\n    if c:\n        return\nwork(1)"),
}


def text_of(source: str, taken: frozenset[str] = frozenset()) -> str:
    return ast.unparse(ast.Module(lifted(ast.parse(source).body, taken), []))


@pytest.mark.parametrize(("source", "expected"), CASES.values(), ids=CASES)
def test_structure(source, expected):
    assert text_of(source) == expected


def test_the_flag_gets_a_name_of_its_own():
    assert text_of(CASES["inside another branch"][0], frozenset({"active"})).startswith("active_2 = True")


def indented(statements):
    return textwrap.indent("\n".join(statements), "    ")


conditions = st.sampled_from([f"asks({number})" for number in range(4)])
simple = st.one_of(st.builds("work({})".format, st.integers(0, 9)), st.just("return"))


def branches(inner):
    bodies = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        st.builds(lambda c, body: f"if {c}:\n{indented(body)}", conditions, bodies),
        st.builds(
            lambda c, body, orelse: f"if {c}:\n{indented(body)}\nelse:\n{indented(orelse)}", conditions, bodies, bodies
        ),
    )


programs = st.lists(st.recursive(simple, branches, max_leaves=10), min_size=1, max_size=6).map("\n".join)


def trace(body: list[ast.stmt], answers: int) -> list[object]:
    """Everything that a function with this body does, conditions included."""
    seen: list[object] = []

    def asks(number):
        seen.append(("asks", number))
        return bool(answers >> number & 1)

    function = ast.parse("def program():\n    pass").body[0]
    function.body = body or [ast.Pass()]
    names = {"work": seen.append, "asks": asks}
    exec(compile(ast.fix_missing_locations(ast.Module([function], [])), "program", "exec"), names)
    names["program"]()
    return seen


def follows_a_return(body: list[ast.stmt]) -> bool:
    """Whether a statement comes after one that may leave."""
    leaves = [any(isinstance(node, ast.Return) for node in ast.walk(statement)) for statement in body]
    inner = [arm for s in body if isinstance(s, ast.If) for arm in (s.body, s.orelse)]
    return any(leaves[:-1]) or any(map(follows_a_return, inner))


@settings(max_examples=200, deadline=None)
@given(programs, st.integers(0, 15))
def test_lifted_programs_do_what_they_did(source, answers):
    body = lifted(ast.parse(source).body, frozenset())
    assert not follows_a_return(body)
    assert trace(body, answers) == trace(ast.parse(source).body, answers)
