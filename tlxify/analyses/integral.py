"""Which values of a kernel are surely integers, whatever the tensors hold, and of how many bits.

Casts say it, and comparisons, positions, `tl.argmax` and what arithmetic makes of such. An integer that the source
writes takes on the type of what stands beside it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from ..model import Kernel
from .bindings import bindings

#: A number of the source: as wide as what it meets.
WRITTEN = "written"
#: Surely no integer.
FLOAT = "float"
#: What a comparison gives.
TRUTH = "i1"
#: Element types by the names that `tl` has for them; memory of unsigned numbers holds the same bits.
_NAMED = {
    **{f"int{bits}": f"i{bits}" for bits in (1, 8, 16, 32, 64)},
    **{f"uint{bits}": f"i{bits}" for bits in (16, 32, 64)},
    "uint8": "u8",
}
_FLOATS = frozenset({"float16", "bfloat16", "float32", "float64", "float8e4nv", "float8e5"})
#: Functions that give positions and counts.
_COUNTS = frozenset({"argmax", "argmin", "program_id", "num_programs", "arange", "histogram"})
#: Functions that give what they take, and those among them that add up in at least 32 bits.
_SAME = frozenset(
    {"max", "min", "abs", "reshape", "view", "trans", "broadcast_to", "expand_dims", "flip", "sort", "ravel"}
)
_SUMS = frozenset({"sum", "cumsum", "cumprod", "xor_sum"})
#: Functions of two values.
_BOTH = frozenset({"maximum", "minimum", "cdiv"})
_MATH = frozenset({"exp", "exp2", "log", "log2", "cos", "sin", "sqrt", "rsqrt", "erf", "rand", "randn", "sigmoid"})


class Integers:
    """The values of one kernel that are surely integers."""

    def __init__(self, kernel: Kernel, whole: Iterable[str], loaded: Callable[[ast.expr], str | None]) -> None:
        """
        Args:
            kernel: whose values.
            whole: parameters that count or index.
            loaded: the element type of what an expression loads; None where it is not known, or nothing is loaded.
        """
        self._loaded = loaded
        self._params = {p.name: WRITTEN if p.constexpr else "i32" for p in kernel.params if p.name in {*whole}}
        self._bound = bindings(kernel.node, lambda loop: _POSITION)

    def of(self, value: ast.expr, within: frozenset[str] = frozenset()) -> str | None:
        """The type: `i1` to `i64` or `u8`, WRITTEN, FLOAT, or None where it is not known."""
        if (element := self._loaded(value)) is not None:
            return element
        match value:
            case ast.Constant(value=bool()) | ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                return TRUTH
            case ast.Constant(value=int()):
                return WRITTEN
            case ast.Constant(value=float()) | ast.BinOp(op=ast.Div()):
                return FLOAT
            case ast.UnaryOp(operand=inner) | ast.Subscript(value=inner):
                return self.of(inner, within)
            case ast.BinOp(left=left, right=right) | ast.IfExp(body=left, orelse=right):
                return _joined([self.of(left, within), self.of(right, within)])
            case ast.Call():
                return self._call(value, within)
            case ast.Name(id=name) if name in within:
                return WRITTEN  # what it was before, which the other bindings say
            case ast.Name(id=name) if name in self._bound:
                bound = [None if one is None else self.of(one, within | {name}) for one in self._bound[name]]
                return _joined([*bound, self._params[name]] if name in self._params else bound)
            case ast.Name(id=name):
                return self._params.get(name)
        return None

    def _call(self, call: ast.Call, within: frozenset[str]) -> str | None:
        function = call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)
        # `x.sum(0)` is `tl.sum(x, 0)`.
        method = isinstance(call.func, ast.Attribute) and not _is_module(call.func.value)
        args = [call.func.value, *call.args] if method and isinstance(call.func, ast.Attribute) else call.args
        named = {keyword.arg: keyword.value for keyword in call.keywords}
        if function in _COUNTS:
            return "i32"
        if function in _MATH:
            return FLOAT
        if function in ("to", "cast") and len(args) > 1:
            return _named(args[1])
        if function in ("zeros", "full"):
            place = 1 if function == "zeros" else 2
            kind = named.get("dtype") or (args[place] if len(args) > place else None)
            return None if kind is None else _named(kind)
        if function == "where" and len(args) == 3:
            return _joined([self.of(one, within) for one in args[1:]])
        if function in _BOTH and len(args) == 2:
            return _joined([self.of(one, within) for one in args])
        if function in (*_SAME, *_SUMS, "zeros_like") and args:
            found = self.of(args[0], within)
            return "i32" if function in _SUMS and found in (TRUTH, "i8", "u8", "i16") else found
        return None


_POSITION = ast.parse("tl.program_id(0)", mode="eval").body


def _is_module(node: ast.expr) -> bool:
    """Whether it is what functions are called of, rather than a value: `tl`, `tl.math`."""
    return isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node).split(".")[0] in (
        "tl",
        "triton",
        "libdevice",
    )


def _named(dtype: ast.expr) -> str | None:
    """The element type that an expression names: `tl.int8`."""
    name = ast.unparse(dtype).split(".")[-1]
    return FLOAT if name in _FLOATS else _NAMED.get(name)


def _joined(kinds: Iterable[str | None]) -> str | None:
    """The type of what is computed of several values."""
    found = {*kinds}
    if FLOAT in found:
        return FLOAT
    sized = {kind for kind in found if kind not in (None, WRITTEN)}
    if None in found:
        return None
    if sized == {TRUTH} and WRITTEN in found:
        return "i32"
    # Of two of one width the signed one: only what overflows tells them apart.
    return max(sized, key=lambda kind: (width(kind), str(kind).startswith("i")), default=WRITTEN)


def width(kind: str | None) -> int:
    """Bits of an integer type; 0 for what is none."""
    return 0 if kind in (None, WRITTEN, FLOAT) else int(str(kind)[1:])
