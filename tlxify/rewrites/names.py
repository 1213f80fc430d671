"""Which names a piece of a tree reads.

What: every name that occurs in the converted body.
Why: parameters that nobody reads go.
Before: `(a_ptr, b_ptr, …, stride_am, …)`.
After: the parameters among those names.
When refused: never.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst


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
