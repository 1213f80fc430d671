"""Constexprs whose values decide which way a kernel goes: numbers that it takes apart, flags that repeat a dtype.

`STAGE & 1` and `4 - STAGE == 2` say by themselves which stages are worth trying. `p.to(tl.bfloat16) if IS_BF16 else
p.to(tl.float16)`, multiplied by what was loaded, says that `IS_BF16` is true where that is bf16: a launch with another
value is none, for no dot has operands of two dtypes.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping

from ...facts import Facts
from ...model import Kernel

#: Numbers worth trying: flags of two or three bits, counts of a few.
_CANDIDATES = range(8)
_ARITHMETIC: Mapping[type[ast.AST], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_SHORT = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32"}


def deciding_values(kernel: Kernel, name: str) -> tuple[int, ...]:
    """Values of a constexpr that answer the kernel's questions about it in different ways, some of them with yes."""
    asked = [node.test for node in ast.walk(kernel.node) if isinstance(node, ast.If | ast.IfExp)]
    about = [test for test in asked if {n.id for n in ast.walk(test) if isinstance(n, ast.Name)} == {name}]
    questions = [test for test in about if not isinstance(test, ast.Name)]
    found: dict[tuple[bool, ...], int] = {}
    for value in _CANDIDATES:
        try:
            answers = tuple(bool(_value(test, {name: value})) for test in questions)
        except (ArithmeticError, ValueError):
            return ()
        if any(answers):
            found.setdefault(answers, value)
    return tuple(found.values())


def dtype_flags(kernel: Kernel, facts: Facts) -> dict[str, tuple[str, str]]:
    """Flags that say the dtype of a tensor: (pointer parameter, dtype by Triton's short name where the flag is set)."""
    found = {}
    for flag, target, dtype in _casts(kernel):
        for dot in facts.dots:
            for side, other in ((dot.a, dot.b), (dot.b, dot.a)):
                pointer = facts.loads[other.load].pointer if other.load is not None else None
                if side.text == target and pointer is not None:
                    found[flag] = (pointer, dtype)
    return found


def _casts(kernel: Kernel) -> Iterator[tuple[str, str, str]]:
    """(flag, name, dtype) wherever a flag chooses between two dtypes that a name is cast to."""
    for node in ast.walk(kernel.node):
        match node:
            case ast.If(test=ast.Name(id=flag), body=[ast.Assign(targets=[ast.Name(id=one)], value=first)]) if (
                len(node.orelse) == 1
            ):
                match node.orelse[0]:
                    case ast.Assign(targets=[ast.Name(id=other)], value=second) if one == other:
                        dtypes = _dtype(first), _dtype(second)
                        if dtypes[0] is not None and dtypes[1] is not None and dtypes[0] != dtypes[1]:
                            yield flag, one, dtypes[0]


def _dtype(node: ast.expr) -> str | None:
    """What `x.to(tl.bfloat16)` casts to."""
    match node:
        case ast.Call(func=ast.Attribute(attr="to"), args=[ast.Attribute(attr=name)]):
            return _SHORT.get(name)
    return None


def _value(node: ast.expr, known: Mapping[str, int]) -> int:
    """The value of arithmetic and comparisons of integers. Raises ValueError for anything else."""
    match node:
        case ast.Constant(value=int() as number):
            return int(number)
        case ast.Name(id=name):
            return known[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            return _ARITHMETIC[type(op)](_value(left, known), _value(right, known))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _ARITHMETIC:
            return _ARITHMETIC[type(op)](_value(left, known), _value(right, known))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _value(operand, known)
        case _:
            raise ValueError(ast.unparse(node))
