"""Which names a piece of a tree reads.

What: every name that occurs in the converted body, but for attributes and keywords of arguments.
Why: parameters that nobody reads go. A parameter `num_warps` is not read by `tlx.async_task(num_warps=4)`.
Before: `(a_ptr, b_ptr, …, stride_am, …)`.
After: the parameters among those names.
When refused: never.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst


def read_names(body: Sequence[cst.BaseStatement]) -> frozenset[str]:
    """Every name that occurs in the statements other than as an attribute or as the keyword of an argument."""
    collector = _Names()
    for statement in body:
        statement.visit(collector)
    return frozenset(collector.found)


class _Names(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: set[str] = set()

    def visit_Name(self, node: cst.Name) -> None:
        self.found.add(node.value)

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        node.value.visit(self)
        return False

    def visit_Arg(self, node: cst.Arg) -> bool:
        node.value.visit(self)
        return False
