"""Helpers of other files, with places that cannot be taken for places in the user's file.

The analyses tell loops, branches and calls apart by their spans. A helper from another file is interpreted from a copy
whose lines count on from the end of the user's file, so each of its spans is its own and can be told from the user's.
"""

from __future__ import annotations

import ast
import copy

from ..model import Helper, Module
from ..source import Span


class Elsewhere:
    """The helpers from outside of one file."""

    def __init__(self, home: Module) -> None:
        self._home = home
        self._last = len(home.source.lines()) + 1
        self._next = self._last
        self._offsets: dict[str, int] = {}
        self._copies: dict[int, ast.FunctionDef] = {}

    def function(self, helper: Helper) -> ast.FunctionDef:
        """The helper's syntax tree with spans of its own; the same one for each call."""
        if helper.module.source.path == self._home.source.path:
            return helper.node
        if id(helper.node) not in self._copies:
            source = helper.module.source
            if source.path not in self._offsets:
                self._offsets[source.path] = self._next
                self._next += len(source.lines()) + 1
            moved = copy.deepcopy(helper.node)
            self._copies[id(helper.node)] = ast.increment_lineno(moved, self._offsets[source.path])
        return self._copies[id(helper.node)]

    def holds(self, span: Span | None) -> bool:
        """Whether a span lies outside of the user's file."""
        return span is not None and span.line > self._last
