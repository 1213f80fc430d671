"""Buffers that share memory: which of them lie on top of each other, and which side by side.

One ``storage_alias_spec`` names a pool. Buffers join it with ``local_alloc(..., reuse=spec)``. Without more, all of
them start at its first byte; ``spec.set_buffer_overlap(tree)`` arranges them. Nobody orders the accesses but the
author.
"""

from __future__ import annotations

import enum
from typing import Any

from triton.language.core import base_type, base_value

from .builtin import TLXError, builtin, constant, described, unwrap
from .types import buffered_tensor, storage_kind


class reuse_group_type(enum.Enum):
    """How the members of a ``reuse_group`` lie: ``shared`` from one offset on, ``distinct`` one after the other."""

    shared = "shared"
    distinct = "distinct"


class reuse_group_ir_type(base_type):  # type: ignore[misc]
    """Type of a ``reuse_group``; nothing of it reaches the IR."""

    def __init__(self, group_kind: reuse_group_type, value: Any = None) -> None:
        self.group_kind = group_kind
        #: the one value of this type; a loop that carries it gets it back
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, reuse_group_ir_type) and self.group_kind is other.group_kind

    def __hash__(self) -> int:
        return hash((type(self), self.group_kind))

    def __repr__(self) -> str:
        return f"reuse_group<{self.group_kind.value}>"

    def mangle(self) -> str:
        """A text for names of specialised helper functions."""
        return f"reuse_group_{self.group_kind.value}"

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        pass

    def _unflatten_ir(self, handles: list[Any], cursor: int) -> tuple[Any, int]:
        return self.value, cursor


class reuse_group(base_value):  # type: ignore[misc]
    """A node of the tree that ``set_buffer_overlap`` takes.

    Args:
        args: buffers of one pool, or further groups.
        group_type: whether they lie on top of each other or side by side.
        group_size: so many slots of the members count as one slot of the group, lying side by side.

    Raises:
        TLXError: no members, a member that is neither buffer nor group, a size below 1.
    """

    def __init__(self, *args: Any, group_type: reuse_group_type = reuse_group_type.shared, group_size: int = 1) -> None:
        if not args:
            raise TLXError("a reuse_group needs at least one member")
        for member in args:
            if not isinstance(member, (buffered_tensor, reuse_group)):
                raise TLXError(f"a reuse_group takes buffers and groups, not {described(member)}")
        kind = unwrap(group_type)
        if not isinstance(kind, reuse_group_type):
            raise TLXError(f"group_type is a reuse_group_type, not {described(kind)}")
        self.args = args
        self.group_type = kind
        self.group_size = constant(group_size, "group_size")
        if self.group_size < 1:
            raise TLXError(f"group_size must be at least 1, not {self.group_size}")
        self.type = reuse_group_ir_type(kind, self)

    def _flatten_ir(self, handles: list[Any]) -> None:
        pass

    def _set_name(self, builder: Any, name: str) -> None:
        pass


class storage_alias_spec_type(base_type):  # type: ignore[misc]
    """Type of a pool; nothing of it reaches the IR."""

    def __init__(self, storage: storage_kind, buffer_size_bytes: int | None = None, value: Any = None) -> None:
        #: the one value of this type; a loop that carries it gets it back
        self.value = value
        self.storage = storage
        self.buffer_size_bytes = buffer_size_bytes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, storage_alias_spec_type) and self.mangle() == other.mangle()

    def __hash__(self) -> int:
        return hash(self.mangle())

    def __repr__(self) -> str:
        return f"storage_alias_spec<{self.storage.name}, {self.buffer_size_bytes}>"

    def mangle(self) -> str:
        """A text for names of specialised helper functions."""
        return f"pool_{self.storage.name}_{self.buffer_size_bytes}"

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        pass

    def _unflatten_ir(self, handles: list[Any], cursor: int) -> tuple[Any, int]:
        return self.value, cursor


class storage_alias_spec_type_class(base_value):  # type: ignore[misc]
    """A pool of memory, as ``storage_alias_spec`` makes it."""

    def __init__(self, pool: Any, storage: storage_kind, buffer_size_bytes: int | None) -> None:
        #: what the lowering knows of its members
        self.pool = pool
        self.handle = None
        self.type = storage_alias_spec_type(storage, buffer_size_bytes, self)

    @property
    def storage(self) -> storage_kind:
        """Where the pool lives."""
        kind: storage_kind = self.type.storage
        return kind

    @property
    def buffer_size_bytes(self) -> int | None:
        """Its size if one was given, else it follows from the members."""
        size: int | None = self.type.buffer_size_bytes
        return size

    @builtin
    def set_buffer_overlap(self, overlap_def: reuse_group, _semantic: Any = None) -> None:
        """Arranges all members of the pool by a tree of groups, before any of them is used.

        Raises:
            TLXError: a second arrangement, a member left out or named twice, a buffer of another pool, an offset that
                is no multiple of a member's slot, or more memory than ``buffer_size_bytes``.
        """
        if not isinstance(overlap_def, reuse_group):
            raise TLXError(f"set_buffer_overlap takes a reuse_group, not {described(overlap_def)}")
        self.pool.arrange(overlap_def)

    def _flatten_ir(self, handles: list[Any]) -> None:
        pass

    def _set_name(self, builder: Any, name: str) -> None:
        pass


@builtin
def storage_alias_spec(
    storage: storage_kind = storage_kind.smem, buffer_size_bytes: int | None = None, _semantic: Any = None
) -> storage_alias_spec_type_class:
    """A pool that several ``local_alloc(..., reuse=spec)`` share.

    Args:
        storage: ``smem``, or ``tmem`` on Blackwell.
        buffer_size_bytes: its size, which the members must fit into; by default as much as they need.
    """
    kind = unwrap(storage)
    if kind not in (storage_kind.smem, storage_kind.tmem):
        raise TLXError(f"a storage_alias_spec is in smem or tmem, not in {kind}")
    size = unwrap(buffer_size_bytes)
    if size is not None and constant(size, "buffer_size_bytes") < 1:
        raise TLXError(f"buffer_size_bytes must be positive, not {size}")
    return storage_alias_spec_type_class(_semantic.new_pool(kind, size), kind, size)
