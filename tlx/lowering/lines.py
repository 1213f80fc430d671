"""Whether a tile of tensor memory ends in a reduction of one dimension, which a pass of older releases cannot have."""

from __future__ import annotations

import re

from .irtext import Op, parse

_LOAD, _REDUCE = "ttng.tmem_load", "tt.reduce"
_LINE = re.compile(r"\s*\}\) : \(tensor<\d+x[a-z]")


def line_of_tensor_memory(text: str) -> bool:
    """Whether some one-dimensional reduction depends on what was loaded from tensor memory, or may do so."""
    if _LOAD not in text or _REDUCE not in text:
        return False
    lines = text.splitlines()
    ops = [op for op in parse(text) if isinstance(op, Op)]
    loaded: set[str] = set()
    known = -1
    # Loops pass on what comes later in the text.
    while known != (known := len(loaded)):
        for op in ops:
            loaded |= {argument for argument, initial in op.assigned if initial in loaded}
            if op.code == _LOAD or not loaded.isdisjoint(op.operands):
                loaded |= set(op.results)
                ends = op.code in ("scf.yield", "scf.condition") and op.parents
                owner = op.parents[-1] if ends else None
                loaded |= {*owner.results, *(argument for argument, _ in owner.assigned)} if owner else set()
    reductions = (op for op in ops if op.code == _REDUCE and not loaded.isdisjoint(op.operands))
    return any(_LINE.match(_end(lines, op.line)) for op in reductions)


def _end(lines: list[str], start: int) -> str:
    """The line that closes the region opened at ``start``, where the types of the operands stand."""
    depth = 0
    for line in lines[start:]:
        depth += line.endswith("{") - line.lstrip().startswith("}")
        if not depth:
            return line
    return ""
