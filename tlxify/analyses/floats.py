"""Which values of a kernel are surely fp32, whatever the tensors hold.

Math functions of Triton give what they take, and take fp32 (fp64 apart, which no kernel of the tensor cores has). A
product of the tensor cores is fp32 unless asked to be something else, and so is what is made of fp32 and anything else.
"""

from __future__ import annotations

import ast

from ..model import Alias, Helper, Kernel

#: Functions of `tl` and `tl.math` that take fp32 and fp64 alone.
WIDE = frozenset({"exp", "exp2", "log", "log2", "cos", "sin", "sqrt", "sqrt_rn", "rsqrt", "erf"})


def _bindings(kernel: Kernel) -> dict[str, list[ast.expr]]:
    """What each name of a kernel is bound to by itself."""
    bound: dict[str, list[ast.expr]] = {}
    for node in ast.walk(kernel.node):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                bound.setdefault(name, []).append(value)
    return bound


class Floats:
    """The values of one kernel that are surely fp32."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        #: What each name of the kernel is bound to by itself.
        self.bound = _bindings(kernel)

    def narrowed(self, value: ast.expr) -> tuple[ast.expr, ast.expr] | None:
        """Of a value of fp32 that is cast to another dtype: that value, and the dtype. None for anything else."""
        match value:
            case ast.Call(func=ast.Attribute(value=inner, attr="to"), args=[dtype], keywords=[]) if self.wide(inner):
                return inner, dtype
        return None

    def wide(self, value: ast.expr, within: frozenset[str] = frozenset()) -> bool:
        """Whether a value is surely fp32: a product, a cast, what is made of such and of anything else."""
        match value:
            case ast.Call(func=ast.Attribute(attr="to"), args=[ast.Attribute(attr=dtype)]):
                return dtype == "float32"
            case ast.Call(func=ast.Attribute(attr=function)) if function in WIDE:
                return True
            case ast.Call(func=ast.Name(id=name), args=[_]) if name not in self.bound:
                return self._returns_wide(name)
            case ast.Call(func=ast.Attribute(attr="dot"), keywords=given):
                return all(keyword.arg != "out_dtype" for keyword in given)
            case ast.Call(func=ast.Attribute(attr="zeros" | "full"), args=args, keywords=given):
                named = [*args[1:], *(keyword.value for keyword in given if keyword.arg == "dtype")]
                return any(isinstance(one, ast.Attribute) and one.attr == "float32" for one in named)
            case ast.Call(func=ast.Attribute(attr="trans"), args=[inner, *_]) | ast.UnaryOp(operand=inner):
                return self.wide(inner, within)
            case ast.Call(func=ast.Attribute(attr="where"), args=[_, one, other]):
                return self.wide(one, within) or self.wide(other, within)
            case ast.BinOp(left=one, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div(), right=other):
                return self.wide(one, within) or self.wide(other, within)
            case ast.Name(id=name) if name in within:
                return True  # as wide as what it was before
            case ast.Name(id=name) if name in self.bound:
                return all(self.wide(one, within | {name}) for one in self.bound[name])
        return False

    def _returns_wide(self, name: str) -> bool:
        """Whether what goes by a name is a function that gives fp32 alone: Triton's own, or a helper around one."""
        _, meaning = self._kernel.module.meaning(name) or (name, None)
        match meaning:
            case Alias(canonical=canonical):
                return canonical.rpartition(".")[2] in WIDE
            case Helper(node=ast.FunctionDef(body=[*_, ast.Return(value=ast.expr() as result)])):
                return isinstance(result, ast.Call) and isinstance(result.func, ast.Attribute) and self.wide(result)
        return False
