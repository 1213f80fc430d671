"""The printed form of a module, read line by line: what checks need to follow values through regions.

Triton's Python bindings give operations without attributes or locations on some releases; the printed form has both.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import triton

from ..builtin import TLXError

_RESULTS = re.compile(r"^((?:%[\w$.-]+(?::\d+)?(?:, )?)+) = ")
_OPCODE = re.compile(r'^"?([\w.]+)"?')
_VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
_ASSIGNED = re.compile(r"(%[\w$.-]+) = (%[\w$.-]+(?:#\d+)?)")
_ARGUMENT = re.compile(r"(%[\w$.-]+): ")
_PLACE = re.compile(r"loc\((#loc\d*|\"[^\"]+\":\d+:\d+)\)\s*\{?$")
_ALIAS = re.compile(r"^(#loc\d*) = loc\((.*)\)$", re.MULTILINE)
_FILE = re.compile(r'^"([^"]+)":(\d+):(\d+)')
_LIBRARY = str(Path(triton.__file__).parent)
_MEMDESC = re.compile(r"!ttg\.memdesc<((?:\d+x)+)([a-z]\w*)")


@dataclass(frozen=True, slots=True)
class Place:
    """A position in the user's source."""

    file: str
    line: int
    #: from 0
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    def shown(self) -> str:
        """File, line, and the text with a caret below it."""
        try:
            text = Path(self.file).read_text(encoding="utf-8").splitlines()[self.line - 1]
        except (OSError, IndexError):
            return f"{self}:"
        return f"{self}:\n{text}\n{' ' * self.column}^"


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """One printed operation. Names are made unique: printing reuses them from region to region."""

    code: str
    #: ``%x:2`` gives ``%x#0`` and ``%x#1``
    results: tuple[str, ...]
    operands: tuple[str, ...]
    #: ``(%argument, %initial)`` of a loop
    assigned: tuple[tuple[str, str], ...]
    text: str
    #: the operations whose regions it is in, innermost last
    parents: tuple[Op, ...] = field(repr=False)
    #: of the text, from 0
    line: int = field(default=0, repr=False)
    #: which block of the innermost parent it is in: regions and labels begin a new one
    block: int = field(default=0, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class BlockArguments:
    """``^bb0(...)`` or ``partition0(...)``: values that a region starts with."""

    names: tuple[str, ...]
    #: the operation that owns the region
    owner: Op
    #: the operations whose regions it is in, innermost last
    parents: tuple[Op, ...] = field(default=(), repr=False)
    #: which block of the innermost parent it begins
    block: int = field(default=0, repr=False)


class _Names:
    """Printed names → unique ones, as regions open and close."""

    def __init__(self) -> None:
        self.scopes: list[dict[str, str]] = [{}]
        self.count = 0

    def define(self, name: str) -> str:
        self.count += 1
        unique = self.scopes[-1][name] = f"{name}@{self.count}"
        return unique

    def find(self, printed: str) -> str:
        name, mark, index = printed.partition("#")
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name] + mark + index
        return printed

    def results(self, text: str) -> tuple[str, ...]:
        names = []
        for part in text.split(", "):
            name, _, count = part.partition(":")
            unique = self.define(name)
            names += [f"{unique}#{index}" for index in range(int(count))] if count else [unique]
        return tuple(names)


@functools.lru_cache(maxsize=1)
def parsed(text: str) -> tuple[Op | BlockArguments, ...]:
    """The same as ``parse``, for several checks of one module."""
    return tuple(parse(text))


def parse(text: str) -> Iterator[Op | BlockArguments]:
    """The operations of a printed module in order, and the arguments of its inner blocks."""
    names = _Names()
    parents: list[Op] = []
    blocks = [0]
    region = Op("", (), (), (), "", ())
    for number, raw in enumerate(text.splitlines()):
        line = raw.strip()
        if line.startswith("#") or not line:
            continue
        opens = line.endswith("{")
        if line.startswith("}"):
            names.scopes.pop()
            if opens:  # the next region of the same operation
                names.scopes.append({})
                blocks[-1] += 1
            elif parents:
                parents.pop()
                blocks.pop()
            continue
        if line.startswith("^"):
            blocks[-1] += 1
            arguments = tuple(map(names.define, _ARGUMENT.findall(line)))
            yield BlockArguments(arguments, parents[-1], tuple(parents), blocks[-1])
            continue
        if re.match(r"(partition\d+|default)\b", line):
            parents.append(Op("partition", (), (), (), line, tuple(parents), number, blocks[-1]))
            blocks.append(0)
            names.scopes.append({})
            if not line.startswith("default"):
                yield BlockArguments(tuple(map(names.define, _ARGUMENT.findall(line))), region, tuple(parents))
            continue
        op = _operation(line, names, tuple(parents), number, blocks[-1])
        yield op
        if op.code == "ttg.warp_specialize":
            region = op
        if opens:
            parents.append(op)
            blocks.append(0)


def _operation(line: str, names: _Names, parents: tuple[Op, ...], number: int, block: int) -> Op:
    found = _RESULTS.match(line)
    rest = line[found.end() :] if found else line
    code = _OPCODE.match(rest)
    name = code[1] if code else ""
    pairs = _ASSIGNED.findall(rest) if name.startswith("scf.") else []
    inner = {argument for argument, _ in pairs}
    operands = tuple(names.find(value) for value in _VALUE.findall(rest) if value not in inner)
    initial = [names.find(value) for _, value in pairs]
    # Results belong to the scope outside, arguments to the region that the line opens.
    results = names.results(found[1]) if found else ()
    arguments = []
    if line.endswith("{"):
        names.scopes.append({})
        arguments = [names.define(argument) for argument, _ in pairs]
    assigned = tuple(zip(arguments, initial, strict=False))
    return Op(name, results, operands, assigned, line, parents, number, block)


def tile_bytes(text: str) -> int | None:
    """Bytes of the last shared-memory tile that a line mentions; None without one, or with an unknown element."""
    found = _MEMDESC.findall(text)
    if not found:
        return None
    extents, element = found[-1]
    bits = re.search(r"\d+", element)
    size = int(bits[0]) if bits else 0
    if element.startswith("f8"):
        size = 8
    for extent in extents.split("x")[:-1]:
        size *= int(extent)
    return size // 8 if size else None


class Places:
    """Where the operations of a printed module stand in the user's source."""

    def __init__(self, text: str) -> None:
        self.aliases = {found[1]: found[2] for found in _ALIAS.finditer(text)}

    def of(self, op: Op) -> Place | None:
        """The place of an operation, if it is known."""
        found = _PLACE.search(op.text)
        return self.resolve(found[1]) if found else None

    def resolve(self, spelled: str) -> Place | None:
        """The place behind ``#loc12`` or what such an alias stands for."""
        for _ in range(64):
            direct = _FILE.match(spelled)
            if direct:
                return Place(direct[1], int(direct[2]), max(0, int(direct[3]) - 1))
            called = re.match(r"callsite\((#loc\d*) at (#loc\d*)\)", spelled)
            if called:
                inner = self.resolve(called[1])
                # A library function is never what is wrong; its caller may be.
                return inner if inner is not None and _LIBRARY not in inner.file else self.resolve(called[2])
            named = re.search(r"#loc\d*", spelled)
            if named is None or named[0] not in self.aliases:
                return None
            spelled = self.aliases[named[0]]
        return None


def refuse(place: Place | None, message: str) -> TLXError:
    """An error at a place, with the user's line and a caret."""
    return TLXError(message if place is None else f"{place.shown()}\n{message}")
