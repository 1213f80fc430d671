"""CONTRACT: what each kernel parameter is, and what a valid launch looks like.

Expressions are Python text over parameter names, the contract's free sizes and `cdiv`; `evaluate` computes them.
Verification draws launches from a contract, and the generated launch guard checks the same shapes and strides.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

#: dtypes by Triton's short names, in the order in which verification tries them.
FLOAT16_DTYPES = ("fp16", "bf16")
#: Those of 8 bits that tensor cores multiply.
BYTE_DTYPES = ("fp8e4nv", "fp8e5", "i8")
#: Element types that memory of a launch may have.
ELEMENT_TYPES = (*FLOAT16_DTYPES, "fp32", "fp64", "fp8e4nv", "fp8e5", "i8", "i16", "i32", "i64", "u8")


#: A stride that no parameter holds: what a layout makes of it.
ANY_STRIDE = "any"


class ContractFault(Exception):
    """An expression of a contract says nothing of a launch: no such launch can be made. The text says why."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class Undefined(ContractFault, KeyError):
    """A name in an expression stands for nothing."""


class NoValue(ContractFault, ValueError):
    """An expression divides by zero, or does not come to a whole number."""


#: How elements are drawn from values: one of them, or as `TensorSpec.drawn` says.
Drawn = Literal["chosen", "rising", "between", "distinct"]


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """A pointer parameter, seen as a tensor, or a parameter that is a descriptor of one."""

    name: str
    #: Extent of each axis, outermost first, as an expression; a free size where no parameter holds the extent.
    shape: tuple[str, ...]
    #: Stride of each axis in elements, as an expression ("stride_am", "K", "1", `ANY_STRIDE`).
    strides: tuple[str, ...]
    reads: bool
    writes: bool
    #: Tensors of one group have one dtype in every launch (both operands of a dot).
    dtype_group: str
    dtypes: tuple[str, ...] = FLOAT16_DTYPES
    #: What its elements are drawn from, as expressions: scalars that decide what a program does. Empty: anything.
    values: tuple[str, ...] = ()
    #: How they are drawn. rising: never falling, from the first of `values` to the last: where each of some groups
    #: begins. between: any from the first to the last: indices. distinct: no two alike, as far as there are so many.
    drawn: Drawn = "chosen"
    #: The axis (from the first) that must be the contiguous one for the tensor cores to read elements of 8 bits.
    deep: int | None = None
    #: How it may lie in memory, by the names of `verify.cases.Layout`. Empty: in every way.
    layouts: tuple[str, ...] = ()
    #: The lengths of the blocks of the descriptor that is passed for it, as expressions. Empty: the tensor is passed.
    block: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ScalarSpec:
    """A parameter that is a number: an extent, a stride in elements, or any other value."""

    name: str
    kind: Literal["size", "stride", "int", "float"]
    #: The parameter is `tl.constexpr`: its value specializes the kernel.
    constexpr: bool = False
    #: Values worth trying where the kind alone does not tell them.
    choices: tuple[int | float, ...] = ()


@dataclass(frozen=True, slots=True)
class ConstexprSpec:
    """A compile-time parameter that is neither an extent nor a stride."""

    name: str
    #: tile: an `arange` length; flag: tested as a truth value; option: compared with literals; dtype: a cast's target;
    #: int: used in arithmetic alone.
    kind: Literal["tile", "flag", "option", "dtype", "int"]
    choices: tuple[object, ...]
    #: For kind dtype: the pointer parameter whose element type it names; for a flag, the one whose it tells.
    dtype_of: str | None = None
    #: For a flag that tells an element type: the one for which it is set, by Triton's short name.
    says: str | None = None


@dataclass(frozen=True, slots=True)
class LaunchConfig:
    """One way to launch: constexpr values with warps and stages, as a `triton.Config` or a call gives them."""

    values: tuple[tuple[str, object], ...]
    num_warps: int = 4
    num_stages: int = 3


