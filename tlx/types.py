"""The values a TLX kernel holds besides Triton's own: buffers, mbarriers and tokens.

Field names follow Meta's TLX. A *buffer* is an array of ``num`` equal tiles in shared memory; a *view* is one tile, or
a part of one, and has ``num == 0``.
"""

from __future__ import annotations

import enum
import math
from typing import Any

import triton.language as tl
from triton.experimental.gluon.language._core import shared_memory_descriptor, shared_memory_descriptor_type
from triton.experimental.gluon.language.nvidia.blackwell import (
    tensor_memory_descriptor,
    tensor_memory_descriptor_type,
)
from triton.language.core import base_type, base_value

from . import modules
from .builtin import TLXError, builtin


class storage_kind(enum.Enum):
    """Where a buffer lives."""

    smem = "smem"
    tmem = "tmem"
    smemCluster = "smemCluster"


class TMemCTAMode(enum.IntEnum):
    """Which operand of a product two CTAs share."""

    DEFAULT = 0
    TwoCTA_LHS = 1
    TwoCTA_RHS = 2


class _SharedType(base_type):  # type: ignore[misc]
    """Common part of the types of values that are one shared-memory descriptor in the IR.

    ``alloc_shape`` is the shape of the allocation that the descriptor looks into, with the slot dimension if it has
    one.
    """

    tag = "shared"

    def __init__(self, element_ty: Any, shape: list[int], num: int, layout: Any, alloc_shape: list[int]) -> None:
        self.element_ty = element_ty
        self.shape = list(shape)
        self.num = num
        self.layout = layout
        self.alloc_shape = list(alloc_shape)

    @property
    def full_shape(self) -> list[int]:
        """Shape of the descriptor in the IR: the slots of an array come first."""
        return [self.num, *self.shape] if self.num else self.shape

    def key(self) -> tuple[Any, ...]:
        """What two equal types agree on."""
        return (self.element_ty, tuple(self.shape), self.num, self.layout, tuple(self.alloc_shape))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash((type(self), str(self.key())))

    def __repr__(self) -> str:
        slots = f"{self.num} x " if self.num else ""
        return f"{self.tag}<{slots}{self.element_ty}{self.shape}>"

    def __str__(self) -> str:
        return repr(self)

    def gluon(self) -> Any:
        """The same type in Gluon's terms."""
        return shared_memory_descriptor_type(self.element_ty, self.full_shape, self.layout, self.alloc_shape)

    def to_ir(self, builder: Any) -> Any:
        """The IR type."""
        return self.gluon().to_ir(builder)

    def mangle(self) -> str:
        """A text for names of specialised helper functions."""
        return f"{self.tag}{self.num}_{self.gluon().mangle()}".replace(" ", "").replace(",", "_")

    def wrap(self, handle: Any) -> Any:
        """A value of this type around an IR handle."""
        raise NotImplementedError

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        out.append(self.to_ir(builder))

    def _unflatten_ir(self, handles: list[Any], cursor: int) -> tuple[Any, int]:
        return self.wrap(handles[cursor]), cursor + 1


class _SharedValue(base_value):  # type: ignore[misc]
    """Common part of values that are one shared-memory descriptor in the IR."""

    #: whether this is an allocation of its own, neither a view nor memory taken over from another buffer
    owns = False

    def __init__(self, handle: Any, type: Any) -> None:
        self.handle = handle
        self.type = type

    @property
    def num(self) -> int:
        """Number of slots; 0 for a view."""
        return int(self.type.num)

    @property
    def shape(self) -> list[int]:
        """Shape of one tile, in elements."""
        return list(self.type.shape)

    @property
    def layout(self) -> Any:
        """Shared-memory layout of one tile."""
        return self.type.layout

    def gluon(self) -> Any:
        """The same descriptor as Gluon's builtins take it."""
        ty = self.type
        return shared_memory_descriptor(self.handle, ty.element_ty, ty.full_shape, ty.layout, ty.alloc_shape)

    def __repr__(self) -> str:
        return str(self.type)

    def _flatten_ir(self, handles: list[Any]) -> None:
        handles.append(self.handle)

    def _set_name(self, builder: Any, name: str) -> None:
        self.handle.set_loc(builder.create_name_loc(name, self.handle.get_loc()))

    @builtin
    def __getitem__(self, index: Any, _semantic: Any = None) -> Any:
        """``buf[i]`` is ``tlx.local_view(buf, i)``."""
        return _semantic.shared_view(self, index)


