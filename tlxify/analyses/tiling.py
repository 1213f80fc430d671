"""Whether a kernel may be launched with tiles that its source does not list: nothing it computes depends on them.

A tile's rows and columns may have any length where both hold:

* what a program works on follows from its tile alone: every access lies at `tile number × length + position` along the
  rows and columns and depends on neither elsewhere, and so many programs of the grid cover every tile once;
* what it computes is a matter of each element: no branch, loop or value sees a tile's number or length, and nothing
  combines the rows or the columns.

The contracted axis is left alone: how it is cut up decides in which order products are added.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..contract import Contract
from ..facts import Access, AxisId, Dimension, Facts, Tiling
from ..model import Branch, Kernel, Loop, Statement, walk
from ..parse.launches import tuner_configs
from ..poly import ZERO, Poly, Symbol
from ..source import Span
from .counting import covers
from .texts import words

LANGUAGE = "triton.language."
#: Functions whose result does not hold their first argument but only has its shape; and where the shape comes second.
SHAPES = frozenset({"zeros", "full"})
SHAPED = frozenset({"broadcast_to"})
#: Statements that promise or check.
PROMISES = frozenset({"static_assert", "assume", "device_assert", "multiple_of", "max_contiguous", "debug_barrier"})
#: Functions that take an address, where the rest of their arguments begins.
STORES = {"store": 1, "atomic_add": 1, "atomic_max": 1, "atomic_min": 1}


class Tied(Exception):
    """Something depends on the tiles; the text says what."""


def tiling(kernel: Kernel, facts: Facts, contract: Contract) -> Tiling | str:
    """The tiles that may have other lengths, or why none may, in a few words."""
    try:
        return _Proof(kernel, facts, contract).tiling()
    except Tied as reason:
        return str(reason)


class _Proof:
    def __init__(self, kernel: Kernel, facts: Facts, contract: Contract) -> None:
        self.kernel, self.facts, self.contract = kernel, facts, contract
        self.rows, self.columns = self._axes()
        self.lengths = {facts.axis(axis).length.text(): axis for axis in (self.rows, self.columns)}
        #: The number of the tile along each of the two axes.
        self.numbers: dict[AxisId, Poly] = {}
        #: How long each of the two axes is, by the masks of the stores.
        self.extents: dict[AxisId, str] = {}
        #: Axes of the grid that number tiles.
        self.programs: set[int] = set()

    def tiling(self) -> Tiling:
        """Raises Tied."""
        self._tuned()
        for _, access in self.facts.accesses:
            for dimension in access.dimensions:
                self._numbered(dimension)
        if set(self.numbers) != {self.rows, self.columns}:
            raise Tied("nothing says where a tile lies")
        self.programs = {axis for number in self.numbers.values() for axis in _programs(number)}
        if self.facts.num_programs:
            raise Tied("programs take several tiles")
        for _, access in self.facts.accesses:
            self._placed(access)
        for store in self.facts.stores:
            self._stored(store.span)
        self._scalars()
        _Uses(self.kernel, self.facts, frozenset(self.lengths), frozenset(self.programs)).check()
        rows, columns = self.lengths
        return Tiling(rows, columns, self._grid())

    def _axes(self) -> tuple[AxisId, AxisId]:
        sides = {(dot.a.axes[0], dot.b.axes[1]) for dot in self.facts.dots}
        rows, columns = sides.pop() if len(sides) == 1 else (None, None)
        if rows is None or columns is None or rows == columns:
            raise Tied("its dots do not all have the rows and the columns of one result")
        for number in (rows, columns):
            axis = self.facts.axis(number)
            if axis.contracted or axis.reduced or axis.opaque or axis.doubled:
                raise Tied(f"something combines what lies along {axis.length.text()}")
        return rows, columns

    def _tuned(self) -> None:
        """The lengths come from configs that are known, and from nowhere else."""
        contract = self.contract
        if not contract.configs_known or tuner_configs(self.kernel) is None:
            raise Tied("no tuner here lists its tiles")
        if len(self.lengths) != 2 or not set(self.lengths) <= set(contract.tuned):
            raise Tied("the tuner does not set the rows and the columns of a tile")
        for config in contract.configs:
            if not all(isinstance(dict(config.values).get(name), int) for name in self.lengths):
                raise Tied("not every config sets the rows and the columns of a tile")
        for axis in self.facts.axes:
            if axis.id not in (self.rows, self.columns) and self._mentions(axis.length):
                raise Tied(f"another axis is {axis.length.text()} long")
        texts = [text for spec in contract.tensors for text in (*spec.shape, *spec.strides, *spec.block)]
        texts += [text for pair in (*contract.computed, *contract.multiples, *contract.whole) for text in pair]
        if found := words(texts) & set(self.lengths):
            raise Tied(f"an argument or a claim of the launch depends on {min(found)}")

    def _mentions(self, poly: Poly) -> bool:
        return any(symbol.name in self.lengths for symbol in _deep(poly))

    def _numbered(self, d: Dimension) -> None:
        """Notes which tile an access along rows or columns is of: the same in every access."""
        if d.axis not in (self.rows, self.columns) or d.axis is None:
            return
        quotient, rest = d.coordinate.divide(self.facts.axis(d.axis).length)
        if self._mentions(rest):
            raise Tied(f"a tile begins at {d.coordinate.text()}")
        if quotient == ZERO or self.numbers.setdefault(d.axis, quotient) != quotient:
            raise Tied(f"tiles along {self.facts.axis(d.axis).length.text()} are numbered in several ways")

    def _placed(self, access: Access) -> None:
        """An access sees the tile in nothing but where it lies along rows and columns. Raises Tied."""
        for d in access.dimensions:
            others = [d.stride, d.extent, d.limit, d.divisor, d.stated]
            if d.axis in (self.rows, self.columns) and d.axis is not None:
                others.append(d.coordinate.divide(self.facts.axis(d.axis).length)[1])
                if d.whole or d.divisor is not None or d.waived or (d.extent is None and d.limit is None):
                    raise Tied(f"what it reads of `{access.pointer}` is not masked")
            else:
                others.append(d.coordinate)
            for poly in others:
                if poly is not None and self._tied(poly):
                    raise Tied(f"where it reads `{access.pointer}` depends on the tile: {poly.text()}")

    def _tied(self, poly: Poly) -> bool:
        """Whether a scalar may differ from tile to tile, or with the tiles' lengths."""
        return self._mentions(poly) or bool(self.programs & set(_programs(poly)))

    def _stored(self, span: Span) -> None:
        access = self.facts.access(span)
        if access is None:
            raise Tied("where it stores is not known")
        axes = {d.axis: d for d in access.dimensions if d.axis is not None}
        for axis in (self.rows, self.columns):
            d = axes.get(axis)
            if d is None or d.wrapped or d.extent is None or not d.extent.launch or d.limit is not None:
                raise Tied(f"what it stores in `{access.pointer}` is not masked by a size")
            if self.extents.setdefault(axis, d.extent.text()) != d.extent.text():
                raise Tied(f"what it stores in `{access.pointer}` ends elsewhere than what it stores before")

    def _scalars(self) -> None:
        """Loads that are no strided tiles are of scalars that the tiles do not decide on."""
        parts = {part for load in self.facts.armed for part in load.parts}
        for load in self.facts.loads:
            if self.facts.access(load.span) is not None or load.id in parts:
                continue
            if load.offset is None or self._tied(load.offset):
                raise Tied(f"where it reads `{load.pointer}` may depend on the tile")

    def _grid(self) -> tuple[str | None, ...]:
        """The grid that covers every tile once. Raises Tied where none is known to."""
        names = set(self.contract.parameters)
        grid: list[str | None] = []
        for axis, text in enumerate(self.contract.grid):
            if axis in self.programs:
                if not words([text]) <= names:
                    raise Tied("how many programs there are is not known")
                grid.append(text)
            else:
                grid.append(None)
        lengths = {axis: name for name, axis in self.lengths.items()}
        tiles = [(self.extents[axis], lengths[axis], self.numbers[axis]) for axis in (self.rows, self.columns)]
        for config in self.contract.configs:
            if not covers(tiles, tuple(grid), dict(config.values)):
                raise Tied("its programs are not known to cover every tile once")
        return tuple(grid)


