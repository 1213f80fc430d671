"""Rewrites of the printed module.

Triton's bindings cannot change what a loop carries, nor the order of operations, nor make operations of other dialects.
So the printed form is changed and read again; most kernels have nothing to change and keep their module.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from triton._C.libtriton import ir, passes

from .arrivals import exact
from .early import moved
from .narrowing import narrowed


def rewritten(module: Any, context: Any) -> Any:
    """The optimised module, or a new one that replaces it."""
    text = "\n".join(str(module).splitlines())
    better = text
    if "scf.for" in text:
        better = moved(narrowed(better))
    if "ttng.async_copy_mbarrier_arrive" in text:
        better = exact(better)
    if better == text:
        return module
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "module.mlir"
        path.write_text(better, encoding="utf-8")
        made = ir.parse_mlir_module(str(path), context)
    made.context = context
    pm = ir.pass_manager(context)
    # Conversions that have become none.
    passes.common.add_canonicalizer(pm)
    pm.run(made, "tlx_reprinted")
    return made