@dataclass(frozen=True, slots=True)
class Contract:
    """Everything needed to launch a kernel on inputs of one's own."""

    kernel: str
    #: Parameter names in the kernel's order.
    parameters: tuple[str, ...]
    tensors: tuple[TensorSpec, ...]
    scalars: tuple[ScalarSpec, ...]
    constexprs: tuple[ConstexprSpec, ...]
    #: From the autotune decorator or the launch site where literal; else a set of ours, marked by `configs_known`.
    configs: tuple[LaunchConfig, ...]
    configs_known: bool
    #: One expression per grid axis.
    grid: tuple[str, ...]
    #: Sizes that no parameter holds (a batch extent that only the grid knows).
    free_sizes: tuple[str, ...] = ()
    #: The size that counts trips of the dot loop, with the tile that divides it: trips = cdiv(size, tile).
    contracted: tuple[str, str] | None = None
    #: Whether no dot loop makes a trip where that size is 0.
    empties: bool = True
    #: Sizes of the rows and columns of the result, and others that do not count trips, each with the tile that covers
    #: it, rows first.
    tiled: tuple[tuple[str, str], ...] = ()
    #: Sizes that the kernel relies on being a multiple of a tile: it does not mask there.
    multiples: tuple[tuple[str, str], ...] = ()
    #: Sizes of which only multiples of a tile can be converted: the source takes others, too.
    whole: tuple[tuple[str, str], ...] = ()
    #: Sizes that are strides of what is read, too: of whole 16 bytes, or the TMA cannot read it.
    aligned: tuple[str, ...] = ()
    #: Parameters that follow from others, as every launch in the source computes them: ("NT", "cdiv(T, BT)").
    computed: tuple[tuple[str, str], ...] = ()
    #: Sizes that one tile covers and every access is masked by, with the tile: from 1 to its length.
    covered: tuple[tuple[str, str], ...] = ()
    #: Constexprs that a tuner sets: a call does not tell them.
    tuned: tuple[str, ...] = ()
    #: Pointers that nothing is read or written through in these launches: None is passed for them.
    absent: tuple[str, ...] = ()
    #: Parameters that the kernel never reads, and of which no launch says what they are: any number does for them.
    unread: tuple[str, ...] = ()
    #: Least and largest value of sizes; None where only the least is known.
    bounds: tuple[tuple[str, int, int | None], ...] = ()
    #: Who says so: the analyses, the analyses corrected by the user, or the user alone.
    origin: Literal["inferred", "corrected", "given"] = "inferred"
    #: How many of the configs, the last ones, have tiles that the source does not list.
    added: int = 0

    @property
    def listed(self) -> Contract:
        """The contract with the source's own configs alone."""
        return replace(self, configs=self.configs[: len(self.configs) - self.added], added=0)

    @property
    def counted(self) -> tuple[tuple[str, str], ...]:
        """Sizes that are so many tiles, each with the tile: those of the result, then the one that counts trips."""
        return (*self.tiled, *((self.contracted,) if self.contracted is not None else ()))

    @property
    def laying(self) -> tuple[ConstexprSpec, ...]:
        """The flags and options that decide in which order tensors lie in memory."""
        asked = flags_in(stride for tensor in self.tensors for stride in tensor.strides)
        return tuple(spec for spec in self.constexprs if spec.name in asked)

    def dtypes_of(self, group: str) -> tuple[str, ...]:
        """The element types that all tensors of a group may have, in the order of the first of them."""
        return common_dtypes([tensor.dtypes for tensor in self.tensors if tensor.dtype_group == group])

    def dtype_of(self, tensor: TensorSpec, position: int) -> str:
        """What a tensor's elements are in launches with the element types at this position."""
        # Where a group has nothing in common, each member is at least what it alone may be.
        dtypes = self.dtypes_of(tensor.dtype_group) or tensor.dtypes
        return dtypes[min(position, len(dtypes) - 1)]

    def with_added(self, configs: Sequence[LaunchConfig]) -> Contract:
        """The contract with configs of ours besides."""
        return replace(self, configs=(*self.configs, *configs), added=self.added + len(configs))


