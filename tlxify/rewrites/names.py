"""Which names a piece of a tree binds or reads.

What: how often each name is bound in the kernel, and which names the converted body reads.
Why: a ring's view takes the user's name for the tile where that means nothing else; parameters nobody reads go.
Before: `a = tl.load(…)` binds `a` once.
After: the view of a slot is called `a`, else `a_tile`.
When refused: never.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst


def bound_names(body: cst.BaseSuite) -> dict[str, int]:
    """How many statements bind each name."""
    counter = _Bindings()
    body.visit(counter)
    return counter.count


class _Bindings(cst.CSTVisitor):
    def __init__(self) -> None:
        self.count: dict[str, int] = {}

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        self._add(node.target)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        self._add(node.target)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self._add(node.target)

    def visit_For(self, node: cst.For) -> None:
        self._add(node.target)

    def _add(self, target: cst.BaseExpression) -> None:
        match target:
            case cst.Name(value=name):
                self.count[name] = self.count.get(name, 0) + 1
            case cst.Tuple(elements=elements) | cst.List(elements=elements):
                for element in elements:
                    self._add(element.value)


def read_names(body: Sequence[cst.BaseStatement]) -> frozenset[str]:
    """Every name that occurs in the statements."""
    collector = _Names()
    for statement in body:
        statement.visit(collector)
    return frozenset(collector.found)


class _Names(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: set[str] = set()

    def visit_Name(self, node: cst.Name) -> None:
        self.found.add(node.value)
