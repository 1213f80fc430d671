"""Which local names stand for Triton's modules and decorators."""

from __future__ import annotations

import ast

from ..model import Names

#: Modules whose members are canonical under the module's own name.
_KNOWN_MODULES = ("triton", "triton.language", "tlx")
JIT = "triton.jit"
AUTOTUNE = "triton.autotune"
HEURISTICS = "triton.heuristics"
_CANONICAL = {
    "triton.runtime.jit.jit": JIT,
    "triton.runtime.jit": JIT,
    "triton.runtime.autotuner.autotune": AUTOTUNE,
    "triton.runtime.autotuner.heuristics": HEURISTICS,
}


def collect_names(tree: ast.Module) -> Names:
    """The aliases that imports anywhere in the module create (also under `if` and `try`, also inside functions)."""
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    if alias.name.split(".")[0] in ("triton", "tlx"):
                        if alias.asname:
                            aliases[alias.asname] = alias.name
                        else:
                            root = alias.name.split(".")[0]
                            aliases[root] = root
            case ast.ImportFrom(module=str() as module, names=names, level=0) if module.split(".")[0] in (
                "triton",
                "tlx",
            ):
                for alias in names:
                    aliases[alias.asname or alias.name] = f"{module}.{alias.name}"
            case ast.ImportFrom(names=names):
                # Packages re-export Triton through modules of their own: `from pkg._triton import triton, tl`.
                for alias in names:
                    if alias.name in ("triton", "tl"):
                        aliases.setdefault(
                            alias.asname or alias.name, "triton" if alias.name == "triton" else "triton.language"
                        )
    return Names(aliases)


def canonical(names: Names, node: ast.expr) -> str | None:
    """The canonical name of a Name or Attribute chain, with Triton's internal homes of public names folded."""
    name = names.canonical(node)
    return _CANONICAL.get(name, name) if name else None
