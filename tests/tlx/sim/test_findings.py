"""Every kind of finding is documented and has a seeded bug."""

import ast
from pathlib import Path

import pytest

import tlx

BUGS = Path(__file__).parent / "bugs"


def codes_of(path):
    """The codes that a bug file expects."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "assert_found":
            yield from (argument.value for argument in node.args[2:])


SEEDED = {code for path in BUGS.glob("test_*.py") for code in codes_of(path)}


@pytest.mark.parametrize("code", sorted(tlx.sim.KINDS))
def test_kind(code):
    kind = tlx.sim.KINDS[code]
    assert code in SEEDED
    assert kind.__doc__
    assert kind.remedy.endswith(".")
    assert code == code.lower().replace("_", "-")


def test_no_bug_expects_an_unknown_code():
    assert set(tlx.sim.KINDS) >= SEEDED
