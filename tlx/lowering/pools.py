"""From an arrangement of a pool to allocations: one for the pool, and views of it for the members.

A pool can only be allocated when all members are known, and must be allocated before the first use. So members are
made without a handle; the first use of any of them, or the arrangement, allocates.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from ..builtin import TLXError
from ..types import buffered_tensor, buffered_tensor_type, storage_kind
from .overlap import Arrangement, Group, Member, SlotMap, arrange, on_top

if TYPE_CHECKING:
    from ..storage import reuse_group
    from .tmem import TensorMemorySemantic


class PooledBuffer(buffered_tensor):
    """A member of a pool; ``handle`` and ``type`` are known once the pool is laid out."""

    def __init__(self, pool: Pool, wanted: buffered_tensor_type) -> None:
        self.pool = pool
        self.wanted = wanted
        self.name = f"{wanted}"

    @property
    def handle(self) -> Any:
        """The view of the pool."""
        return self.pool.resolved(self).handle

    @handle.setter
    def handle(self, value: Any) -> None:
        raise AssertionError("a member of a pool has no handle of its own")

    @property
    def type(self) -> Any:
        """The widened array that the member's slots are in."""
        return self.wanted if self.pool.views is None else self.pool.resolved(self).type

    @type.setter
    def type(self, value: Any) -> None:
        raise AssertionError("a member of a pool has no type of its own")

    def _flatten_ir(self, handles: list[Any]) -> None:
        handles.append(self.handle)

    def _set_name(self, builder: Any, name: str) -> None:
        self.name = name


class Pool:
    """One ``storage_alias_spec`` in the course of compilation."""

    def __init__(self, semantic: TensorMemorySemantic, storage: storage_kind, size: int | None) -> None:
        self.semantic = semantic
        self.storage = storage
        self.size = size
        self.members: list[PooledBuffer] = []
        #: member (by identity) → its view; None until the pool is allocated
        self.views: dict[int, buffered_tensor] | None = None

    def join(self, wanted: buffered_tensor_type) -> PooledBuffer:
        """A new member."""
        if self.views is not None:
            raise TLXError(
                "this storage_alias_spec is laid out already: allocate all its buffers before the first is used, "
                "before set_buffer_overlap, and before loops, branches and tasks"
            )
        if wanted.storage is not self.storage:
            raise TLXError(f"a buffer in {wanted.storage.name} cannot join a pool in {self.storage.name}")
        member = PooledBuffer(self, wanted)
        self.members.append(member)
        return member

    def arrange(self, tree: reuse_group) -> None:
        """Lays out by a tree."""
        if self.views is not None:
            raise TLXError(
                "this storage_alias_spec is laid out already: set_buffer_overlap comes once, before any use and before "
                "loops, branches and tasks"
            )
        known = {id(buffer): self._member(buffer) for buffer in self.members}
        arrangement = arrange(self._group(tree, known), self._limit())
        missing = [buffer.name for buffer in self.members if not self._placed(known[id(buffer)], arrangement)]
        if missing:
            raise TLXError(f"set_buffer_overlap leaves out {', '.join(missing)}")
        self._allocate(arrangement, known)

    def lay_out(self) -> None:
        """Allocates, if that has not been done: all members from the first byte on."""
        if self.views is None and self.members:
            known = {id(buffer): self._member(buffer) for buffer in self.members}
            self._allocate(on_top(list(known.values()), self._limit()), known)

    def resolved(self, member: PooledBuffer) -> buffered_tensor:
        """The view that a member is."""
        self.lay_out()
        assert self.views is not None
        return self.views[id(member)]

    # ---- arithmetic ---------------------------------------------------------------------------------------------

    def _limit(self) -> int | None:
        if self.size is None:
            return None
        # The whole of tensor memory is 128 lanes wide.
        return self.size * 8 // (128 if self.storage is storage_kind.tmem else 1)

    def _member(self, buffer: PooledBuffer) -> Member:
        return Member(buffer.name, buffer.wanted.slot_bits, buffer.wanted.num)

    def _group(self, tree: reuse_group, known: dict[int, Member]) -> Group:
        parts: list[Member | Group] = []
        for part in tree.args:
            if isinstance(part, buffered_tensor):
                if id(part) not in known:
                    raise TLXError("a reuse_group names a buffer that was not allocated with reuse= this pool")
                parts.append(known[id(part)])
            else:
                parts.append(self._group(part, known))
        return Group(tuple(parts), tree.group_type.value == "distinct", tree.group_size)

    @staticmethod
    def _placed(member: Member, arrangement: Arrangement) -> bool:
        return any(placed is member for placed, _ in arrangement.maps)

    # ---- IR -----------------------------------------------------------------------------------------------------

    def _allocate(self, arrangement: Arrangement, known: dict[int, Member]) -> None:
        buffers = {id(known[id(buffer)]): buffer for buffer in self.members}
        raw, bits = self.semantic.raw_memory(self.storage, arrangement.bits, [member.wanted for member in self.members])
        self.views = {}
        for member, slots in arrangement.maps:
            buffer = buffers[id(member)]
            self.views[id(buffer)] = self._view(raw, bits, buffer.wanted, slots)

    def _view(self, raw: Any, bits: int, wanted: buffered_tensor_type, slots: SlotMap) -> buffered_tensor:
        placed = copy.copy(wanted)
        placed.slots = None if slots.plain else (slots.scale, slots.offset, slots.group, wanted.num)
        ty = self.semantic.widened(placed, bits)
        return self.semantic.retyped(raw, ty)
