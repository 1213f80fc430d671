"""Recognising a launch seen before, at the price of a dictionary look-up.

A launch is described by the types of its arguments, by address, dtype and device of each tensor, and by the value of
everything else. Tensors themselves are never part of a description, so nothing is kept alive and a recycled `id` fools
nobody. How to describe a call is the same for all calls with the same types and keywords; that is written out as a
Python function once, for a loop over the arguments would cost more than the look-up.
"""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tlx.launch.pointers import is_descriptor, is_pointer, is_symbolic

__all__ = ["LaunchCache"]

Entry = TypeVar("Entry")
Describe = Callable[[int | None, tuple[Any, ...], Mapping[str, Any]], tuple[Any, ...]]

#: Types whose values compare and hash as what they mean. Others (lists, tuples that may hold tensors, objects) do not.
PLAIN = (int, float, bool, str, type(None))
#: Descriptions kept per kernel; a training loop has few, since allocators hand out the same blocks again.
CAPACITY = 1024


@dataclass(slots=True)
class _Slot(Generic[Entry]):
    entry: Entry
    #: Set on each hit, cleared when eviction passes by: recently used entries survive (the clock algorithm).
    used: bool = False


class LaunchCache(Generic[Entry]):
    """Launch descriptions and what was decided for each. Safe to use from several threads."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        #: How to describe calls by the types and keywords of their arguments; `None` where some have no plain value.
        self._forms: dict[tuple[Any, ...], Describe | None] = {}
        self._numbers = itertools.count()
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
        # Names tell positional from keyword arguments; the type of each value tells 1 from True and 1.0.
        form = (tuple(map(type, args)), *kwargs, *map(type, kwargs.values()))
        try:
            describe = self._forms[form]
        except KeyError:
            describe = self._forms[form] = _describer(next(self._numbers), args, list(kwargs.values()))
        if describe is None:
            return decide(args, kwargs)
        key = describe(device, args, kwargs)
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


def _describer(number: int, args: Sequence[Any], named: Sequence[Any]) -> Describe | None:
    """The function that describes calls of one form; `number` tells its descriptions from those of other forms.

    For a call f(tensor, 3, scale=0.5) it reads

        def describe(device, args, kwargs):
            (a0, a1,) = args
            (k0,) = kwargs.values()
            return (7, device, a0.data_ptr(), a0.dtype, a0.get_device(), a1, k0,)
    """
    variables = {f"a{index}": value for index, value in enumerate(args)}
    variables |= {f"k{index}": value for index, value in enumerate(named)}
    parts: list[str] = [str(number), "device"]
    for variable, value in variables.items():
        if is_symbolic(value):
            return None
        if is_pointer(value):
            parts += [f"{variable}.data_ptr()", f"{variable}.dtype"]
            if hasattr(value, "get_device"):
                parts.append(f"{variable}.get_device()")
            elif hasattr(value, "device"):
                parts.append(f"str({variable}.device)")
        elif is_descriptor(value):
            # The form says nothing of the tensor behind it. Lists of numbers compare as what they mean as tuples.
            parts += [f"{variable}.base.data_ptr()", f"{variable}.base.dtype", f"place({variable}.base)"]
            parts += [f"tuple({variable}.{what})" for what in ("shape", "strides", "block_shape")]
            parts += [f"{variable}.padding", f"getattr({variable}, 'round_f32_to_tf32', False)"]
        elif type(value) is float:
            # 0.0 and -0.0 are equal, and 1 / x is not.
            parts.append(f"{variable} or str({variable})")
        elif _is_plain(value):
            parts.append(variable)
        else:
            return None
    lines = ["def describe(device, args, kwargs):"]
    for prefix, values, source in (("a", args, "args"), ("k", named, "kwargs.values()")):
        if values:
            lines.append(f"    ({''.join(f'{prefix}{index}, ' for index in range(len(values)))}) = {source}")
    lines.append(f"    return ({', '.join(parts)},)")
    scope: dict[str, Any] = {"place": _place}
    exec("\n".join(lines), scope)
    describe: Describe = scope["describe"]
    return describe


def _place(value: Any) -> Any:
    """The device of a tensor, where it tells."""
    return value.get_device() if hasattr(value, "get_device") else str(getattr(value, "device", ""))


def _is_plain(value: Any) -> bool:
    # Dtypes, whether torch's, numpy's or Triton's, are values too.
    return type(value) in PLAIN or type(value).__name__ == "dtype"
