"""A loop that carries a value only to narrow it in the next round carries it narrow.

Why: attention that keeps one product in flight multiplies P of the round before. The source converts P where it
multiplies, so that the loop carries 32 bits an element beside two accumulators, more than a thread has registers. What
does not fit moves through local memory in every round.

Before: ``for … iter_args(%p = %p0 : f32) { … truncf %p to f16 …; %p1 = exp2 …; yield %p1 }``, and after the loop
``truncf %result``.

After: ``%n0 = truncf %p0``, ``for … iter_args(%p = %n0 : f16) { … %p …; %p1 = exp2 …; %n1 = truncf %p1; yield %n1 }``.
The same conversion of the same values, one round earlier.

Not when: anything else reads the carried value or the loop's result, conversions of it differ, or what is carried is a
product that may still be in flight.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from .irtext import Op, parse

_CONVERSION = re.compile(
    r"= (?P<code>arith\.trunc[fi]|tt\.fp_to_fp) (?P<value>%[\w$.#-]+)(?P<how>[^:]*) : "
    r"(?P<wide>tensor<.*>) (?P<arrow>to|->) (?P<narrow>tensor<.*?>)(?P<place> loc\(\S+\))?$"
)
_ELEMENT = re.compile(r"tensor<(?:\d+x)+[a-z]+(\d+)")
_LOOP = re.compile(
    r"^(?P<head>.* iter_args\()(?P<carried>[^()]*)(?P<arrow>\) -> \()(?P<types>.*)(?P<tail>\) *(?:: \w+ )?\{)$"
)
_YIELD = re.compile(r"^(?P<code>scf\.yield )(?P<values>[^:]*) : (?P<types>.*?)(?P<place> loc\(\S+\))?$")


@dataclass(frozen=True, slots=True)
class Conversion:
    """How a value is narrowed."""

    code: str
    #: what stands between the operand and the types, such as a rounding mode
    how: str
    wide: str
    arrow: str
    narrow: str
    place: str

    def of(self, value: str, result: str) -> str:
        """The operation as text."""
        return f"{result} = {self.code} {value}{self.how} : {self.wide} {self.arrow} {self.narrow}{self.place}"

    def like(self, other: Conversion) -> bool:
        """Whether both make the same of a value; where they stand does not matter."""
        return (self.code, self.how, self.wide, self.narrow) == (other.code, other.how, other.wide, other.narrow)


@dataclass(frozen=True, slots=True)
class Carried:
    """A value that a loop can carry narrow."""

    loop: Op
    end: Op
    #: which of the loop's values
    index: int
    conversion: Conversion
    #: the conversions that fall away
    readers: tuple[Op, ...]


def conversion(op: Op) -> Conversion | None:
    """The narrowing that an operation does, if it does one."""
    found = _CONVERSION.search(op.text)
    if found is None:
        return None
    wide, narrow = _ELEMENT.match(found["wide"]), _ELEMENT.match(found["narrow"])
    if wide is None or narrow is None or int(narrow[1]) >= int(wide[1]):
        return None
    return Conversion(found["code"], found["how"], found["wide"], found["arrow"], found["narrow"], found["place"] or "")


def split(types: str) -> list[str]:
    """A list of types at its commas, those inside of types aside."""
    parts, depth = [""], 0
    for previous, character in zip(" " + types, types, strict=False):
        depth += character in "<([{"
        depth -= character in ")]}" or (character == ">" and previous != "-")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def carried(text: str) -> Iterator[Carried]:
    """What the loops of a printed module can carry narrow."""
    ops = [op for op in parse(text) if isinstance(op, Op)]
    readers: dict[str, list[Op]] = defaultdict(list)
    makers: dict[str, Op] = {}
    for op in ops:
        for value in op.operands:
            readers[value].append(op)
        for value in op.results:
            makers[value] = op
    for end in ops:
        loop = end.parents[-1] if end.parents else None
        if end.code != "scf.yield" or loop is None or loop.code != "scf.for":
            continue
        shaped, closed = _LOOP.match(loop.text), _YIELD.match(end.text)
        if shaped is None or closed is None:
            continue
        # The first thing that a loop assigns is its counter.
        arguments = [argument for argument, _ in loop.assigned[1:]]
        if not len(arguments) == len(loop.results) == len(end.operands) == len(split(shaped["types"])):
            continue
        for index, argument in enumerate(arguments):
            result, made = loop.results[index], makers.get(end.operands[index])
            # A result of several may be spelled without its number, together with its neighbours.
            reading = [
                *readers[argument],
                *readers[result],
                *readers[result.partition("#")[0] if "#" in result else ""],
            ]
            found = [conversion(op) for op in reading]
            first = found[0] if found else None
            if first is None or not readers[argument] or not all(each and first.like(each) for each in found):
                continue
            if made is None or made.code != "ttng.warp_group_dot":
                yield Carried(loop, end, index, first, tuple(reading))


def narrowed(text: str) -> str:
    """The printed module with every such value carried narrow; conversions that fell away convert nothing."""
    lines = text.splitlines()
    before: dict[int, list[str]] = defaultdict(list)
    for number, each in enumerate(carried(text)):
        start, again = f"%tlx_start_{number}", f"%tlx_again_{number}"
        loop, end = _LOOP.match(lines[each.loop.line]), _YIELD.match(lines[each.end.line].strip())
        if loop is None or end is None:
            continue
        pairs, types = loop["carried"].split(", "), split(loop["types"])
        name, _, initial = pairs[each.index].partition(" = ")
        pairs[each.index], types[each.index] = f"{name} = {start}", each.conversion.narrow
        before[each.loop.line].append(each.conversion.of(initial, start))
        lines[each.loop.line] = "".join((loop["head"], ", ".join(pairs), loop["arrow"], ", ".join(types), loop["tail"]))
        values = end["values"].split(", ")
        before[each.end.line].append(each.conversion.of(values[each.index], again))
        values[each.index] = again
        types = split(end["types"])
        types[each.index] = each.conversion.narrow
        lines[each.end.line] = f"{end['code']}{', '.join(values)} : {', '.join(types)}{end['place'] or ''}"
        for reader in each.readers:
            kept, _, _ = reader.text.partition(" = ")
            found = _CONVERSION.search(reader.text)
            assert found is not None
            narrow = each.conversion.narrow
            place = found["place"] or ""
            lines[reader.line] = f"{kept} = ttg.convert_layout {found['value']} : {narrow} -> {narrow}{place}"
    return "\n".join(line for number, kept in enumerate(lines) for line in (*before[number], kept))
