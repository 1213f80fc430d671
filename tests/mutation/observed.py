"""All that a run does, as plain data that two runs can be compared by."""

from __future__ import annotations

import hashlib
import inspect
from typing import Any

from tlx.sim.barriers import MBarrier, NamedBarrier
from tlx.sim.observer import Observer
from tlx.sim.scheduler import Agent, Operation, Queue
from tlx.sim.shared import View
from tlx.sim.sites import Site
from tlx.sim.storage import Storage


class Events(Observer):
    """Writes down every call, in order. Values that Triton computes on the way (``computed``) are not events."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []
        self._numbers: dict[Any, int] = {}

    def digest(self) -> bytes:
        """A digest of all that was told, in order."""
        return hashlib.sha256(repr(self.told).encode()).digest()

    def _plain(self, value: Any) -> Any:
        """The same for the same thing in every run: objects are numbered as they come."""
        if isinstance(value, (Agent, Operation, Queue, MBarrier, NamedBarrier, Storage)):
            return type(value).__name__, self._numbers.setdefault(value, len(self._numbers))
        if isinstance(value, View):
            return value.label
        if isinstance(value, Site):
            return value.line
        if isinstance(value, (list, tuple)):
            return tuple(self._plain(item) for item in value)
        return value if isinstance(value, (int, str, type(None))) else type(value).__name__


def _noting(name: str) -> Any:
    def told(self: Events, *args: Any) -> None:
        self.told.append((name, *(self._plain(arg) for arg in args)))

    return told


for _name, _ in inspect.getmembers(Observer, inspect.isfunction):
    if not _name.startswith("_") and _name != "computed":
        setattr(Events, _name, _noting(_name))
