"""Abstract interpretation of a kernel body: calls, subscripts and attributes."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from ..diagnostics import Decline
from ..facts import Creator
from ..poly import ONE, Poly, Symbol
from ..source import Span
from . import functions as table
from .events import DotEvent, LoadEvent, StoreEvent
from .values import MISSING, Origin, Term, Value, literal, number, pure

if TYPE_CHECKING:
    from .interpret import Interpreter


@dataclass(frozen=True, slots=True)
class LoopBounds:
    """Start, stop and step of a loop, as values and as the user wrote them."""

    kind: Literal["range", "static_range"]
    values: tuple[Value, Value, Value]
    text: tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of one call, still as syntax."""

    positional: tuple[ast.expr, ...]
    keywords: dict[str, ast.expr]

    def get(self, position: int | None, name: str) -> ast.expr | None:
        """The argument at a position or under a name."""
        if position is not None and position < len(self.positional):
            return self.positional[position]
        return self.keywords.get(name)


class Calls:
    """The part of an interpreter that knows Triton's functions."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.axes = interpreter.axes
        self.arithmetic = interpreter.arithmetic
        self.events = interpreter.events

    # ---- uses of loaded data

    def used(self, value: Value, span: Span) -> Value:
        """Notes that something other than a dot looks at a value."""
        if value.origin.kind == "load" and value.origin.load is not None:
            self.events.other_uses.setdefault(value.origin.load, span)
        return value

    def use_binary(self, op: ast.operator, left: Value, right: Value, span: Span) -> Value:
        """A binary operator as a use of both sides."""
        return self.arithmetic.binary(op, self.used(left, span), self.used(right, span))

    # ---- calls

    def call(self, node: ast.Call) -> Value:
        """The value of a call. Raises Decline TLX317 for a function nothing is known of."""
        if any(isinstance(argument, ast.Starred) for argument in node.args) or any(
            k.arg is None for k in node.keywords
        ):
            raise Decline("TLX104", Span.of(node), what="starred arguments")
        arguments = Arguments(tuple(node.args), {k.arg: k.value for k in node.keywords if k.arg})
        name = self.interpreter.module.names.canonical(node.func)
        if name is not None and name.startswith(table.LANGUAGE):
            return self._language(name.removeprefix(table.LANGUAGE), node, arguments)
        if isinstance(node.func, ast.Name) and node.func.id in self.interpreter.module.helpers:
            return self._helper(node, arguments)
        if name in ("min", "max", "abs"):
            return self._pointwise({"min": "minimum", "max": "maximum", "abs": "abs"}[name], node, arguments, name)
        if name in ("triton.cdiv",):
            return self._cdiv(node, arguments)
        if name in ("int", "float", "bool", "len", "isinstance"):
            return self.arithmetic.pointwise(*self._values(arguments, Span.of(node)), name=name)
        if name in ("print",):
            self.events.effects.append((self.interpreter.place(node), "print"))
            return literal(None)
        if (
            isinstance(node.func, ast.Attribute) and name is not None and name.split(".")[0] in self.interpreter.scope
        ) or (isinstance(node.func, ast.Attribute) and name is None):
            return self._method(node, arguments)
        raise Decline("TLX317", Span.of(node), name=ast.unparse(node.func))

    def _values(self, arguments: Arguments, span: Span) -> list[Value]:
        nodes = [*arguments.positional, *arguments.keywords.values()]
        return [self.used(self.interpreter.expression(node), span) for node in nodes]

    def _helper(self, node: ast.Call, arguments: Arguments) -> Value:
        assert isinstance(node.func, ast.Name)
        function = self.interpreter.module.helpers[node.func.id].node
        span = Span.of(node)
        positional = [self.interpreter.expression(argument) for argument in arguments.positional]
        keywords = {name: self.interpreter.expression(argument) for name, argument in arguments.keywords.items()}
        return self.interpreter.call_helper(function, positional, keywords, span)

    def _language(self, name: str, node: ast.Call, arguments: Arguments) -> Value:
        handler: Callable[[ast.Call, Arguments], Value] | None = getattr(self, f"_tl_{name}", None)
        if handler is not None:
            return handler(node, arguments)
        span = Span.of(node)
        leaf = name.split(".")[-1]
        if name in table.HINTS:
            return self.interpreter.expression(arguments.positional[0])
        if leaf in table.INLINE_ASSEMBLY:
            raise Decline("TLX307", span)
        if name in table.REDUCTIONS or name in ("reduce",):
            return self._reduce(arguments, table.REDUCTIONS.get(name, 1), span)
        if name in table.SCANS:
            return self._scan(arguments, span)
        if name in table.ATOMICS:
            return self._store(name, node, arguments)
        if name in table.CHECKS:
            self._values(Arguments(arguments.positional[:1], {}), span)
            return literal(None)
        if name in table.EFFECTS:
            self.events.effects.append((self.interpreter.place(node), f"tl.{name}"))
            return literal(None)
        if name in table.DTYPES or name == "constexpr":
            return self.interpreter.expression(arguments.positional[0])
        if name in table.POINTWISE or name.split(".")[0] in ("math", "extra", "libdevice"):
            return self._pointwise(leaf, node, arguments, f"tl.{name}")
        raise Decline("TLX317", span, name=f"tl.{name}")

    def _pointwise(self, leaf: str, node: ast.Call, arguments: Arguments, name: str) -> Value:
        values = self._values(arguments, Span.of(node))
        if (
            leaf in ("minimum", "maximum", "min", "max")
            and len(values) == 2
            and all(v.literal is not MISSING and isinstance(v.literal, int) for v in values)
        ):
            pick = min if leaf.startswith("min") else max
            return number(pick(int(str(v.literal)) for v in values))
        return self.arithmetic.pointwise(*values, name=name)

    def _method(self, node: ast.Call, arguments: Arguments) -> Value:
        assert isinstance(node.func, ast.Attribute)
        receiver, span = self.interpreter.expression(node.func.value), Span.of(node)
        match node.func.attr:
            case "to":
                return self._convert(receiver, arguments.get(0, "dtype"), span)
            case "trans" | "T":
                return self._transpose(receiver, span, node)
            case "sum" | "max" | "min" | "argmax" | "argmin" | "reduce":
                return self._reduce(Arguments((node.func.value, *arguments.positional), arguments.keywords), 1, span)
            case "cumsum" | "cumprod" | "sort" | "flip":
                return self._scan(Arguments((node.func.value, *arguments.positional), arguments.keywords), span)
            case "abs" | "exp" | "exp2" | "log" | "sqrt" | "sigmoid" | "cast" | "logical_and" | "logical_or":
                values = [receiver, *self._values(arguments, span)]
                return self.arithmetic.pointwise(*(self.used(v, span) for v in values), name=f"tl.{node.func.attr}")
            case (
                "reshape"
                | "view"
                | "broadcast_to"
                | "permute"
                | "expand_dims"
                | "split"
                | "ravel"
                | "advance"
                | "load"
                | "store"
                | "gather"
                | "scatter"
            ):
                if node.func.attr in ("load", "store", "gather", "scatter"):
                    raise Decline("TLX210", span, name=ast.unparse(node.func.value))
                name = {"view": "reshape"}.get(node.func.attr, node.func.attr)
                handler = getattr(self, f"_tl_{name}", None)
                if handler is None:
                    raise Decline("TLX317", span, name=ast.unparse(node.func))
                result: Value = handler(node, Arguments((node.func.value, *arguments.positional), arguments.keywords))
                return result
            case _:
                raise Decline("TLX317", span, name=ast.unparse(node.func))

    def _convert(self, value: Value, dtype: ast.expr | None, span: Span) -> Value:
        """A cast: integers stay affine under integer casts, everything else becomes data."""
        target = self.interpreter.expression(dtype) if dtype is not None else Value()
        if target.reference and target.reference.removeprefix(table.LANGUAGE) in table.INTEGER_DTYPES and value.affine:
            return value
        if isinstance(dtype, ast.Name) and target.poly is not None and target.poly.constexpr:
            self.events.casts.setdefault(dtype.id, span)
        if value.scalar:
            return pure(f"{{}}.to({ast.unparse(dtype) if dtype else ''})", value) if not value.loads else value
        return replace(self.used(value, span).data(value.axes), why=value.why)

    # ---- shapes

    def _tl_arange(self, node: ast.Call, arguments: Arguments) -> Value:
        start, stop = arguments.get(0, "start"), arguments.get(1, "end")
        if start is None or stop is None:
            raise Decline("TLX104", Span.of(node), what="`tl.arange` without a start and an end")
        first, last = self.interpreter.expression(start), self.interpreter.expression(stop)
        if first.poly is None or last.poly is None:
            raise Decline("TLX403", Span.of(stop), name=ast.unparse(stop))
        creator = Creator("arange", Span.of(node), self.interpreter.statement) if not self.interpreter.helpers else None
        axis = self.axes.create(last.poly - first.poly, creator)
        if creator is None:
            self.axes.mark(axis, "opaque")
        return Value(axes=(axis,), poly=first.poly, terms=(Term(axis, ONE),))

    def _shape(self, node: ast.expr | None, span: Span) -> tuple[int | None, ...]:
        """The axes that a shape argument creates."""
        if node is None:
            raise Decline("TLX104", span, what="a block without a shape")
        entries = list(node.elts) if isinstance(node, ast.Tuple | ast.List) else [node]
        axes: list[int | None] = []
        for entry in entries:
            value = self.interpreter.expression(entry)
            if value.poly is None:
                raise Decline("TLX403", Span.of(entry), name=ast.unparse(entry))
            if value.poly == ONE:
                axes.append(None)
                continue
            creator = (
                Creator("shape", Span.of(entry), self.interpreter.statement) if not self.interpreter.helpers else None
            )
            axes.append(self.axes.create(value.poly, creator))
            if creator is None:
                self.axes.mark(axes[-1], "opaque")
        return tuple(axes)

    def _tl_zeros(self, node: ast.Call, arguments: Arguments) -> Value:
        return Value(axes=self._shape(arguments.get(0, "shape"), Span.of(node)), origin=Origin("fill"))

    def _tl_full(self, node: ast.Call, arguments: Arguments) -> Value:
        value = arguments.get(1, "value")
        if value is not None:
            self.interpreter.expression(value)
        return self._tl_zeros(node, arguments)

    def _tl_zeros_like(self, node: ast.Call, arguments: Arguments) -> Value:
        like = self.interpreter.expression(arguments.positional[0])
        return Value(axes=like.axes, origin=Origin("fill"))

    def _tl_expand_dims(self, node: ast.Call, arguments: Arguments) -> Value:
        value = self.interpreter.expression(arguments.positional[0])
        position = self._integer(arguments.get(1, "axis"), Span.of(node))
        axes = list(value.axes)
        axes.insert(position if position >= 0 else len(axes) + 1 + position, None)
        return value.at(tuple(axes))

    def _tl_broadcast_to(self, node: ast.Call, arguments: Arguments) -> Value:
        value = self.interpreter.expression(arguments.positional[0])
        shape = arguments.get(1, "shape")
        if len(arguments.positional) > 2:
            shape = ast.copy_location(ast.Tuple(list(arguments.positional[1:]), ast.Load()), node)
        return value.at(self.axes.broadcast(value.axes, self._shape(shape, Span.of(node))))

    def _tl_broadcast(self, node: ast.Call, arguments: Arguments) -> Value:
        first, second = (self.interpreter.expression(a) for a in arguments.positional[:2])
        axes = self.axes.broadcast(first.axes, second.axes)
        return Value(items=(first.at(axes), second.at(axes)))

    def _tl_trans(self, node: ast.Call, arguments: Arguments) -> Value:
        return self._transpose(
            self.interpreter.expression(arguments.positional[0]), Span.of(node), node, arguments.positional[1:]
        )

    _tl_permute = _tl_trans

    def _transpose(self, value: Value, span: Span, node: ast.AST, order: tuple[ast.expr, ...] = ()) -> Value:
        if len(value.axes) != 2:
            return self._opaque(value, span)
        if order:
            flat = [e for item in order for e in (item.elts if isinstance(item, ast.Tuple | ast.List) else [item])]
            if [self._integer(item, span) for item in flat] == [0, 1]:
                return value
        swapped = (value.axes[1], value.axes[0])
        return replace(value, axes=swapped, origin=replace(value.origin, transposed=not value.origin.transposed))

    def _tl_reshape(self, node: ast.Call, arguments: Arguments) -> Value:
        value = self.interpreter.expression(arguments.positional[0])
        shape = arguments.get(1, "shape")
        if len(arguments.positional) > 2:
            shape = ast.copy_location(ast.Tuple(list(arguments.positional[1:]), ast.Load()), node)
        self._opaque(value, Span.of(node))
        axes = self._shape(shape, Span.of(node))
        for axis in axes:
            self.axes.mark(axis, "opaque")
        return Value(axes=axes, loads=value.loads, why=("TLX201", "a reshaped block"))

    def _opaque(self, value: Value, span: Span) -> Value:
        for axis in self.used(value, span).axes:
            self.axes.mark(axis, "opaque")
        return Value(axes=value.axes, loads=value.loads, why=value.why)

    def _reduce(self, arguments: Arguments, position: int, span: Span) -> Value:
        value = self.used(self.interpreter.expression(arguments.positional[0]), span)
        axis = arguments.get(position, "axis")
        which = None if axis is None else self.interpreter.expression(axis).literal
        keep = arguments.keywords.get("keep_dims")
        keeps = keep is not None and self.interpreter.expression(keep).literal is True
        rank = len(value.axes)
        reduced = range(rank) if not isinstance(which, int) else [which % rank] if rank else []
        for number_ in reduced:
            self.axes.mark(value.axes[number_], "reduced")
        axes = tuple(None if i in reduced else a for i, a in enumerate(value.axes) if keeps or i not in reduced)
        if not axes:
            return Value(poly=Poly.of(Symbol(f"reduced@{span.line}:{span.column}")), loads=value.loads)
        return Value(axes=axes, loads=value.loads)

    def _scan(self, arguments: Arguments, span: Span) -> Value:
        value = self.interpreter.expression(arguments.positional[0])
        self._values(Arguments((), {k: v for k, v in arguments.keywords.items() if k in ("axis",)}), span)
        return self._opaque(value, span)

    def _integer(self, node: ast.expr | None, span: Span) -> int:
        value = self.interpreter.expression(node) if node is not None else literal(0)
        if not isinstance(value.literal, int):
            raise Decline("TLX104", span, what="an axis that is not a literal")
        return value.literal

    # ---- scalars

    def _program(
        self, node: ast.Call, arguments: Arguments, record: list[tuple[Span, int | None, tuple[str, ...]]], name: str
    ) -> Value:
        axis = self.interpreter.expression(arguments.get(0, "axis") or ast.Constant(0)).literal
        number_ = axis if isinstance(axis, int) else None
        entry = (Span.of(node), number_, self.interpreter.helpers)
        if entry not in record:
            record.append(entry)
        return number(Symbol(f"tl.{name}({number_ if number_ is not None else '?'})"))

    def _tl_program_id(self, node: ast.Call, arguments: Arguments) -> Value:
        return self._program(node, arguments, self.events.program_ids, "program_id")

    def _tl_num_programs(self, node: ast.Call, arguments: Arguments) -> Value:
        return self._program(node, arguments, self.events.num_programs, "num_programs")

    def _cdiv(self, node: ast.Call, arguments: Arguments) -> Value:
        left, right = (self.interpreter.expression(a) for a in arguments.positional[:2])
        if not left.scalar or not right.scalar:
            return self.arithmetic.pointwise(left, right, name="cdiv")
        a, b = (v.poly.constant if v.poly is not None else None for v in (left, right))
        if a is not None and b:
            return number(-(-a // b))
        return pure("cdiv({}, {})", left, right)

    _tl_cdiv = _cdiv

    def _tl_cast(self, node: ast.Call, arguments: Arguments) -> Value:
        return self._convert(
            self.interpreter.expression(arguments.positional[0]), arguments.get(1, "dtype"), Span.of(node)
        )

    def loop_bounds(self, node: ast.expr) -> LoopBounds:
        """Start, stop and step of `range`, `tl.range` or `tl.static_range`. Raises Decline TLX104 for other iterables."""
        name = self.interpreter.module.names.canonical(node.func) if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or name not in (
            "range",
            "triton.language.range",
            "triton.language.static_range",
        ):
            raise Decline("TLX104", Span.of(node), what="a loop over something other than a range")
        parts = list(node.args)
        named = {k.arg: k.value for k in node.keywords}
        start = named.get("arg1") or (parts[0] if len(parts) > 1 else ast.copy_location(ast.Constant(0), node))
        stop = named.get("arg2") or parts[min(1, len(parts) - 1)]
        step = named.get("step") or (parts[2] if len(parts) > 2 else ast.copy_location(ast.Constant(1), node))
        values = (
            self.interpreter.expression(start),
            self.interpreter.expression(stop),
            self.interpreter.expression(step),
        )
        kind: Literal["range", "static_range"] = "static_range" if name.endswith("static_range") else "range"
        return LoopBounds(kind, values, (ast.unparse(start), ast.unparse(stop), ast.unparse(step)))

    # ---- memory and dots

    def _tl_load(self, node: ast.Call, arguments: Arguments) -> Value:
        address_node = arguments.get(0, "pointer")
        assert address_node is not None
        place = self.interpreter.place(node)
        named = self.interpreter.named
        direct = named[1] if named is not None and named[0] is node else None
        address = self.interpreter.expression(address_node)
        mask_node, other_node = arguments.get(1, "mask"), arguments.get(2, "other")
        mask = self.interpreter.expression(mask_node) if mask_node is not None else None
        other = self.interpreter.expression(other_node) if other_node is not None else None
        if not address.axes and (mask is None or not mask.axes):
            loaded = Symbol(f"load@{place.span.line}:{place.span.column}")
            number_ = len(self.events.loads)
            self.events.loads.append(LoadEvent(place, number_, direct, address, mask, other, ()))
            return Value(poly=Poly.of(loaded), loads=frozenset({number_}))
        if "boundary_check" in arguments.keywords:
            raise Decline("TLX209", Span.of(node), name=ast.unparse(address_node))
        axes = self.axes.broadcast(
            address.axes, mask.axes if mask is not None else (), other.axes if other is not None else ()
        )
        number_ = len(self.events.loads)
        scope = tuple(
            (name, value.poly)
            for name, value in self.interpreter.scope.items()
            if value.scalar and value.poly is not None and value.items is None
        )
        self.events.loads.append(LoadEvent(place, number_, direct, address.at(axes), mask, other, scope))
        return Value(axes=axes, origin=Origin("load", number_), loads=address.loads | {number_})

    def _tl_store(self, node: ast.Call, arguments: Arguments) -> Value:
        return self._store("store", node, arguments)

    def _store(self, kind: str, node: ast.Call, arguments: Arguments) -> Value:
        address_node, value_node = arguments.get(0, "pointer"), arguments.get(1, "value" if kind == "store" else "val")
        assert address_node is not None
        if value_node is None:
            raise Decline("TLX104", Span.of(node), what=f"`tl.{kind}` without a value")
        address, value = self.interpreter.expression(address_node), self.interpreter.expression(value_node)
        self.used(value, Span.of(node))
        mask_node = arguments.get(2, "mask")
        mask = self.interpreter.expression(mask_node) if mask_node is not None else None
        if "boundary_check" in arguments.keywords:
            raise Decline("TLX209", Span.of(node), name=ast.unparse(address_node))
        axes = self.axes.broadcast(address.axes, value.axes, mask.axes if mask is not None else ())
        self.events.stores.append(
            StoreEvent(
                self.interpreter.place(node),
                kind,
                address.at(axes),
                value.at(axes) if value.axes else value,
                Span.of(value_node),
                mask,
            )
        )
        return Value(axes=axes)

    def _tl_dot(self, node: ast.Call, arguments: Arguments) -> Value:
        a_node, b_node = arguments.get(0, "input"), arguments.get(1, "other")
        assert a_node is not None
        assert b_node is not None
        a, b = self.interpreter.expression(a_node), self.interpreter.expression(b_node)
        accumulator = arguments.get(2, "acc")
        held = self.interpreter.expression(accumulator) if accumulator is not None else None
        if len(a.axes) != 2 or len(b.axes) != 2:
            raise Decline("TLX104", Span.of(node), what="a dot of blocks that are not two-dimensional")
        a_inner, b_inner = a.axes[1], b.axes[0]
        if a_inner is not None and b_inner is not None:
            self.axes.union(a_inner, b_inner)
        self.axes.mark(a_inner, "contracted")
        self.axes.mark(b_inner, "contracted")
        axes = self.axes.broadcast((a.axes[0], b.axes[1]), held.axes if held is not None else ())
        options = tuple(
            (name, ast.unparse(value))
            for name, value in arguments.keywords.items()
            if name not in ("input", "other", "acc")
        )
        self.events.dots.append(DotEvent(self.interpreter.place(node), a, b, a_node, b_node, accumulator, options))
        return Value(axes=axes, origin=Origin("dot"), loads=a.loads | b.loads)

    def _tl_dot_scaled(self, node: ast.Call, arguments: Arguments) -> Value:
        raise Decline("TLX315", Span.of(node))

    def _tl_make_block_ptr(self, node: ast.Call, arguments: Arguments) -> Value:
        base = arguments.get(0, "base")
        raise Decline("TLX209", Span.of(node), name=ast.unparse(base) if base is not None else "?")

    def _tl_make_tensor_descriptor(self, node: ast.Call, arguments: Arguments) -> Value:
        base = arguments.get(0, "base")
        raise Decline("TLX210", Span.of(node), name=ast.unparse(base) if base is not None else "?")

    # ---- subscripts and attributes

    def subscript(self, node: ast.Subscript) -> Value:
        """`x[:, None]` inserts axes; `t[0]` takes an item of a tuple."""
        value = self.interpreter.expression(node.value)
        index = node.slice
        if value.items is not None:
            which = self.interpreter.expression(index).literal
            if isinstance(which, int) and -len(value.items) <= which < len(value.items):
                return value.items[which]
            raise Decline("TLX104", Span.of(node), what="an index into a tuple that is not a literal")
        entries = list(index.elts) if isinstance(index, ast.Tuple) else [index]
        axes: list[int | None] = []
        remaining = list(value.axes)
        for entry in entries:
            match entry:
                case ast.Slice(lower=None, upper=None, step=None) if remaining:
                    axes.append(remaining.pop(0))
                case ast.Constant(value=None):
                    axes.append(None)
                case _:
                    raise Decline("TLX104", Span.of(node), what="a subscript other than `:` and `None`")
        return value.at((*axes, *remaining))

    def attribute(self, node: ast.Attribute) -> Value:
        """Attributes of modules, dtypes and blocks."""
        canonical = self.interpreter.module.names.canonical(node)
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value  # type: ignore[assignment]
        if isinstance(root, ast.Name) and root.id not in self.interpreter.scope:
            if canonical is None or canonical == ast.unparse(node):
                raise Decline("TLX107", Span.of(node), name=ast.unparse(node))
            return Value(reference=canonical)
        value = self.interpreter.expression(node.value)
        match node.attr:
            case "T":
                return self._transpose(value, Span.of(node), node)
            case "shape":
                return Value(items=tuple(number(ONE) if a is None else number(self.axes.length(a)) for a in value.axes))
            case "dtype" | "type" | "element_ty" | "value" | "scalar" | "primitive_bitwidth" | "is_fp8" | "handle":
                return Value(reference="?dtype") if value.reference or value.axes or value.poly is not None else value
            case _:
                raise Decline("TLX104", Span.of(node), what=f"the attribute `{node.attr}`")
