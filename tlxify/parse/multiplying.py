"""Whether a jit function may reach a dot: asked of kernels that are not analysed because of where they are."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from ..model import Helper, Kernel, Module, Unresolved
from ..reach import chain_of, names_used, reach

DOTS = frozenset({"triton.language.dot", "triton.language.dot_scaled"})


def may_multiply(kernel: Kernel) -> bool:
    """Whether a kernel reaches a dot, or calls something of which that cannot be told."""
    functions = [(kernel.node, kernel.module)]
    functions += [(use.meaning.node, use.meaning.module) for use in reach(kernel) if isinstance(use.meaning, Helper)]
    return any(
        (module.names.canonical(call) or "") in DOTS or _unknown(chain, module)
        for node, module in functions
        for chain, call in _calls(node)
    )


def _calls(function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """What a function calls by names that it does not bind."""
    free = set(names_used(function))
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and (chain := chain_of(node.func)) is not None and chain in free:
            yield chain, node.func


def _unknown(chain: str, module: Module) -> bool:
    found = module.meaning(chain)
    if found is None:
        return not hasattr(builtins, chain.partition(".")[0])
    return isinstance(found[1], Unresolved)
