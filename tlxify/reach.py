"""What a kernel reads from outside of itself, directly or through helpers: the walk behind slices and fingerprints."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass

from .model import Helper, Kernel, Meaning, Module
from .source import Span


@dataclass(frozen=True, slots=True)
class Use:
    """One global name in a function that runs as part of a kernel."""

    #: As it is written there: an identifier, or the chain that it takes to get past modules.
    name: str
    #: None for what the module does not bind: builtins, and names that are nowhere.
    meaning: Meaning | None
    #: The module in which it is written.
    module: Module
    #: Its first place; for a name in another file, the place in the user's file that led there.
    span: Span


def reach(kernel: Kernel) -> Iterator[Use]:
    """Every use in the kernel and in the helpers that it reaches, each function once."""
    home = kernel.module
    pending = [(kernel.node, home, Span.of(kernel.node))]
    seen = {id(kernel.node)}
    while pending:
        node, module, entry = pending.pop()
        for chain in names_used(node):
            name, meaning = module.meaning(chain) or (chain.partition(".")[0], None)
            here = module.source.path == home.source.path
            use = Use(name, meaning, module, _place(node, name) if here else entry)
            yield use
            if isinstance(meaning, Helper) and id(meaning.node) not in seen:
                seen.add(id(meaning.node))
                pending.append((meaning.node, meaning.module, use.span))


@functools.lru_cache(maxsize=64)
def names_used(node: ast.FunctionDef) -> tuple[str, ...]:
    """Identifiers and dotted chains that a function loads, in its signature or body, and does not bind; sorted."""
    inner: list[ast.AST] = [*node.body, node.args, *([node.returns] if node.returns else [])]
    every = [n for part in inner for n in ast.walk(part)]
    bound = {n.arg for n in every if isinstance(n, ast.arg)}
    bound |= {n.id for n in every if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    found: set[str] = set()
    while inner:
        part = inner.pop()
        chain = chain_of(part)
        if chain is None:
            inner.extend(ast.iter_child_nodes(part))
        elif chain.partition(".")[0] not in bound:
            found.add(chain)
    return tuple(sorted(found))


def chain_of(node: ast.AST) -> str | None:
    """`a`, `a.b`, `a.b.c` for a name or attributes of one; None for any other node."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (head := chain_of(node.value)) is not None:
        return f"{head}.{node.attr}"
    return None


def _place(node: ast.FunctionDef, name: str) -> Span:
    return _places(node)[name]


@functools.lru_cache(maxsize=64)
def _places(node: ast.FunctionDef) -> dict[str, Span]:
    """Where each identifier and dotted chain of a function stands first."""
    found: dict[str, Span] = {}
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name | ast.Attribute) and (chain := chain_of(inner)) is not None:
            found.setdefault(chain, Span.of(inner))
    return found
