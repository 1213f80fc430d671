"""Every jit function that a file defines, wherever it stands: what is converted is found by name, in few places."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..model import Module
from .jitted import is_jit, jit_call
from .names import JIT

#: Line and column of a definition: the same function in trees that were parsed apart.
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Found:
    """One jit function."""

    #: The name that it is known by where it is.
    name: str
    node: ast.FunctionDef
    #: What it is inside of: "class", "function", "kernel", "loop", "condition" or "" for the file itself.
    where: str
    #: The call that makes it a jit function; None for one under decorators.
    call: ast.Call | None = None


def place(function: ast.FunctionDef) -> Place:
    """Where a function is defined."""
    return function.lineno, function.col_offset


def jit_functions(views: Sequence[Module]) -> Iterator[Found]:
    """The jit functions of a file, each once; `views` are the file and how functions in it see it."""
    module = views[0]
    plain: dict[str, list[tuple[ast.FunctionDef, str]]] = {}
    calls: list[tuple[str, ast.Call]] = []
    seen: set[Place] = set()
    pending: list[tuple[ast.AST, str, frozenset[str]]] = [(module.tree, "", frozenset())]
    while pending:
        node, where, given = pending.pop()
        inner = _inside(node, where)
        match node:
            case ast.FunctionDef():
                if any(is_jit(node, view.names) for view in views):
                    inner = "class" if where == "class" else "kernel"
                    seen.add(place(node))
                    yield Found(node.name, node, where)
                else:
                    plain.setdefault(node.name, []).append((node, where))
                given |= {argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)}
            case ast.Call():
                for view in views:
                    made = jit_call(node, view.names)
                    if made is not None and made[1][0].name == JIT and made[0] not in given:
                        calls.append((made[0], node))
                        break
        pending += [(child, inner, given) for child in ast.iter_child_nodes(node)]
    for name, call in sorted(calls, key=lambda item: item[1].lineno):
        before = [item for item in plain.get(name, ()) if item[0].lineno < call.lineno]
        last = max(before, key=lambda item: item[0].lineno, default=None)
        if last is not None and place(last[0]) not in seen:
            seen.add(place(last[0]))
            yield Found(name, *last, call)


def _inside(node: ast.AST, where: str) -> str:
    """What the parts of a node are inside of; the outermost class says the most, then the innermost function."""
    match node:
        case ast.ClassDef():
            return "class"
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda() if where != "class":
            return "function"
        case ast.For() | ast.While() | ast.AsyncFor() if where in ("", "condition"):
            return "loop"
        case ast.If() | ast.Try() | ast.With() | ast.Match() if where == "":
            return "condition"
    return where
