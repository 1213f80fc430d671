"""Puts what the user says into a contract, entry by entry."""

from __future__ import annotations

import ast
import contextlib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..contract import (
    ANY_STRIDE,
    ELEMENT_TYPES,
    ConstexprSpec,
    Contract,
    Drawn,
    LaunchConfig,
    NoValue,
    ScalarSpec,
    TensorSpec,
    common_dtypes,
    evaluate,
)
from . import grammar
from .numbers import Said, read


@dataclass(frozen=True, slots=True)
class Signature:
    """What a kernel says of its parameters before anything is inferred."""

    kernel: str
    parameters: tuple[str, ...]
    constexprs: frozenset[str]
    #: Compile-time parameters that a tuner sets.
    tuned: tuple[str, ...] = ()
    #: Parameters with a default value.
    defaults: frozenset[str] = frozenset()

    @property
    def empty(self) -> Contract:
        """The contract that says nothing."""
        return Contract(self.kernel, self.parameters, (), (), (), (), True, (), tuned=self.tuned, origin="given")


class Editor:
    """A contract in the making."""

    def __init__(self, contract: Contract, signature: Signature) -> None:
        self.signature = signature
        self.contract = contract
        self.tensors = {spec.name: spec for spec in contract.tensors}
        self.scalars = {spec.name: spec for spec in contract.scalars}
        self.constexprs = {spec.name: spec for spec in contract.constexprs}
        self.computed = dict(contract.computed)
        self.bounds = {name: (low, high) for name, low, high in contract.bounds}
        self.multiples: dict[str, list[str]] = defaultdict(list)
        for size, step in contract.multiples:
            self.multiples[size].append(step)
        self.whole: dict[str, list[str]] = defaultdict(list)
        for size, step in contract.whole:
            self.whole[size].append(step)
        self.covered = dict(contract.covered)
        self.aligned = set(contract.aligned)
        self.absent = set(contract.absent)
        self.unread = set(contract.unread)
        self.free = list(contract.free_sizes)

    def apply(self, entries: Mapping[str, object]) -> Contract:
        """The contract with all `entries` in it. Raises ContractTextError."""
        known = (*self.signature.parameters, *grammar.LAUNCH)
        for key in entries:
            if key not in known:
                raise grammar.ContractTextError(key, f"{self.signature.kernel} has no such parameter", ", ".join(known))
        if "free" in entries:
            self._free(grammar.texts_of("free", entries["free"]))
        for key, entry in entries.items():
            if key in self.signature.parameters:
                self._parameter(key, grammar.text_of(key, entry))
        self._groups([key for key in entries if key in self.tensors])
        changes: dict[str, object] = {}
        if "grid" in entries:
            changes["grid"] = self._grid(grammar.text_of("grid", entries["grid"]))
        if "trips" in entries:
            text = grammar.text_of("trips", entries["trips"])
            changes["contracted"] = self._trips(text.removesuffix(" unless 0"))
            changes["empties"] = not text.endswith(" unless 0")
        if "tiles" in entries:
            changes["tiled"] = tuple(
                self._pair("tiles", text, "by") for text in grammar.texts_of("tiles", entries["tiles"])
            )
        if "configs" in entries:
            changes |= {"configs": tuple(self._configs(entries["configs"])), "configs_known": True}
        self._valued([key for key in entries if key in self.constexprs], changes.get("configs", self.contract.configs))
        for text in grammar.texts_of("multiples", entries.get("multiples", [])):
            size, step = self._pair("multiples", text, "of")
            self.multiples[size].append(step)
        order = {name: place for place, name in enumerate((*self.signature.parameters, *self.free))}
        ranked = sorted(self.bounds, key=lambda name: order.get(name, len(order)))
        return replace(
            self.contract,
            tensors=tuple(self.tensors.values()),
            scalars=tuple(sorted(self.scalars.values(), key=lambda spec: order[spec.name])),
            constexprs=tuple(sorted(self.constexprs.values(), key=lambda spec: order[spec.name])),
            free_sizes=tuple(self.free),
            multiples=tuple((size, step) for size, steps in self.multiples.items() for step in dict.fromkeys(steps)),
            whole=tuple((size, step) for size, steps in self.whole.items() for step in dict.fromkeys(steps)),
            covered=tuple(self.covered.items()),
            aligned=tuple(sorted(self.aligned)),
            computed=tuple(self.computed.items()),
            absent=tuple(name for name in self.signature.parameters if name in self.absent),
            unread=tuple(name for name in self.signature.parameters if name in self.unread),
            bounds=tuple((name, *self.bounds[name]) for name in ranked),
            origin="given" if self.contract.origin == "given" else "corrected",
            **changes,  # type: ignore[arg-type]
        )

    def _parameter(self, name: str, text: str) -> None:
        if text == "None":
            self._forget(name)
            self.absent.add(name)
        elif (match := grammar.TENSOR.fullmatch(text)) is not None:
            self._tensor(name, match)
        else:
            self._number(name, text)

    def _forget(self, name: str) -> None:
        for table in (
            self.tensors,
            self.scalars,
            self.constexprs,
            self.computed,
            self.bounds,
            self.multiples,
            self.whole,
            self.covered,
        ):
            table.pop(name, None)
        self.aligned.discard(name)
        self.absent.discard(name)
        self.unread.discard(name)

    def _tensor(self, name: str, match: re.Match[str]) -> None:
        before = self.tensors.get(name)
        dtypes = tuple(match["dtypes"].split("|"))
        for dtype in dtypes:
            if dtype not in ELEMENT_TYPES:
                raise grammar.ContractTextError(name, f"{dtype!r} is no element type", ", ".join(ELEMENT_TYPES))
        shape = tuple(self._expressions(name, match["shape"]))
        use = match["use"] or (_use(before) if before is not None else "in")
        clauses = dict(
            grammar.clauses(
                name, match["rest"], ("strides", "block", "dtype_of", "values", *grammar.DRAWN, "deep", "layouts")
            )
        )
        if "strides" in clauses:
            each_stride = grammar.split(clauses["strides"])
            strides = tuple(
                text
                for each in each_stride
                for text in ([each] if each == ANY_STRIDE else self._expressions(name, each))
            )
        elif before is not None and len(before.shape) == len(shape):
            strides = before.strides
        else:
            strides = grammar.contiguous(shape)
        if len(strides) != len(shape):
            raise grammar.ContractTextError(
                name, f"{len(strides)} strides for {len(shape)} axes", "one stride for each axis"
            )
        group = clauses.get("dtype_of", before.dtype_group if before is not None and match["use"] is None else name)
        deep = before.deep if before is not None and match["use"] is None else None
        if "deep" in clauses:
            if not clauses["deep"].isdigit() or int(clauses["deep"]) >= len(shape):
                raise grammar.ContractTextError(name, f"deep({clauses['deep']}) is no axis", f"0 to {len(shape) - 1}")
            deep = int(clauses["deep"])
        way: Drawn | None = next((way for way in grammar.DRAWN if way in clauses), None)
        values = self._expressions(name, clauses.get(way or "values") or "")
        layouts = tuple(grammar.split(clauses.get("layouts", "")))
        if unknown := [layout for layout in layouts if layout not in grammar.LAYOUTS]:
            raise grammar.ContractTextError(name, f"{unknown[0]!r} is no layout", ", ".join(grammar.LAYOUTS))
        block = tuple(self._expressions(name, clauses["block"])) if "block" in clauses else ()
        if before is not None and match["use"] is None and "block" not in clauses:
            block = before.block
        if block and len(block) != len(shape):
            raise grammar.ContractTextError(name, f"{len(block)} lengths for {len(shape)} axes", "one for each axis")
        spec = TensorSpec(
            *(name, shape, strides, "in" in use.split(), "out" in use.split(), group, dtypes),
            values=tuple(values) or (before.values if before is not None and match["use"] is None else ()),
            drawn=way or (before.drawn if before is not None and match["use"] is None else "chosen"),
            deep=deep,
            layouts=layouts,
            block=block,
        )
        place = before is not None
        tensors = dict(self.tensors)
        self._forget(name)
        self.tensors = {**tensors, name: spec} if place else {**self.tensors, name: spec}

    def _groups(self, said: Sequence[str]) -> None:
        """Tensors of one group have one element type: what is said of one of them holds for the others."""
        for group in dict.fromkeys(self.tensors[name].dtype_group for name in said):
            members = [spec for spec in self.tensors.values() if spec.dtype_group == group]
            first = next(name for name in said if self.tensors[name].dtype_group == group)
            members.sort(key=lambda spec: spec.name != first)  # the user's order is the one in which they are tried
            dtypes = common_dtypes([spec.dtypes for spec in members])
            if not dtypes:
                each = ", ".join(f"{spec.name} is {'|'.join(spec.dtypes)}" for spec in members)
                allowed = f"what all of them may be, or dtype_of({first}) in the entry of {first} to part it from them"
                if group == first:
                    allowed = "what all of them may be, or dtype_of(…) with its own name in the entry of another"
                raise grammar.ContractTextError(first, f"these have one element type, but {each}", allowed)
            self.tensors.update((spec.name, replace(spec, dtypes=dtypes)) for spec in members)

    def _valued(self, said: Sequence[str], configs: Any) -> None:
        """Lengths and numbers that a launch cannot do without get a value from somewhere."""
        for name in said:
            spec = self.constexprs[name]
            for value in (dict(config.values).get(name) for config in configs):
                if spec.choices and value is not None and value not in spec.choices:
                    allowed = f"in {{…}} with {value!r} in it, or configs = [...] without"
                    raise grammar.ContractTextError(
                        name, f"a config sets it to {value!r}, which is none of these", allowed
                    )
            if spec.kind not in ("tile", "int") or spec.choices or spec.dtype_of or name in self.computed:
                continue
            if not configs or not all(name in dict(config.values) for config in configs):
                allowed = f'"{spec.kind} in {{64, 128}}", "= expression", or configs = ["{name}=64, …"]'
                raise grammar.ContractTextError(name, f"{name} has no values, and not every config sets it", allowed)

    def _number(self, name: str, text: str) -> None:
        constexpr = name in self.signature.constexprs
        old_scalar, old_constexpr = self.scalars.get(name), self.constexprs.get(name)
        said = read(name, text, self._expressions)
        if said is None:
            said = self._value(name, text, old_scalar)
        kinds = grammar.CONSTEXPRS if constexpr else grammar.NUMBERS
        if said.kind is not None and said.kind not in kinds:
            why = f"{said.kind!r} is not what {'a compile-time' if constexpr else 'this'} parameter can be"
            raise grammar.ContractTextError(name, why, grammar.allowed(kinds))
        kind = said.kind or (old_scalar.kind if old_scalar else old_constexpr.kind if old_constexpr else None)
        if kind is None or (kind not in kinds and kind != "dtype"):
            kind = "int" if constexpr or said.expression is not None else "size"
        if said.kind is None:  # what is not said stays
            values = old_scalar.choices if old_scalar else old_constexpr.choices if old_constexpr else ()
            kept = Said(None, values, tuple(self.multiples.get(name, ())), self.bounds.get(name), name in self.aligned)
            kept = replace(kept, whole=tuple(self.whole.get(name, ())))
            # Who says how long it is, or what it is computed as, says that it is not just any part of a tile.
            free = said.bounds is None and said.expression is None and not said.choices
            said = said.over(replace(kept, cover=self.covered.get(name) if free else None))
        self._forget(name)
        # Compile-time numbers need values of their own: a config says them, or nobody.
        choices = said.choices or (_usual(kind, old_scalar, said) if not constexpr or kind == "flag" else ())
        if said.dtype_of is not None and said.says is None:
            self.constexprs[name] = ConstexprSpec(name, "dtype", (), said.dtype_of)
        elif constexpr and kind not in ("size", "stride"):
            self.constexprs[name] = ConstexprSpec(name, kind, choices, said.dtype_of, said.says)  # type: ignore[arg-type]
        else:
            self.scalars[name] = ScalarSpec(name, kind, constexpr, choices)  # type: ignore[arg-type]
        if said.expression is not None:
            self.computed[name] = said.expression
        if said.multiples:
            self.multiples[name] = list(said.multiples)
        if said.whole:
            self.whole[name] = list(said.whole)
        if said.cover is not None:
            self.covered[name] = said.cover
        if said.bounds is not None:
            self.bounds[name] = said.bounds
        if said.aligned:
            self.aligned.add(name)
        if said.unread:
            self.unread.add(name)

    def _value(self, name: str, text: str, scalar: ScalarSpec | None) -> Said:
        """An entry that is a literal, or an expression without its `=`."""
        try:
            value: object = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            # The name of an option: its quotes may be left out.
            value = text if text.isidentifier() and text not in (*self.signature.parameters, *self.free) else None
        whole = isinstance(value, int) and not isinstance(value, bool)
        if isinstance(value, int) and whole and scalar is not None and scalar.kind == "size":
            return Said(bounds=(value, value))
        if whole and scalar is not None and scalar.kind == "stride":
            return Said(expression=str(value))
        if isinstance(value, bool | int | float | str):
            return Said(choices=(value,))
        (expression,) = self._expressions(name, text)
        return Said(expression=expression)

    def _free(self, texts: Sequence[str]) -> None:
        self.free = [text.partition(" ")[0] for text in texts]
        for text in texts:
            name, _, rest = text.partition(" ")
            said = read("free", rest, self._expressions) if rest.strip() else Said()
            if said is None or said != Said(multiples=said.multiples, bounds=said.bounds, cover=said.cover):
                allowed = "a name, with multiple_of(…), covered_by(…) and 1..4096 behind it"
                raise grammar.ContractTextError("free", f"cannot read {text!r}", allowed)
            if said.multiples:
                self.multiples[name] = list(said.multiples)
            if said.bounds is not None:
                self.bounds[name] = said.bounds
            if said.cover is not None:
                self.covered[name] = said.cover

    def _grid(self, text: str) -> tuple[str, ...]:
        inner = text.strip()
        if (
            inner.startswith("(")
            and inner.endswith(")")
            and grammar.split(inner) == [inner]
            and grammar.closes_last(inner)
        ):
            inner = inner[1:-1]
        axes = tuple(self._expressions("grid", inner))
        if not 1 <= len(axes) <= 3:
            raise grammar.ContractTextError("grid", f"{len(axes)} axes", "one to three, as in (cdiv(M, BLOCK_M), 1)")
        return axes

    def _trips(self, text: str) -> tuple[str, str] | None:
        if text == "unknown":
            return None
        match = re.fullmatch(r"cdiv\((\w+), (\w+(?: \* \w+)*)\)", text)
        if match is None:
            raise grammar.ContractTextError("trips", f"cannot read {text!r}", "cdiv(K, BLOCK_K) or unknown")
        return match[1], match[2]

    def _configs(self, entry: object) -> Iterator[LaunchConfig]:
        texts = grammar.texts_of("configs", entry)
        if not texts:
            raise grammar.ContractTextError(
                "configs", "there is none", 'at least one, as in ["BLOCK_M=128, num_warps=8"]'
            )
        settable = [name for name in self.signature.parameters if name in self.signature.constexprs]
        for text in texts:
            config = grammar.launch_config(text)
            if strange := [name for name, _ in config.values if name not in settable]:
                why = f"{strange[0]!r} is no compile-time parameter of {self.signature.kernel}"
                raise grammar.ContractTextError("configs", why, ", ".join((*settable, *grammar.OPTIONS)))
            yield config

    def _pair(self, key: str, text: str, word: str) -> tuple[str, str]:
        size, found, tile = text.partition(f" {word} ")
        if not found:
            raise grammar.ContractTextError(key, f"cannot read {text!r}", f'a list of texts like "M {word} BLOCK_M"')
        return size.strip(), tile.strip()

    def _expressions(self, key: str, text: str) -> Iterator[str]:
        """The arithmetic expressions in a text, separated by commas."""
        known = {*self.signature.parameters, *self.free, *grammar.FUNCTIONS}
        for part in grammar.split(text):
            try:
                names = {node.id for node in ast.walk(ast.parse(part, mode="eval")) if isinstance(node, ast.Name)}
                with contextlib.suppress(NoValue):  # it may have one for other numbers
                    evaluate(part, dict.fromkeys(names, 1))
            except (SyntaxError, ValueError):
                raise grammar.ContractTextError(
                    key, f"{part!r} is no expression", "+ - * / // %, cdiv, min, max, `1 if FLAG else n`"
                ) from None
            for name in sorted(names - known):
                raise grammar.ContractTextError(
                    key,
                    f"{name!r} is no parameter of {self.signature.kernel}",
                    f'its parameters, or a size that none of them holds: free = ["{name}"]',
                )
            yield part


def _usual(kind: str, before: ScalarSpec | None, said: Said) -> tuple[Any, ...]:
    """What is tried of a number of which only the kind is said: what was, if that is of this kind.

    One value alone would not tell a factor from none: 1 times anything is that.
    """
    if said.expression is not None or said.bounds is not None or said.dtype_of is not None:
        return ()
    if before is not None and before.kind == kind and before.choices:
        return before.choices
    return grammar.TRIED.get(kind, ())


def _use(spec: TensorSpec) -> str:
    return "in and out" if spec.reads and spec.writes else "out" if spec.writes else "in"
