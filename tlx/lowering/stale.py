"""Reads that do not see what a task has assigned.

Python's ``with`` opens no scope, but a task has one: its variables are copies, and what it assigns to them ends with
it. A name that is read after the region, or in the next turn of a loop around it, has its old value there. That may be
meant, so it is only told.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .irtext import Place
from .state import current

#: names, each with the place where a task assigns to it
_Origins = dict[str, ast.Name]
#: who owns a list of statements, the list, and which of them it is about
_Step = tuple[ast.AST | None, Sequence[ast.stmt], int]


def _ordered(node: ast.AST) -> Iterator[tuple[ast.Name, bool]]:
    """Names below a node in the order in which they are evaluated, and whether they are read."""
    if isinstance(node, ast.Name):
        yield node, isinstance(node.ctx, ast.Load)
        return
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield node.target, True
    parts = list(ast.iter_child_nodes(node))
    # What is assigned, or gone through, comes before what it is assigned to.
    parts.sort(key=lambda part: part is not getattr(node, "value", None) and part is not getattr(node, "iter", None))
    for part in parts:
        yield from _ordered(part)


def _origins(task: ast.With, known: Mapping[str, Any]) -> _Origins:
    found: _Origins = {}
    for statement in task.body:
        for name, is_read in _ordered(statement):
            if not is_read and name.id in known:
                found.setdefault(name.id, name)
    return found


def _path(owner: ast.AST | None, statements: Sequence[ast.stmt], region: ast.stmt) -> list[_Step]:
    """The lists of statements that lead to the region, outermost first."""
    for place, statement in enumerate(statements):
        if statement is region:
            return [(owner, statements, place)]
        for field in ("body", "orelse"):
            if rest := _path(statement, getattr(statement, field, []), region):
                return [(owner, statements, place), *rest]
    return []


def _first(origins: _Origins, statements: Sequence[ast.stmt]) -> Iterator[tuple[ast.Name, ast.Name]]:
    """Names that are read before anything is assigned to them. Those that are decided leave ``origins``."""
    for statement in statements:
        for name, is_read in _ordered(statement):
            origin = origins.pop(name.id, None)
            if origin is not None and is_read:
                yield name, origin


def reads(
    function: ast.FunctionDef, region: ast.With, tasks: Sequence[ast.With], known: Mapping[str, Any]
) -> Iterator[tuple[ast.Name, ast.Name]]:
    """Reads of variables, ``known`` before the region, that have their old value; each with what it does not see."""
    left: _Origins = {}
    for task in tasks:
        left = _origins(task, known) | left
    for owner, statements, place in reversed(_path(None, function.body, region)):
        yield from _first(left, statements[place + 1 :])
        if not isinstance(owner, ast.For | ast.While):
            continue
        # The next turn: first what the loop does before the region, then each task with copies of its own.
        counter = {owner.target.id} if isinstance(owner, ast.For) and isinstance(owner.target, ast.Name) else set()
        again = {name: origin for name, origin in left.items() if name not in counter}
        yield from _first(again, statements[:place])
        if statements[place] is region:
            for task in tasks:
                own = {name: origin for name, origin in _origins(task, known).items() if name in again}
                yield from _first(own, task.body)


def tell(file: str, before: int, read: ast.Name, origin: ast.Name) -> None:
    """Warns of one such read, once; ``before`` is how many lines stand before the function's first."""
    place = Place(file, before + read.lineno, read.col_offset)
    if place in current().told:
        return
    current().told.add(place)
    message = (
        f"{place.shown()}\n{read.id} has the value here that it had before async_tasks: what a task assigns to it, as "
        f"at line {before + origin.lineno}, ends with the task. Pass it on through memory, or take another name inside"
    )
    warnings.warn_explicit(message, UserWarning, file, place.line)
