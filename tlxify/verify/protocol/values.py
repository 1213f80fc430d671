"""What names stand for while a kernel's text is followed: numbers, shared memory, barriers, or something unknown."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import NoReturn


class NotProved(Exception):
    """The text does something that the protocol check does not follow. Carries the line and one sentence."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line
        self.text = text


class Misuse(Exception):
    """The text breaks a rule at a place that needs no schedule to be seen. Carries code, line and one sentence."""

    def __init__(self, code: str, line: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.line = line
        self.text = text


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that only a run knows. Equal keys mean equal values: the same loads and calls on the same arguments."""

    key: str
    #: What it is the smaller or larger of, after the name of that function; else nothing.
    parts: tuple[object, ...] = field(default=(), compare=False, repr=False)
    #: Buffers whose slots were loaded into registers to compute it.
    sources: frozenset[Buffer] = field(default=frozenset(), compare=False, repr=False)

    @staticmethod
    def of(*parts: object) -> Unknown:
        """The value computed from `parts`; long keys are shortened to a digest, so that loops do not grow them."""
        key = "(" + " ".join(part.key if isinstance(part, Unknown) else repr(part) for part in parts) + ")"
        short = key if len(key) < 160 else "#" + hashlib.blake2s(key.encode(), digest_size=12).hexdigest()
        return Unknown(short, parts if parts[:1] in (("min",), ("max",)) else (), sources_of(parts))

    def choice(self, seed: int, options: int) -> int:
        """A number below `options`, the same for the same key and seed."""
        digest = hashlib.blake2s(f"{seed}:{self.key}".encode(), digest_size=4).digest()
        return int.from_bytes(digest, "little") % options


def sources_of(value: object) -> frozenset[Buffer]:
    """The buffers that a value, or any item of a tuple of values, was computed from."""
    match value:
        case Unknown(sources=sources):
            return sources
        case tuple():
            return frozenset().union(*map(sources_of, value))
    return frozenset()


@dataclass(frozen=True, slots=True)
class DType:
    """An element type: its name and its size in bytes."""

    name: str
    itemsize: int


#: Triton's element types by name.
DTYPES = {
    name: DType(name, size)
    for size, names in {
        1: ("int8", "uint8", "float8e4nv", "float8e5", "float8e4b8", "float8e4b15", "float8e5b16", "int1"),
        2: ("float16", "bfloat16", "int16", "uint16"),
        4: ("float32", "int32", "uint32"),
        8: ("float64", "int64", "uint64"),
    }.items()
    for name in names
}


@dataclass(frozen=True, slots=True, eq=False)
class Buffer:
    """`slots` tiles in shared memory. `root` is the buffer whose bytes these are, if `reuse` names one."""

    name: str
    shape: tuple[int, ...]
    itemsize: int
    slots: int
    line: int
    root: Buffer | None = None

    @property
    def slot_bytes(self) -> int:
        """Bytes of one tile."""
        total = self.itemsize
        for extent in self.shape:
            total *= extent
        return total

    @property
    def storage(self) -> Buffer:
        """The allocation that owns the bytes."""
        return self if self.root is None else self.root.storage


@dataclass(frozen=True, slots=True)
class View:
    """A slot, or the part of it that begins at `offset` (in the slot's own axes) and has extents `extent`."""

    buffer: Buffer
    slot: int
    offset: tuple[int, ...]
    extent: tuple[int, ...]
    #: Axis of the slot behind each axis of the view.
    axes: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Bytes that a copy of this view moves."""
        total = self.buffer.itemsize
        for extent in self.extent:
            total *= extent
        return total

    @property
    def label(self) -> str:
        """As the text would write it: `a_ring[2]`."""
        return f"{self.buffer.name}[{self.slot}]"

    def overlaps(self, other: View) -> bool:
        """Whether the two may share a byte."""
        if self.buffer.storage is not other.buffer.storage:
            return False
        if self.buffer is other.buffer:
            if self.slot != other.slot:
                return False
            return all(
                a < b + n and b < a + m
                for a, m, b, n in zip(self.offset, self.extent, other.offset, other.extent, strict=True)
            )
        start, stop = self.slot * self.buffer.slot_bytes, (self.slot + 1) * self.buffer.slot_bytes
        other_start = other.slot * other.buffer.slot_bytes
        return start < other_start + other.buffer.slot_bytes and other_start < stop

    def covers(self, other: View) -> bool:
        """Whether every byte of `other` lies in this view."""
        return (
            self.buffer is other.buffer
            and self.slot == other.slot
            and (
                all(
                    a <= b and b + n <= a + m
                    for a, m, b, n in zip(self.offset, self.extent, other.offset, other.extent, strict=True)
                )
            )
        )


@dataclass(frozen=True, slots=True, eq=False)
class BarrierArray:
    """`count` mbarriers that complete a phase after `arrivals` arrivals (threads, if `per_thread`)."""

    name: str
    count: int
    arrivals: int
    per_thread: bool
    line: int


@dataclass(frozen=True, slots=True)
class Barrier:
    """One mbarrier of an array."""

    array: BarrierArray
    slot: int

    @property
    def label(self) -> str:
        """As the text would write it: `full[0]`."""
        return f"{self.array.name}[{self.slot}]"


@dataclass(frozen=True, slots=True)
class InFlight:
    """The result of dots of which the newest, number `newest` of its task, was not waited for through this value."""

    newest: int


def refuse(line: int, text: str) -> NoReturn:
    """Raises NotProved: the one way in which the check says that it does not understand."""
    raise NotProved(line, text)
