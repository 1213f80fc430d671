"""The values of expressions in one world: scalars are computed, tensors stay unknown.

Values read from memory are unknown too, and equal loads give equal unknowns in every task, so roles that read the same
bound take the same trips.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from .flaw import Flaw
from .module import Module
from .values import DTYPES, Barrier, BarrierArray, Buffer, DType, InFlight, Misuse, Unknown, View, refuse
from .world import World

_BINARY: dict[type[ast.AST], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.Pow: ("**", operator.pow),
    ast.LShift: ("<<", operator.lshift),
    ast.RShift: (">>", operator.rshift),
    ast.BitAnd: ("&", operator.and_),
    ast.BitOr: ("|", operator.or_),
    ast.BitXor: ("^", operator.xor),
    ast.MatMult: ("@", operator.matmul),
}
#: Comparisons as (canonical operator, swap sides, negate), so that opposite conditions of two roles agree.
_COMPARE: dict[type[ast.cmpop], tuple[str, bool, bool]] = {
    ast.Lt: ("<", False, False),
    ast.GtE: ("<", False, True),
    ast.Gt: ("<", True, False),
    ast.LtE: ("<", True, True),
    ast.Eq: ("==", False, False),
    ast.NotEq: ("==", False, True),
    ast.Is: ("is", False, False),
    ast.IsNot: ("is", False, True),
    ast.In: ("in", False, False),
    ast.NotIn: ("in", False, True),
}
_COMPUTE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "==": operator.eq,
    "is": operator.is_,
    "in": lambda item, items: item in items,
}
_NUMBERS = (bool, int, float)
_PLAIN = (bool, int, float, str, tuple)


class Expressions:
    """Evaluates expressions over `names`. What a call does is left to `call`."""

    def __init__(self, module: Module, world: World) -> None:
        self.module = module
        self.world = world
        self.names: dict[str, object] = {}
        #: Comparisons of unknown values whose outcome the loops around have settled, by key.
        self.agreed: dict[str, bool] = {}
        #: What values are that only memory knows, where loops end with them, by key.
        self.numbers: dict[str, int] = {}
        #: Answers to questions that only memory knows, by key, as they were first given.
        self.chosen: dict[str, bool] = {}
        #: What is wrong at one place of the text, whatever the schedule.
        self.flaws: list[Flaw] = []

    def call(self, node: ast.Call) -> Any:
        """The value of a call."""
        raise NotImplementedError

    def outcome(self, asked: Unknown) -> bool:
        """The answer to a question that only memory knows: the same wherever it is asked."""
        return self.chosen.setdefault(asked.key, bool(asked.choice(self.world.seed, 2)))

    def truth(self, value: object, line: int) -> bool:
        """Which way a condition goes; an unknown one goes the same way in every task."""
        match value:
            case Unknown(key=key):
                negated = key.startswith("not ")
                return self.outcome(Unknown(key[4:] if negated else key)) != negated
            case Buffer() | View() | Barrier() | InFlight():
                refuse(line, "a condition on shared memory or on a dot in flight")
        return bool(value)

    def value(self, node: ast.expr) -> Any:
        """The value of an expression."""
        follow = _FOLLOWERS.get(type(node))
        return Unknown.of(ast.unparse(node)) if follow is None else follow(self, node)

    def name(self, name: str) -> object:
        """What a name stands for: a local, a parameter, a module constant, or itself."""
        if name in self.names:
            return self.names[name]
        if name in self.module.constants:
            outer, self.names = self.names, {}
            try:
                self.names[name] = Unknown(name)  # a constant defined by itself stays unknown
                return self.value(self.module.constants[name])
            finally:
                self.names = outer
        return Unknown(name)

    def known(self, value: object) -> int | None:
        """The number that a value is, or that it has been taken to be; None where there is none."""
        match value:
            case int():
                return int(value)
            case Unknown(key=key) if key in self.numbers:
                return self.numbers[key]
            case Unknown(parts=(("min" | "max") as name, *parts)):
                numbers = [number for part in parts if (number := self.known(part)) is not None]
                return (min if name == "min" else max)(numbers) if parts and len(numbers) == len(parts) else None
        return None

    def settled(self, value: object, line: int) -> object:
        """`value`; a dot that is still in flight is noted as a flaw, for it is read here."""
        if isinstance(value, InFlight):
            text = "the result of a dot is read before async_dot_wait returned it retired"
            self.flaws.append(Flaw("result-before-retire", line, text))
            return Unknown.of("in flight", value.newest)
        return value

    def binary(self, line: int, op: ast.operator, left: object, right: object) -> Any:
        """left op right."""
        symbol, compute = _BINARY[type(op)]
        left, right = self.settled(left, line), self.settled(right, line)
        if isinstance(left, _PLAIN) and isinstance(right, _PLAIN):
            try:
                return _truncated(symbol, left, right) if symbol in ("//", "%") else compute(left, right)
            except (ArithmeticError, TypeError, ValueError):
                pass
        return Unknown.of(left, symbol, right)

    def unary(self, line: int, op: ast.unaryop, operand: object) -> Any:
        """op operand."""
        operand = self.settled(operand, line)
        if isinstance(op, ast.Not):
            if isinstance(operand, Unknown):
                return _negation(operand)
            return not operand
        if isinstance(operand, _NUMBERS):
            if isinstance(op, ast.USub):
                return -operand
            if isinstance(op, ast.Invert) and isinstance(operand, int):
                return ~operand
            return operand
        return Unknown.of(type(op).__name__, operand)

    def boolean(self, line: int, conjunction: bool, nodes: list[ast.expr]) -> Any:
        """`and` and `or`: decided as soon as one operand decides it."""
        unknown: list[object] = []
        for node in nodes:
            value = self.value(node)
            if isinstance(value, Unknown):
                unknown.append(value)
            elif self.truth(value, line) != conjunction:
                return value
        return Unknown.of("and" if conjunction else "or", *unknown) if unknown else value

    def comparison(self, line: int, left: ast.expr, ops: list[ast.cmpop], nodes: list[ast.expr]) -> Any:
        """A comparison; only single ones are decided."""
        values = [self.settled(self.value(node), line) for node in (left, *nodes)]
        if len(ops) != 1:
            return Unknown.of("compare", *(type(op).__name__ for op in ops), *values)
        symbol, swap, negate = _COMPARE[type(ops[0])]
        first, second = (values[1], values[0]) if swap else (values[0], values[1])
        if not any(isinstance(value, Unknown) for value in values):
            try:
                return bool(_COMPUTE[symbol](first, second)) != negate
            except TypeError:
                pass
        result = Unknown.of(first, symbol, second)
        if isinstance(first, Unknown) and first == second and symbol in ("<", "=="):
            return (symbol == "==") != negate
        if result.key in self.agreed:
            return self.agreed[result.key] != negate
        low, high = self.known(first), self.known(second)
        if low is not None and high is not None and symbol in ("<", "=="):
            return bool(_COMPUTE[symbol](low, high)) != negate
        return _negation(result) if negate else result

    def attribute(self, node: ast.Attribute, inner: ast.expr, attr: str) -> Any:
        """A member of a module, or of a value."""
        dotted = self.module.dotted(node)
        if dotted is not None:
            return DTYPES.get(dotted.removeprefix("tl."), Unknown(dotted))
        value = self.settled(self.value(inner), node.lineno)
        buffer = value.buffer if isinstance(value, View) else value
        if isinstance(buffer, Buffer) and attr == "dtype":
            return DType(f"dtype of {buffer.name}", buffer.itemsize)
        if attr == "value":  # of a tl.constexpr
            return value
        return Unknown.of("attribute", attr, value)

    def subscript(self, node: ast.Subscript, value: object, index: ast.expr) -> Any:
        """`ring[slot]`, `barriers[slot]`, an item of a tuple, or an index into a tensor."""
        value = self.settled(value, node.lineno)
        if isinstance(value, Buffer | BarrierArray):
            return self.slot(value, self.value(index), node.lineno)
        if isinstance(value, tuple) and isinstance(key := self.value(index), int) and -len(value) <= key < len(value):
            return value[key]
        if isinstance(index, ast.Slice | ast.Tuple):
            return Unknown.of("index", ast.unparse(index), value)
        return Unknown.of("index", self.value(index), value)

    def slot(self, value: Buffer | BarrierArray, index: object, line: int) -> View | Barrier:
        """One slot of a ring or one barrier of an array."""
        if isinstance(index, Unknown):
            refuse(line, f"the index into {value.name} depends on memory")
        count = value.slots if isinstance(value, Buffer) else value.count
        if not isinstance(index, int) or not 0 <= index < count:
            raise Misuse("slot-out-of-range", line, f"{value.name}[{index}]: it has {count} slots")
        if isinstance(value, BarrierArray):
            return Barrier(value, index)
        return View(value, index, (0,) * len(value.shape), value.shape, tuple(range(len(value.shape))))


#: How each kind of expression is followed. A table: a `match` over the classes takes four times as long.
_FOLLOWERS: dict[type[ast.expr], Callable[[Expressions, Any], Any]] = {
    ast.Constant: lambda self, node: node.value,
    ast.Name: lambda self, node: self.name(node.id),
    ast.Tuple: lambda self, node: tuple(self.value(element) for element in node.elts),
    ast.List: lambda self, node: tuple(self.value(element) for element in node.elts),
    ast.BinOp: lambda self, node: self.binary(node.lineno, node.op, self.value(node.left), self.value(node.right)),
    ast.UnaryOp: lambda self, node: self.unary(node.lineno, node.op, self.value(node.operand)),
    ast.BoolOp: lambda self, node: self.boolean(node.lineno, isinstance(node.op, ast.And), node.values),
    ast.Compare: lambda self, node: self.comparison(node.lineno, node.left, node.ops, node.comparators),
    ast.IfExp: lambda self, node: self.value(
        node.body if self.truth(self.value(node.test), node.lineno) else node.orelse
    ),
    ast.Call: lambda self, node: self.call(node),
    ast.Attribute: lambda self, node: self.attribute(node, node.value, node.attr),
    ast.Subscript: lambda self, node: self.subscript(node, self.value(node.value), node.slice),
}


def _truncated(symbol: str, left: Any, right: Any) -> Any:
    """// and % as kernels compute them: rounded towards zero, remainder with the dividend's sign."""
    if isinstance(left, int) and isinstance(right, int) and (left < 0) != (right < 0):
        quotient = -(abs(left) // abs(right))
        return quotient if symbol == "//" else left - quotient * right
    return left // right if symbol == "//" else left % right


def _negation(value: Unknown) -> Unknown:
    return Unknown(value.key[4:] if value.key.startswith("not ") else "not " + value.key)
