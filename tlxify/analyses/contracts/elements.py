"""Element types that the source itself cannot take, so that no launch has them.

Math functions of Triton want fp32 (`tl.exp` of 16 bits does not compile), and no integer `other` is cast to fp8.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ...contract import BYTE_DTYPES, TensorSpec
from ...facts import Facts
from ...model import Kernel
from .operands import pointer_of

#: Functions of `tl` and `tl.math` that take fp32 and fp64 alone.
WIDE = frozenset({"exp", "exp2", "log", "log2", "cos", "sin", "sqrt", "sqrt_rn", "rsqrt", "erf"})


def valid(kernel: Kernel, facts: Facts, specs: Iterable[TensorSpec]) -> list[TensorSpec]:
    """The tensors with the element types that are left."""
    pointers: dict[str, set[str]] = {}
    for load in facts.loads:
        if load.target is not None and load.pointer is not None:
            pointers.setdefault(load.target, set()).add(load.pointer)
    fed = {pointer_of(facts, side) for dot in facts.dots for side in (dot.a, dot.b)}
    wide = {pointer for name in _passed_to_math(kernel) for pointer in pointers.get(name, ())} - fed
    whole = {pointer for name in _filled_with_integers(kernel) for pointer in pointers.get(name, ())}
    groups = {spec.dtype_group for spec in specs if spec.name in whole}
    found = []
    for spec in specs:
        dtypes = spec.dtypes
        if spec.name in wide and spec.reads and not spec.values:
            dtypes = ("fp32",)
        elif spec.dtype_group in groups:
            dtypes = tuple(dtype for dtype in dtypes if dtype not in BYTE_DTYPES or dtype.startswith("i")) or dtypes
        deep = spec.deep if any(dtype in BYTE_DTYPES for dtype in dtypes) else None
        found.append(replace(spec, dtypes=dtypes, deep=deep))
    return found


def _passed_to_math(kernel: Kernel) -> Iterator[str]:
    """Names that are an argument of such a function as they are."""
    for node in ast.walk(kernel.node):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in WIDE:
            yield from (arg.id for arg in node.args if isinstance(arg, ast.Name))


def _filled_with_integers(kernel: Kernel) -> Iterator[str]:
    """Names of loads whose masked elements are an integer."""
    for node in ast.walk(kernel.node):
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(attr="load"), keywords=given)
            ):
                others = [k.value for k in given if k.arg == "other"]
                if any(isinstance(other, ast.Constant) and type(other.value) is int for other in others):
                    yield name
