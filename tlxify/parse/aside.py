"""What a file has of kernels beside those that are converted, so that none is passed over without a word."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from ..diagnostics import Diagnostic
from ..model import Helper, Module
from ..source import Span
from .decorating import chain_of
from .decorators import own_nodes
from .jitted import decorator_name, is_jit
from .kernels import nested_kernels, returns_nothing
from .launches import launched
from .names import AUTOTUNE, HEURISTICS

#: What only code that runs in a kernel calls.
_IN_KERNELS = frozenset(
    f"triton.language.{name}" for name in ("program_id", "load", "store", "arange", "dot", "atomic_add")
)


def unfollowed(module: Module) -> Iterator[tuple[ast.FunctionDef, Diagnostic]]:
    """Functions that do what kernels do, under a decorator of which nobody can tell that it is `triton.jit`."""
    known = {id(helper.node) for helper in module.helpers.values()}
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.FunctionDef) or id(node) in known or is_jit(node, module.names):
            continue
        names = [decorator_name(one, module.names) for one in node.decorator_list]
        others = [name for name in names if name not in (AUTOTUNE, HEURISTICS)]
        if not others or any(name.partition(".")[0] in ("triton", "tlx") for name in others):
            continue
        if returns_nothing(node) and _runs_in_kernels(node, module):
            last = node.decorator_list[names.index(others[-1])]
            written = chain_of(last.func if isinstance(last, ast.Call) else last) or ast.unparse(last)
            yield node, Diagnostic.of("TLX112", Span.of(last), name=node.name, decorator=written)


def nested(module: Module) -> Iterator[tuple[ast.FunctionDef, Diagnostic]]:
    """Kernels inside of functions and classes that are not converted where they are."""
    inside = {id(node) for one in ast.walk(module.tree) if isinstance(one, ast.ClassDef) for node in ast.walk(one)}
    for node in nested_kernels(module):
        held = id(node) in inside
        where = "class" if held else "function"
        why = "what is bound in a class is not followed" if held else "it is one of several of that name"
        yield node, Diagnostic.of("TLX109", Span.of(node), name=node.name, where=where, why=why)


def shadowed(module: Module) -> Iterator[Diagnostic]:
    """A word on each kernel whose name another function takes further down: that one is converted alone."""
    names = launched(module.tree)
    for earlier in module.shadowed:
        name = _bound(earlier)
        later = module.helpers[name]
        if returns_nothing(earlier.node) and (name in names or not _called(name, module)):
            yield Diagnostic.of("TLX113", _head(earlier.node), name=name, line=str(later.node.lineno))


def _bound(helper: Helper) -> str:
    return helper.name if helper.jitted is None else helper.jitted.name


def _head(function: ast.FunctionDef) -> Span:
    """The line that begins a function's definition."""
    return replace(Span.of(function), end_line=function.lineno, end_column=function.col_offset + len("def"))


def _called(name: str, module: Module) -> bool:
    """Whether jit code of the file calls a function of that name."""
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
        for helper in (*module.helpers.values(), *module.shadowed)
        for node in ast.walk(helper.node)
    )


def _runs_in_kernels(function: ast.FunctionDef, module: Module) -> bool:
    calls = (node.func for node in own_nodes(function) if isinstance(node, ast.Call))
    return any(module.names.canonical(func) in _IN_KERNELS for func in calls)
