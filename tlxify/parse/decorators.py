"""What stands between a kernel's name and its jit function, and whether a launch may go past it.

The specialized kernel is launched by the name, past whatever decorators do. Triton's own are rebuilt around it. Others
may be gone past only if they hand the jit function on as it is, or put decorators of that kind around it, which is read
from their definitions; or if it is agreed what they do (`AGREED`). What may change arguments, or do something before or
after a launch, is not gone past.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from ..model import Decorator, Kernel, Names
from ..source import SourceFile
from .imports import SourceTree
from .names import AUTOTUNE, HEURISTICS, JIT, canonical, collect_names

#: Tuners and entries of flag-gems and flash-linear-attention, by the last part of their names: they choose among
#: configs and remember what was compiled, and launch with the arguments that they are given. The launcher knows the
#: classes of what they return (tlx/launch/stack.py).
AGREED = frozenset(("libentry", "libtuner", "fla_cache_autotune"))
#: How many definitions a decorator may be passed on through.
HOPS = 8


def bypassed(kernel: Kernel) -> Decorator | None:
    """The outermost decorator of a kernel that a launch must not go past; None without one."""
    if all(decorator.name in (JIT, AUTOTUNE, HEURISTICS) for decorator in kernel.decorators):
        return None
    path = Path(os.path.abspath(kernel.module.source.path))
    reader = _Reader(SourceTree(str(path), {}), path, kernel.module.tree, HOPS)
    return next((one for one in kernel.decorators if not reader.harmless(one.node)), None)


class _Reader:
    """The definitions of one file."""

    def __init__(self, files: SourceTree, path: Path, tree: ast.Module, hops: int) -> None:
        self._files, self._path, self._tree, self._hops = files, path, tree, hops
        self._names: Names = collect_names(tree)

    def harmless(self, node: ast.expr) -> bool:
        """Whether a launch may go past what a decorator, given as an expression, returns."""
        match node:
            case ast.IfExp(body=first, orelse=second):
                return self.harmless(first) and self.harmless(second)
            case ast.Lambda(args=arguments, body=body) if (kernel := _only(arguments)) is not None:
                return self._hands_on(body, kernel)
            case ast.Call(func=maker):
                if canonical(self._names, maker) in (JIT, AUTOTUNE, HEURISTICS):
                    return True
                return self._each(maker, _Reader._makes_harmless)
            case ast.Name() | ast.Attribute():
                return canonical(self._names, node) == JIT or self._each(node, _Reader._is_harmless)
        return False

    def _each(self, node: ast.expr, holds: Callable[[_Reader, ast.AST], bool]) -> bool:
        """Whether something holds for every definition of a name, of which there is one."""
        found = list(self._definitions(node)) if isinstance(node, ast.Name) else []
        if found:
            return all(
                isinstance(what, ast.alias) or (reader is not None and holds(reader, what)) for reader, what in found
            )
        return _leaf(node) in AGREED

    def _definitions(self, node: ast.Name) -> Iterator[tuple[_Reader | None, ast.AST]]:
        """What binds a name, anywhere in the file, followed through imports; no reader where it is out of reach.

        What is imported under a name of which it is agreed what it does, is the import itself.
        """
        if self._hops == 0:
            yield None, node
            return
        for statement in ast.walk(self._tree):
            match statement:
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name) if name == node.id:
                    yield self, statement
                case ast.Assign(targets=targets, value=value) if node.id in _bound(targets):
                    yield (self if [*map(ast.unparse, targets)] == [node.id] else None), value
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if name == node.id:
                    yield self, value
                case ast.arg(arg=name) if name == node.id:
                    yield None, statement
                case ast.ImportFrom(module=module, level=level, names=aliases):
                    for alias in aliases:
                        if (alias.asname or alias.name) == node.id:
                            agreed = alias.name in AGREED
                            reader = None if agreed else self._imported(module or "", level)
                            yield reader, alias if agreed else ast.Name(alias.name)

    def _imported(self, module: str, level: int) -> _Reader | None:
        place = self._files.source_of(self._path, module, level)
        if place is None or place.suffix != ".py":
            return None
        try:
            tree = ast.parse(SourceFile.read(place).text)
        except (OSError, UnicodeDecodeError, SyntaxError):
            return None
        return _Reader(self._files, place, tree, self._hops - 1)

    def _is_harmless(self, what: ast.AST) -> bool:
        """Whether what binds a decorator's name is a harmless one."""
        match what:
            case ast.FunctionDef(args=arguments) if (kernel := _only(arguments)) is not None:
                return not what.decorator_list and self._returns(what, lambda value: self._hands_on(value, kernel))
            case ast.expr():
                return self.harmless(what)
        return False

    def _makes_harmless(self, what: ast.AST) -> bool:
        """Whether what binds a name makes harmless decorators when it is called."""
        match what:
            case ast.FunctionDef(decorator_list=[]):
                return self._returns(what, self.harmless)
            case ast.Name():
                return self._each(what, _Reader._makes_harmless)
        return False

    def _returns(self, function: ast.FunctionDef, holds: Callable[[ast.expr], bool]) -> bool:
        """Whether something holds for all that a function returns, and it changes none of its arguments."""
        own = list(own_nodes(function))
        values = [node.value for node in own if isinstance(node, ast.Return)]
        return bool(values) and not _changes(function) and all(value is not None and holds(value) for value in values)

    def _hands_on(self, value: ast.expr, kernel: str) -> bool:
        """Whether a value is the jit function `kernel` as it is, or in harmless decorators."""
        match value:
            case ast.Name(id=name):
                return name == kernel
            case ast.IfExp(body=first, orelse=second):
                return self._hands_on(first, kernel) and self._hands_on(second, kernel)
            case ast.Call(func=decorator, args=[inner], keywords=[]):
                return self.harmless(decorator) and self._hands_on(inner, kernel)
        return False


def _only(arguments: ast.arguments) -> str | None:
    """The name of the only argument of a function; None where it has others."""
    plain = [*arguments.posonlyargs, *arguments.args]
    rest = arguments.vararg or arguments.kwarg or arguments.kwonlyargs
    return plain[0].arg if len(plain) == 1 and not rest else None


def own_nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function's body, without what is inside of functions and classes in it."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            pending += ast.iter_child_nodes(node)


def _changes(function: ast.FunctionDef) -> bool:
    """Whether a function may rebind an argument, or set an attribute of anything."""
    arguments = {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}
    for node in ast.walk(function):
        match node:
            case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Global() | ast.Nonlocal():
                return True
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) if name in arguments:
                return True
            case ast.Call(func=ast.Name(id="setattr" | "delattr" | "exec")):
                return True
            case ast.Attribute(attr="__dict__" | "__setattr__"):
                return True
    return False


def _bound(targets: list[ast.expr]) -> set[str]:
    return {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}


def _leaf(node: ast.expr) -> str:
    return ast.unparse(node).rpartition(".")[2]