class _Uses:
    """Where the statements of a kernel use what depends on tiles: in addresses alone."""

    def __init__(self, kernel: Kernel, facts: Facts, lengths: frozenset[str], programs: frozenset[int]) -> None:
        self.kernel, self.programs, self.lengths = kernel, programs, lengths
        self.loads = {load.span for load in facts.loads}
        self.tied: set[str] = set(lengths)

    def check(self) -> None:
        """Raises Tied for a value, a branch or a loop that sees the tile."""
        nodes = list(walk(self.kernel.body))
        known = -1
        while known != len(self.tied):  # a loop carries names back to its head
            known = len(self.tied)
            for node in nodes:
                self._bind(node.node)
        for node in nodes:
            self._see(node)

    def _bind(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=targets, value=value) if self._sees(value):
                self.tied |= {name for target in targets for name in _names(target)}
            case ast.AnnAssign(target=target, value=ast.expr() as value) if self._sees(value):
                self.tied |= set(_names(target))
            case ast.AugAssign(target=target, value=value) if self._sees(value):
                self.tied |= set(_names(target))
        for inner in ast.walk(node) if isinstance(node, ast.Assign | ast.Expr | ast.AugAssign) else ():
            if isinstance(inner, ast.NamedExpr) and self._sees(inner.value):
                self.tied.add(inner.target.id)

    def _see(self, node: Statement | Loop | Branch) -> None:
        match node.node:
            case ast.If(test=test) | ast.While(test=test):
                self._free(test, "a condition")
            case ast.For(iter=heads):
                self._free(heads, "the trips of a loop")
            case ast.Expr(value=ast.Call() as call):
                self._effect(call)
            case ast.Return(value=ast.expr() as value):
                self._free(value, "what is returned")

    def _effect(self, call: ast.Call) -> None:
        name = self._function(call)
        if name in PROMISES:
            if name == "assume" and {n.id for n in ast.walk(call) if isinstance(n, ast.Name)} & self.lengths:
                raise Tied("it assumes something of its tiles")
            return
        first = STORES.get(name)
        if first is None and isinstance(call.func, ast.Attribute) and call.func.attr.startswith(("store", "atomic_")):
            first = 1  # of a descriptor: the offsets come first
        values: list[ast.expr] = [call]
        if first is not None:
            values = [*call.args[first:], *(k.value for k in call.keywords)]
        for value, mask in zip(values, self._masks(call, values), strict=True):
            if not mask:
                self._free(value, "what is stored")

    def _masks(self, call: ast.Call, values: list[ast.expr]) -> list[bool]:
        """Which arguments behind a store's address are its mask, or the address by its name: accesses tell of them."""
        named = {id(k.value) for k in call.keywords if k.arg in ("mask", "pointer", "offsets", "boundary_check")}
        third = call.args[2:3]
        return [id(value) in named or any(value is mask for mask in third) for value in values]

    def _free(self, node: ast.expr, what: str) -> None:
        if self._sees(node):
            raise Tied(f"{what} in line {node.lineno} depends on the tile")

    def _sees(self, node: ast.AST) -> bool:
        """Whether the value of an expression may depend on the tile; data that is loaded does not."""
        if isinstance(node, ast.expr) and Span.of(node) in self.loads:
            others = node.keywords if isinstance(node, ast.Call) else []
            return any(self._sees(keyword.value) for keyword in others if keyword.arg == "other")
        match node:
            case ast.Name(id=name):
                return name in self.tied
            case ast.Attribute(value=value, attr="dtype" | "type"):
                return self._sees(value) if not isinstance(value, ast.Name) else False
            case ast.Call():
                return self._call(node)
        return any(self._sees(child) for child in ast.iter_child_nodes(node))

    def _call(self, call: ast.Call) -> bool:
        name = self._function(call)
        if name in ("program_id", "num_programs"):
            axis = call.args[0] if call.args else call.keywords[0].value if call.keywords else None
            return not (isinstance(axis, ast.Constant) and axis.value not in self.programs)
        arguments: list[ast.AST] = [*call.args, *(k.value for k in call.keywords if k.arg != "shape")]
        if name in SHAPES and call.args:
            arguments.remove(call.args[0])
        if name in SHAPED and len(call.args) > 1:
            arguments.remove(call.args[1])
        if isinstance(call.func, ast.Attribute) and not name:
            arguments.append(call.func.value)  # a method: the block is its first argument
        return any(map(self._sees, arguments))

    def _function(self, call: ast.Call) -> str:
        """The function of the language that is called; empty for any other."""
        name = self.kernel.module.names.canonical(call.func) or ""
        return name.removeprefix(LANGUAGE) if name.startswith(LANGUAGE) else ""


def _names(target: ast.expr) -> Iterator[str]:
    return (node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def _deep(poly: Poly) -> Iterator[Symbol]:
    """Every symbol that a scalar is made of."""
    for symbol in poly.symbols:
        yield symbol
        for operand in symbol.operands:
            yield from _deep(operand)


def _programs(poly: Poly) -> Iterator[int]:
    """The axes of the program ids that a scalar is made of."""
    names = {symbol.name for symbol in _deep(poly)}
    return (axis for axis in range(3) if f"tl.program_id({axis})" in names)
