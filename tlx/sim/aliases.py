"""Storage aliases: several buffers over the same bytes, laid out by a tree of reuse groups.

Children of a *shared* group begin together, those of a *distinct* group follow each other. The tree describes what
belongs to one index; ``group_size`` slots of a buffer count as one index. So the byte of slot ``i`` is
``(i // group_size) * size of the tree + offset in the tree + (i % group_size) * size of a slot``. No synchronisation
comes with it: two buffers in use at once are a finding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .report import SimulationError
from .shared import Buffer
from .sites import Site, here
from .storage import Storage, TensorStorage
from .unwrap import integer, plain


class ReuseGroup:
    """A node of the tree; its elements are buffers or groups."""

    def __init__(self, *args: Any, group_type: Any = None, group_size: Any = 1) -> None:
        kind = plain(group_type)
        self.elements: list[Buffer | ReuseGroup] = list(args)
        self.distinct = getattr(kind, "name", kind) == "distinct"
        self.group_size = integer(group_size)
        if not args or not all(isinstance(x, (Buffer, ReuseGroup)) for x in args):
            raise SimulationError("a reuse_group holds buffers and reuse_groups", here())
        if self.group_size < 1:
            raise SimulationError(f"group_size must be at least 1, not {self.group_size}", here())

    def leaves(self) -> list[Buffer]:
        """All buffers below."""
        return [b for x in self.elements for b in ([x] if isinstance(x, Buffer) else x.leaves())]

    def size(self) -> int:
        """Bytes that one index takes."""
        sizes = [x.tile_bytes if isinstance(x, Buffer) else x.size() for x in self.elements]
        return sum(sizes) if self.distinct else max(sizes) * self.group_size

    def place(self, offset: int, group: int, put: Callable[[Buffer, int, int], None]) -> None:
        """Calls ``put(buffer, offset, slots per index)`` for all leaves."""
        group *= self.group_size
        for x in self.elements:
            if isinstance(x, Buffer):
                put(x, offset, group)
            else:
                x.place(offset, group, put)
            if self.distinct:
                offset += x.tile_bytes if isinstance(x, Buffer) else x.size()


class AliasSpec:
    """What ``storage_alias_spec`` returns: one piece of memory for all buffers allocated with ``reuse=`` it."""

    def __init__(self, space: str, size: int | None, site: Site, provide: Callable[[AliasSpec, int], Storage]) -> None:
        self.space = space
        self.buffer_size_bytes = size
        self.site = site
        self.members: list[Buffer] = []
        self.tree: ReuseGroup | None = None
        self.storage: Storage | None = None
        #: makes the storage, which its CTA counts
        self.provide = provide

    def add(self, buffer: Buffer) -> None:
        """One more buffer."""
        if buffer.space != self.space:
            raise SimulationError(f"{buffer.label} and its storage alias are in different memories", here())
        buffer.alias = self
        self.members.append(buffer)
        if self.storage is not None:
            self._fit(buffer)

    def set_buffer_overlap(self, group: Any, _semantic: Any = None) -> None:
        """Lays the members out as the tree says, instead of all at the start."""
        if self.tree is not None:
            raise SimulationError("set_buffer_overlap has been called for this storage alias before", here())
        if self.storage is not None:
            raise SimulationError("set_buffer_overlap comes after the first use of one of its buffers", here())
        if not isinstance(group, ReuseGroup):
            raise SimulationError("set_buffer_overlap takes a reuse_group", here())
        strangers = [b for b in group.leaves() if b.alias is not self]
        if strangers:
            raise SimulationError(f"{strangers[0].label} was not allocated with this storage alias", here())
        self.tree = group

    def settle(self) -> None:
        """Fixes where everything lies; called at the first use."""
        if self.tree is not None:
            step = self.tree.size()

            def put(buffer: Buffer, offset: int, group: int) -> None:
                buffer.first, buffer.group, buffer.step = offset, group, step

            self.tree.place(0, 1, put)
        needed = max(self._reach(buffer) for buffer in self.members)
        size = self.buffer_size_bytes if self.buffer_size_bytes is not None else needed
        self.storage = self.provide(self, size)
        for buffer in self.members:
            self._fit(buffer)

    @staticmethod
    def _reach(buffer: Buffer) -> int:
        return max(buffer.start(i) + buffer.tile_bytes for i in range(buffer.num))

    def _fit(self, buffer: Buffer) -> None:
        storage = self.storage
        assert storage is not None
        if self._reach(buffer) > storage.nbytes:
            what = f"{buffer.label} reaches to byte {self._reach(buffer)} of a storage alias of {storage.nbytes}"
            raise SimulationError(what, here())
        if isinstance(storage, TensorStorage) and not buffer.in_lanes:
            raise SimulationError(f"{buffer.label}: aliases in tensor memory take tiles of 128 lanes or fewer", here())
        buffer.storage = storage