class buffered_tensor_type(_SharedType):
    """Type of a ``buffered_tensor``."""

    tag = "buffer"

    def __init__(
        self,
        element_ty: Any,
        shape: list[int],
        num: int,
        layout: Any,
        alloc_shape: list[int],
        storage: storage_kind = storage_kind.smem,
        slots: tuple[int, int, int, int] | None = None,
    ) -> None:
        super().__init__(element_ty, shape, num, layout, alloc_shape)
        self.storage = storage
        #: scale, offset, group and width of a ring that lies among others in a pool (see ``lowering.overlap``)
        self.slots = slots
        #: shape of one tile, in bytes, of an array of scale factors in tensor memory
        self.scales: tuple[int, int] | None = None

    @property
    def full_shape(self) -> list[int]:
        """Shape of the descriptor in the IR."""
        return [self.slots[3], *self.shape] if self.slots and self.num else super().full_shape

    @property
    def slot_bits(self) -> int:
        """Bits of one tile; in tensor memory, bits of one lane."""
        extents = self.shape[1:] if self.storage is storage_kind.tmem else self.shape
        return int(math.prod(extents) * self.element_ty.primitive_bitwidth)

    @property
    def columns(self) -> int:
        """Columns of tensor memory that the tiles take."""
        return -(-self.slot_bits * max(self.num, 1) // 32)

    def key(self) -> tuple[Any, ...]:
        """What two equal types agree on."""
        return (*super().key(), self.storage, self.slots, self.scales)

    def __repr__(self) -> str:
        place = "" if self.storage is storage_kind.smem else f" in {self.storage.name}"
        # Where a member of a pool has its slots is part of its type.
        return super().__repr__() + place + ("" if self.slots is None else f" at slots {self.slots[:3]} of a pool")

    def mangle(self) -> str:
        """A text for names of specialised helper functions."""
        among = "" if self.slots is None else "M" + "_".join(map(str, self.slots))
        return super().mangle() + among + ("" if self.scales is None else f"S{self.scales[0]}_{self.scales[1]}")

    def gluon(self) -> Any:
        """The same type in Gluon's terms."""
        if self.storage is storage_kind.tmem:
            return tensor_memory_descriptor_type(self.element_ty, self.full_shape, self.layout, self.alloc_shape)
        return super().gluon()

    def wrap(self, handle: Any) -> buffered_tensor:
        """A buffer of this type around an IR handle."""
        return buffered_tensor(handle, self)


class buffered_tensor(_SharedValue):
    """``num`` tiles of ``shape`` and ``dtype`` in shared memory, or a view of one (``num == 0``)."""

    def gluon(self) -> Any:
        """The same descriptor as Gluon's builtins take it."""
        if self.storage is not storage_kind.tmem:
            return super().gluon()
        ty = self.type
        return tensor_memory_descriptor(self.handle, ty.element_ty, ty.full_shape, ty.layout, ty.alloc_shape)

    @property
    def dtype(self) -> Any:
        """Element type."""
        return self.type.element_ty

    @property
    def storage(self) -> storage_kind:
        """Where the buffer lives."""
        kind: storage_kind = self.type.storage
        return kind

    @property
    def T(self) -> Any:
        """Not available as an attribute: a view needs the builder."""
        raise TLXError("use tlx.local_trans(buf) to transpose a buffer")


class mbarrier_type(_SharedType):
    """Type of an ``mbarrier``: 64-bit words in shared memory, one per slot.

    ``is_warp_barrier`` says that every thread of an arriving task counts, not the task once; ``is_remote`` that the
    barrier is that of another CTA, whose rank the value carries along.
    """

    tag = "mbarrier"

    def __init__(
        self,
        element_ty: Any,
        num: int,
        layout: Any,
        alloc_shape: list[int],
        is_warp_barrier: bool = False,
        is_remote: bool = False,
    ) -> None:
        super().__init__(element_ty, [1], num, layout, alloc_shape)
        self.is_warp_barrier = is_warp_barrier
        self.is_remote = is_remote

    def key(self) -> tuple[Any, ...]:
        """What two equal types agree on."""
        return (*super().key(), self.is_warp_barrier, self.is_remote)

    def __repr__(self) -> str:
        kinds = ("remote ", self.is_remote), ("warp ", self.is_warp_barrier)
        return "".join(word for word, holds in kinds if holds) + super().__repr__()

    def mangle(self) -> str:
        """A text for names of specialised helper functions."""
        return super().mangle() + ("W" if self.is_warp_barrier else "") + ("R" if self.is_remote else "")

    def wrap(self, handle: Any) -> mbarrier:
        """A barrier of this type around an IR handle."""
        return mbarrier(handle, self)

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        super()._flatten_ir_types(builder, out)
        if self.is_remote:
            out.append(tl.int32.to_ir(builder))

    def _unflatten_ir(self, handles: list[Any], cursor: int) -> tuple[Any, int]:
        value, cursor = super()._unflatten_ir(handles, cursor)
        if self.is_remote:
            value.remote_rank = tl.tensor(handles[cursor], tl.int32)
            cursor += 1
        return value, cursor


class mbarrier(_SharedValue):
    """An array of ``num`` mbarriers, or one of them (``num == 0``)."""

    #: CTA of the cluster that it belongs to, after ``remote_view``; None for this CTA's own
    remote_rank: Any = None

    def _flatten_ir(self, handles: list[Any]) -> None:
        super()._flatten_ir(handles)
        if self.remote_rank is not None:
            handles.append(self.remote_rank.handle)

    @property
    def is_warp_barrier(self) -> bool:
        """Whether it came from ``alloc_warp_barrier``."""
        return bool(self.type.is_warp_barrier)


class async_token_type(base_type):  # type: ignore[misc]
    """Type of an ``async_token``; nothing of it reaches the IR."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return "async_token"

    def mangle(self) -> str:
        """A text for names of specialised helper functions."""
        return "token"

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        pass

    def _unflatten_ir(self, handles: list[Any], cursor: int) -> tuple[Any, int]:
        return async_token(), cursor


class async_token(base_value):  # type: ignore[misc]
    """Stands for an asynchronous copy. On NVIDIA order is kept by commit groups, so the token itself carries
    nothing.
    """

    def __init__(self) -> None:
        self.handle = None
        self.type = async_token_type()

    def _flatten_ir(self, handles: list[Any]) -> None:
        pass

    def _set_name(self, builder: Any, name: str) -> None:
        pass


def __getattr__(name: str) -> Any:
    return modules.lookup(__name__, name)
