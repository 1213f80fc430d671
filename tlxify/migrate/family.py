"""FAMILY: what kind of computation a kernel is, told from its syntax and that of the helpers it reaches.

A heuristic of ours, for reports and statistics alone: nothing is decided by it. The rules, first match wins; "names"
are all identifiers of the kernel and its helpers, split at underscores:

| family | what tells |
|---|---|
| no dot | neither it nor a helper reaches `tl.dot` or `tl.dot_scaled` |
| linear attention | names of chunked recurrences (chunk, decay, delta, states, BT …), none of the softmax state |
| attention backward | as attention, and a derivative among the names (dq, dk, dv, do, dout) |
| attention | names of the softmax state (lse, m_i, l_i), or exponentials beside a maximum |
| convolution | a convolution's names |
| dequantising GEMM | a shift or bit mask of loaded data, or names of packed weights (int4, awq, gptq, qweight, zeros) |
| grouped GEMM | experts, groups or loaded sizes among the names |
| batched GEMM | a batch stride or index |
| GEMM | one contraction in a loop |
| other dot | the rest: dots outside of loops, Gram matrices, scores |
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from ..diagnostics import Decline
from ..model import Helper, Kernel
from ..parse.found import kernels_of
from ..parse.kernels import build_kernel
from ..parse.module import parse_module
from ..parse.multiplying import DOTS
from ..reach import reach
from ..source import SourceFile

EXPONENTIALS = frozenset({"exp", "exp2"})
MAXIMA = frozenset({"max", "maximum"})
SOFTMAX = frozenset({"lse", "m_i", "l_i", "softmax"})
DERIVATIVES = frozenset({"dq", "dk", "dv", "do", "dout"})
RECURRENCES = frozenset({"chunk", "chunks", "decay", "delta", "gk", "gv", "states", "ssd", "ssm", "retention", "bt"})
CONVOLUTIONS = frozenset({"conv", "conv1d", "conv2d", "conv3d", "dilation"})
PACKED = frozenset(
    {"int4", "awq", "gptq", "qweight", "qzeros", "nf4", "packed", "unpack", "dequant", "dequantize", "w4", "w4a16"}
)
GROUPS = frozenset({"expert", "experts", "moe", "grouped", "groups", "topk", "splits"})
BATCHES = frozenset({"batch", "bmm", "batched", "baddbmm"})


def families(source: SourceFile, elsewhere: frozenset[str] = frozenset()) -> dict[tuple[str, int], str]:
    """The family of each kernel of a file, by its name and first line; empty for a file that cannot be read.

    `elsewhere` are jit functions that other files launch.
    """
    try:
        module = parse_module(source)
        found = kernels_of(module, elsewhere)
        kernels = [*found.bindable, *(build_kernel(module, node) for node, _ in found.beside)]
        return {(kernel.name, kernel.span.line): family(kernel) for kernel in kernels}
    except (Decline, RecursionError):
        return {}


def family(kernel: Kernel) -> str:
    """The family of a kernel, by the table above."""
    functions = [(kernel.node, kernel.module)]
    functions += [(use.meaning.node, use.meaning.module) for use in reach(kernel) if isinstance(use.meaning, Helper)]
    called = [
        (module.names.canonical(node.func) or "", in_loop)
        for function, module in functions
        for node, in_loop in _calls(function)
    ]
    dots = [in_loop for name, in_loop in called if name in DOTS]
    if not dots:
        return "no dot"
    ends = {name.rpartition(".")[2] for name, _ in called}
    names = _names(node for node, _ in functions)
    words = {word for name in names for word in name.split("_")}
    softmax = (names | words) & SOFTMAX
    if words & RECURRENCES and not softmax:
        return "linear attention"  # its gates are exponentials as well
    if softmax or (ends & EXPONENTIALS and ends & MAXIMA):
        return "attention backward" if (names | words) & DERIVATIVES else "attention"
    if words & CONVOLUTIONS:
        return "convolution"
    if words & PACKED or any(_bits(node) for node, _ in functions):
        return "dequantising GEMM"
    if words & GROUPS:
        return "grouped GEMM"
    if words & BATCHES or "stride_ab" in names or "stride_az" in names:
        return "batched GEMM"
    return "GEMM" if any(dots) else "other dot"


def _calls(function: ast.FunctionDef) -> Iterable[tuple[ast.Call, bool]]:
    """Each call in a function, and whether it stands in a loop of the function."""
    pending: list[tuple[ast.AST, bool]] = [(function, False)]
    while pending:
        node, in_loop = pending.pop()
        if isinstance(node, ast.Call):
            yield node, in_loop
        inside = in_loop or isinstance(node, ast.For | ast.While)
        pending += [(child, inside) for child in ast.iter_child_nodes(node)]


def _names(functions: Iterable[ast.FunctionDef]) -> set[str]:
    found: set[str] = set()
    for function in functions:
        found.add(function.name)
        for node in ast.walk(function):
            if isinstance(node, ast.arg):
                found.add(node.arg)
            elif isinstance(node, ast.Name):
                found.add(node.id)
    # `BlockTable` and `block_table` are made of the same words.
    return {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower() for name in found}


def _bits(function: ast.FunctionDef) -> bool:
    """Whether a function takes values apart bit by bit."""
    shifts = any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.RShift) for node in ast.walk(function))
    masks = any(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.BitAnd)
        and any(isinstance(side, ast.Constant) and side.value in (0xF, 0x3, 0xFF) for side in (node.left, node.right))
        for node in ast.walk(function)
    )
    return shifts and masks
