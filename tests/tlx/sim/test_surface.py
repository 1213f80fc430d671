"""Every primitive that tlx's builtins hand to a back end is simulated."""

import ast
from pathlib import Path

import pytest

import tlx
from tlx.sim.semantic import SimSemantic

PACKAGE = Path(tlx.__file__).parent


def primitives():
    """Names of the methods that the builtins call on ``_semantic``."""
    names = set()
    for path in PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", None) == "_semantic":
                names.add(node.attr)
    return names


def test_the_list_is_not_empty():
    assert {"tma_load", "wgmma", "mbarrier_wait", "shared_alloc"} <= primitives()


@pytest.mark.parametrize("name", sorted(primitives()))
def test_primitive(name):
    assert callable(getattr(SimSemantic, name))
