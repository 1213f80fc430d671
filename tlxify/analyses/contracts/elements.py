"""Element types that the source itself cannot take, so that no launch has them.

Math functions of Triton want fp32 (`tl.exp` of 16 bits does not compile), operations on bits want integers, no integer
`other` is cast to fp8, and a dot has operands of one type: what is multiplied by a sum of products is as wide as that.
Where an operand is cast to the type of the other one, and is an integer outside of its mask, it holds integers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ...contract import BYTE_DTYPES, TensorSpec
from ...facts import Facts
from ...model import Kernel
from ...source import Span
from ..floats import WIDE, Floats
from .operands import fed
from .packing import words_of
from .taking import taken_apart


def valid(kernel: Kernel, facts: Facts, specs: Iterable[TensorSpec]) -> list[TensorSpec]:
    """The tensors with the element types that are left."""
    pointers: dict[str, set[str]] = {}
    for load in facts.loads:
        if load.target is not None and load.pointer is not None:
            pointers.setdefault(load.target, set()).add(load.pointer)
    places = {load.span: load.pointer for load in facts.loads if load.pointer is not None}
    operands = fed(facts)
    raw = _Raw(kernel, places)
    wide = set().union(*raw.passed_to_math()) - operands
    patterns = words_of(kernel.node, facts, taken_apart(kernel.node, raw.of))
    beside = set().union(*raw.multiplied_by_sums())
    widened = {spec.dtype_group for spec in specs if spec.name in beside and spec.reads and not spec.values}
    whole = {pointer for name in _filled_with_integers(kernel) for pointer in pointers.get(name, ())}
    groups = {spec.dtype_group for spec in specs if spec.name in whole}
    cast = {pointer for name in _cast_for_a_dot(kernel, raw.bound) for pointer in pointers.get(name, ())} & whole
    members = [spec.dtype_group for spec in specs]
    alone = {spec.name for spec in specs if members.count(spec.dtype_group) == 1 and not spec.writes}
    integers = {**dict.fromkeys(cast & alone, "i8"), **{name: patterns[name] for name in patterns.keys() - operands}}
    found = []
    for spec in specs:
        dtypes = spec.dtypes
        if spec.dtype_group in widened:
            dtypes = ("fp32",)
        elif spec.name in integers and spec.reads and not spec.values:
            dtypes = (integers[spec.name],)
        elif spec.name in wide and spec.reads and not spec.values:
            dtypes = ("fp32",)
        elif spec.dtype_group in groups:
            dtypes = tuple(dtype for dtype in dtypes if dtype not in BYTE_DTYPES or dtype.startswith("i")) or dtypes
        deep = spec.deep if any(dtype in BYTE_DTYPES for dtype in dtypes) else None
        found.append(replace(spec, dtypes=dtypes, deep=deep))
    return found


class _Raw:
    """Which parameters' elements a value still has the type of: what was loaded, and sums and choices of such."""

    def __init__(self, kernel: Kernel, places: Mapping[Span, str]) -> None:
        self._kernel = kernel
        self._places = places
        self._floats = Floats(kernel)
        self.bound = self._floats.bound

    def passed_to_math(self) -> Iterator[frozenset[str]]:
        """For every call of a function that wants fp32: the parameters whose elements it is given as they are."""
        for node in ast.walk(self._kernel.node):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in WIDE:
                for arg in node.args:
                    yield self.of(arg) or frozenset()

    def multiplied_by_sums(self) -> Iterator[frozenset[str]]:
        """For every dot of which one operand is surely fp32: the parameters whose elements the other one is."""
        for node in ast.walk(self._kernel.node):
            match node:
                case ast.Call(func=ast.Attribute(attr="dot"), args=[left, right, *_]):
                    for one, other in ((left, right), (right, left)):
                        if self._floats.wide(one):
                            yield self.of(other) or frozenset()

    def of(self, value: ast.expr, within: frozenset[str] = frozenset()) -> frozenset[str] | None:
        """The parameters; none for a value that takes on any type, None for one that has a type of its own."""
        if (pointer := self._places.get(Span.of(value))) is not None:
            return frozenset({pointer})
        match value:
            case ast.Constant(value=int() | float()):
                return frozenset()
            case ast.UnaryOp(operand=operand) | ast.Subscript(value=operand):
                return self.of(operand, within)
            case ast.Call(func=ast.Attribute(attr="trans"), args=[operand]):
                return self.of(operand, within)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
                return _joined(self.of(left, within), self.of(right, within))
            case ast.Call(func=ast.Attribute(attr="where"), args=[_, chosen, other]):
                return _joined(self.of(chosen, within), self.of(other, within))
            case ast.Name(id=name) if name in self.bound and name not in within:
                # In some arm or trip it is one of these: any that is loaded may be of 16 bits.
                found = [self.of(one, within | {name}) for one in self.bound[name]]
                return frozenset().union(*(one for one in found if one)) or None
        return None


def _joined(left: frozenset[str] | None, right: frozenset[str] | None) -> frozenset[str] | None:
    """What both sides of a sum have the type of: a side with a type of its own may be the wider one."""
    return None if left is None or right is None else left | right


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


def _cast_for_a_dot(kernel: Kernel, bound: Mapping[str, list[ast.expr]]) -> Iterator[str]:
    """Names of tiles that a dot casts as they are to what its other operand is: `tl.dot(x, w.to(x.dtype))`.

    `bound` is what each name of the kernel is bound to.
    """
    for node in ast.walk(kernel.node):
        match node:
            case ast.Call(func=ast.Attribute(attr="dot"), args=[left, right, *_]):
                for one, other in ((left, right), (right, left)):
                    match one, other:
                        case (
                            ast.Call(
                                func=ast.Attribute(value=ast.Name(id=name), attr="to"),
                                args=[ast.Attribute(value=ast.Name(id=asked), attr="dtype")],
                            ),
                            ast.Name(id=beside),
                        ) if asked == beside and len(bound.get(name, ())) == 1:
                            yield name
