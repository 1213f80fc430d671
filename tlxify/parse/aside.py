"""What a file has of kernels beside those that are converted, so that none is passed over without a word."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace

from ..diagnostics import Diagnostic
from ..model import Kernel, Module
from ..source import Span
from .decorating import chain_of
from .decorators import own_nodes
from .everywhere import Found, Place, jit_functions, place
from .jitted import decorator_name, is_jit
from .kernels import find_kernels, returns_nothing
from .launches import launched
from .names import AUTOTUNE, HEURISTICS

#: What only code that runs in a kernel calls.
_IN_KERNELS = frozenset(
    f"triton.language.{name}" for name in ("program_id", "load", "store", "arange", "dot", "atomic_add")
)

#: A kernel that is not converted, and why.
Aside = tuple[ast.FunctionDef, Diagnostic]


def aside(module: Module, views: Sequence[Module], chosen: Iterable[Kernel]) -> tuple[Aside, ...]:
    """Every kernel of a file but the `chosen`, in source order. `views` are how functions that make kernels see it."""
    views = (module, *views)
    converted = {place(kernel.node) for kernel in chosen}
    spoken = [*unfollowed(views), *_left(views, converted)]
    return tuple(sorted(spoken, key=lambda item: (item[0].lineno, item[0].col_offset)))


def unfollowed(views: Sequence[Module]) -> Iterator[Aside]:
    """Functions that do what kernels do, under a decorator of which nobody can tell that it is `triton.jit`."""
    module = views[0]
    known = {place(helper.node) for view in views for helper in view.helpers.values()}
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.FunctionDef) or place(node) in known or is_jit(node, module.names):
            continue
        names = [decorator_name(one, module.names) for one in node.decorator_list]
        others = [name for name in names if name not in (AUTOTUNE, HEURISTICS)]
        if not others or any(name.partition(".")[0] in ("triton", "tlx") for name in others):
            continue
        if returns_nothing(node) and _runs_in_kernels(node, module):
            last = node.decorator_list[names.index(others[-1])]
            written = chain_of(last.func if isinstance(last, ast.Call) else last) or ast.unparse(last)
            yield node, Diagnostic.of("TLX112", Span.of(last), name=node.name, decorator=written)


def _left(views: Sequence[Module], converted: Container[Place]) -> Iterator[Aside]:
    """Jit functions that look like kernels, and that no name which is followed leads to."""
    module = views[0]
    tuned = {place(k.node) for view in views for k in find_kernels(view)}
    helpers = {place(helper.node) for view in views for helper in view.helpers.values()} - tuned
    names = {chain.rpartition(".")[2] for chain in launched(module.tree)}
    every = tuple(jit_functions(views))
    called = frozenset(_called(module, every))
    for found in every:
        node = found.node
        if place(node) in converted or place(node) in helpers:
            continue
        if returns_nothing(node) and (found.name in names or found.name not in called):
            yield node, _why(found, views, several=place(node) in tuned)


def _why(found: Found, views: Sequence[Module], *, several: bool) -> Diagnostic:
    """What keeps a kernel from being converted where it is."""
    node = found.node
    if (later := _taken(found, views)) is not None:
        return Diagnostic.of("TLX113", _head(node), name=found.name, line=str(later.lineno))
    if found.call is not None:
        return Diagnostic.of("TLX114", Span.of(found.call), name=node.name, call=ast.unparse(found.call))
    if several:
        why = "it is one of several of that name"
    else:
        why = {"class": "what is bound in a class is not followed", "kernel": "Triton compiles no such function"}.get(
            found.where, "no name that is followed leads to it"
        )
    return Diagnostic.of("TLX109", _head(node), name=node.name, where=found.where, why=why)


def _taken(found: Found, views: Sequence[Module]) -> ast.FunctionDef | None:
    """The function that has the name of another in place of it, where both are bound in one scope."""
    for view in views:
        helper = view.helpers.get(found.name)
        if helper is not None and place(helper.node) != place(found.node):
            both = any(place(one.node) == place(found.node) for one in view.shadowed)
            if both or (view is views[0] and found.where == "condition"):
                return helper.node
    return None


def _head(function: ast.FunctionDef) -> Span:
    """The line that begins a function's definition."""
    return replace(Span.of(function), end_line=function.lineno, end_column=function.col_offset + len("def"))


def _called(module: Module, every: Iterable[Found]) -> Iterator[str]:
    """The names that jit code of the file calls functions by."""
    names = module.names
    for found in every:
        for node in ast.walk(found.node):
            chain = chain_of(node.func) if isinstance(node, ast.Call) else None
            if chain is not None and not names.aliases.get(chain.partition(".")[0], "").startswith("triton"):
                yield chain.rpartition(".")[2]


def _runs_in_kernels(function: ast.FunctionDef, module: Module) -> bool:
    calls = (node.func for node in own_nodes(function) if isinstance(node, ast.Call))
    return any(module.names.canonical(func) in _IN_KERNELS for func in calls)