def common_dtypes(each: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The element types that are in all of several lists, in the order of the first."""
    return tuple(dtype for dtype in each[0] if all(dtype in other for other in each[1:])) if each else ()


def complete(contract: Contract, known: dict[str, object]) -> None:
    """Adds the parameters that follow from the `known` ones, as far as they do.

    Sizes that a tile covers are as long as the tile where nothing else is known of them.
    """
    pending = {**{size: tile for size, tile in contract.covered if size not in known}, **dict(contract.computed)}
    while pending:
        settled = []
        for name, expression in pending.items():
            try:
                known[name] = evaluate(expression, {other: known[other] for other in known if other not in pending})
            except (ContractFault, ValueError):
                continue  # whoever asks for it is told
            settled.append(name)
        if not settled:
            return
        for name in settled:
            del pending[name]


def cdiv(a: int, b: int) -> int:
    """a / b rounded up."""
    return -(-a // b)


_OPERATORS: Mapping[type[ast.AST], Callable[..., object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.USub: operator.neg,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_FUNCTIONS: Mapping[str, Callable[..., object]] = {"cdiv": cdiv, "min": min, "max": max}


def settled(expression: str, values: Mapping[str, object]) -> str:
    """An expression with the choices in it made, `1 if TRANS_A else stride_a` being one, as `values` answer its test.

    Raises Undefined where they do not answer it, and ValueError for a test of more than flags and options.
    """
    return decided(expression, lambda test: _answer(test, values))


def decided(expression: str, answer: Callable[[ast.expr], bool]) -> str:
    """An expression with each of the choices in it made as `answer` says of its test."""
    if " if " not in expression:
        return expression

    class Made(ast.NodeTransformer):
        def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
            taken: ast.AST = self.visit(node.body if answer(node.test) else node.orelse)
            return taken

    return ast.unparse(Made().visit(ast.parse(expression, mode="eval")))


def flags_in(expressions: Iterable[str]) -> tuple[str, ...]:
    """The names that choices in some expressions ask for."""
    nodes = (node for text in expressions if " if " in text for node in ast.walk(ast.parse(text, mode="eval")))
    tests = (node.test for node in nodes if isinstance(node, ast.IfExp))
    return tuple(dict.fromkeys(n.id for test in tests for n in ast.walk(test) if isinstance(n, ast.Name)))


def _answer(test: ast.expr, values: Mapping[str, object]) -> bool:
    """What a test of flags and options comes to. Raises Undefined, and ValueError for any other test."""

    def value(node: ast.expr) -> object:
        match node:
            case ast.Constant(value=known):
                return known
            case ast.Name(id=name):
                if name not in values:
                    raise Undefined(f"nothing says what `{name}` is")
                return values[name]
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return not value(operand)
            case ast.BoolOp(op=op, values=parts):
                return (all if isinstance(op, ast.And) else any)(value(part) for part in parts)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](value(left), value(right))
            case _:
                raise ValueError(f"not a question of flags: {ast.unparse(test)!r}")

    return bool(value(test))


def extent_of(tile: str, values: Mapping[str, object]) -> int | None:
    """Elements of a tile, or of a step of several, along one axis; None where the values do not tell."""
    try:
        return evaluate(tile, values)
    except (ContractFault, ValueError):
        return None


def evaluate(expression: str, values: Mapping[str, object]) -> int:
    """The value of a contract expression.

    Raises:
        Undefined: a name is unknown (a KeyError).
        NoValue: it divides by zero, or is no whole number (a ValueError).
        ValueError: it is more than arithmetic.
    """

    def value(node: ast.expr) -> object:
        match node:
            case ast.Constant(value=int() | float() as number):
                return number
            case ast.Name(id=name):
                if name not in values:
                    raise Undefined(f"nothing says what `{name}` is")
                return values[name]
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](value(left), value(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](value(left), value(right))
            case ast.UnaryOp(op=ast.USub() as op, operand=operand):
                return _OPERATORS[type(op)](value(operand))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return value(body if _answer(test, values) else orelse)
            case ast.Call(func=ast.Name(id=name), args=[_, _, *more] as args, keywords=[]) if (
                name in _FUNCTIONS and not (more and name == "cdiv")
            ):
                return _FUNCTIONS[name](*map(value, args))
            case _:
                raise ValueError(f"not an arithmetic expression: {expression!r}")

    tree = ast.parse(expression, mode="eval").body
    try:
        result = value(tree)
    except (ArithmeticError, TypeError) as error:
        names = {n.id: values[n.id] for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id in values}
        given = ", ".join(f"{name} = {number!r}" for name, number in names.items())
        raise NoValue(f"`{expression}` has no value{f' at {given}' if given else ''}: {error}") from None
    if isinstance(result, float) and result.is_integer():
        result = int(result)
    if not isinstance(result, int):
        raise NoValue(f"`{expression}` is no whole number: it is {result!r}")
    return result
