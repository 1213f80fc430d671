"""Recognising a launch seen before, at the price of a dictionary look-up.

A launch is described by the types of its arguments, by address and dtype of each tensor, and by the value of everything
else. Tensors themselves are never part of a description, so nothing is kept alive and a recycled `id` fools nobody.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tlx.launch.pointers import is_pointer, is_symbolic

__all__ = ["LaunchCache"]

Entry = TypeVar("Entry")

#: Types whose values compare and hash as what they mean. Others (lists, tuples that may hold tensors, objects) do not.
PLAIN = (int, float, bool, str, type(None))
#: Descriptions kept per kernel; a training loop has few, since allocators hand out the same blocks again.
CAPACITY = 1024


@dataclass(slots=True)
class _Slot(Generic[Entry]):
    entry: Entry
    #: Set on each hit, cleared when eviction passes by: recently used entries survive (the clock algorithm).
    used: bool = False


@dataclass(frozen=True, slots=True)
class _Shape:
    """What all launches with arguments of the same types and keywords have in common."""

    #: Positions of tensors among positional and then keyword arguments.
    pointers: tuple[int, ...]
    #: Whether every other argument is a plain value.
    plain: bool


class LaunchCache(Generic[Entry]):
    """Launch descriptions and what was decided for each. Safe to use from several threads."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._shapes: dict[tuple[Any, ...], _Shape] = {}
        # Ordered, for a plain dict takes longer and longer to find its oldest entry.
        self._slots: OrderedDict[tuple[Any, ...], _Slot[Entry]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._slots)

    def clear(self) -> None:
        """Forget every decision."""
        with self._lock:
            self._slots.clear()

    def get(
        self,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        device: int | None,
        decide: Callable[[tuple[Any, ...], Mapping[str, Any]], Entry],
    ) -> Entry:
        """What was decided for this launch, or else what `decide(args, kwargs)` returns, which is then remembered."""
        values = [*args, *kwargs.values()]
        types = tuple(map(type, values))
        shape = self._shapes.get(types)
        if shape is None:
            shape = self._shapes[types] = _shape(values)
        if not shape.plain:
            return decide(args, kwargs)
        for position in shape.pointers:
            pointer = values[position]
            values[position] = pointer.data_ptr()
            values.append(pointer.dtype)
        # Names tell positional from keyword arguments; the type of each value tells 1 from True and 1.0.
        key = (types, device, *kwargs, *values)
        slot = self._slots.get(key)
        if slot is None:
            return self._remember(key, decide(args, kwargs))
        slot.used = True
        return slot.entry

    def _remember(self, key: tuple[Any, ...], entry: Entry) -> Entry:
        with self._lock:
            while len(self._slots) >= self._capacity:
                oldest, slot = self._slots.popitem(last=False)
                if slot.used:
                    slot.used = False
                    self._slots[oldest] = slot
            self._slots[key] = _Slot(entry)
        return entry


def _shape(values: Iterable[Any]) -> _Shape:
    values = list(values)
    pointers = tuple(position for position, value in enumerate(values) if is_pointer(value))
    plain = all((is_pointer(value) or _is_plain(value)) and not is_symbolic(value) for value in values)
    return _Shape(pointers, plain)


def _is_plain(value: Any) -> bool:
    # Dtypes, whether torch's, numpy's or Triton's, are values too.
    return type(value) in PLAIN or type(value).__name__ == "dtype"
