"""Buffers, their slots, and views into them. Views move no data and know their bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .dtypes import numpy_dtype
from .shadow import Runs
from .sites import Site
from .slotted import Slotted
from .storage import LANES, Storage

if TYPE_CHECKING:
    from .aliases import AliasSpec


@dataclass(slots=True, eq=False)
class View(Slotted):
    """One tile of a buffer or a part of one, as kernels hold it."""

    buffer: Buffer
    label: str
    array: np.ndarray
    dtype: Any
    place: Storage
    runs: Runs = field(init=False)
    #: the same bytes in other CTAs of the cluster, by rank
    peers: dict[int, View] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.runs = self.place.runs(self.array)

    @property
    def shape(self) -> list[int]:
        """Extents, in elements."""
        return list(self.array.shape)

    @property
    def num(self) -> int:
        """0: a view is not an array of slots."""
        return 0

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return int(self.array.nbytes)

    @property
    def in_tensor_memory(self) -> bool:
        """Whether it lies in tensor memory."""
        return self.buffer.space == "tensor"

    def derive(self, array: np.ndarray, label: str, dtype: Any = None) -> View:
        """Another view of the same buffer."""
        return View(self.buffer, label, array, self.dtype if dtype is None else dtype, self.place)


@dataclass(slots=True, eq=False)
class Buffer(Slotted):
    """``num`` tiles of ``shape`` elements of ``dtype``, as ``local_alloc`` returns them.

    Slot ``i`` begins at ``first + (i // group) * step + (i % group) * tile_bytes``. Without a storage alias the slots
    lie one behind the other.
    """

    shape: list[int]
    dtype: Any
    num: int
    site: Site
    #: "shared" or "tensor"
    space: str = "shared"
    #: None until the layout of its alias is settled
    storage: Storage | None = None
    alias: AliasSpec | None = None
    first: int = 0
    group: int = 1
    step: int = 0
    #: number of the allocation in its CTA, the same in every CTA of a cluster
    ordinal: int = -1
    #: the CTA it belongs to
    cta: Any = None
    slots: dict[int, View] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The user's name for it, or the line that allocates it."""
        return self.site.target or f"buffer of line {self.site.line}"

    @property
    def in_lanes(self) -> bool:
        """Whether a tile is rows of lanes; other shapes in tensor memory (scales) just take bytes."""
        return self.space == "tensor" and len(self.shape) == 2 and self.shape[0] <= LANES

    @property
    def tile_bytes(self) -> int:
        """Size of one slot in bytes; in tensor memory the bytes of one lane."""
        count = self.shape[1] if self.in_lanes else int(np.prod(self.shape))
        return count * int(numpy_dtype(self.dtype).itemsize)

    @property
    def nbytes(self) -> int:
        """Size of all slots, in the same measure."""
        return self.tile_bytes * self.num

    @property
    def place(self) -> Storage:
        """Where its bytes are."""
        if self.storage is None:
            assert self.alias is not None
            self.alias.settle()
            assert self.storage is not None
        return self.storage

    def start(self, index: int) -> int:
        """First byte of slot ``index``."""
        within = index % self.group
        return self.first + index // self.group * (self.step or self.tile_bytes) + within * self.tile_bytes

    def slot(self, index: int) -> View:
        """Slot ``index``, which must be in range."""
        view = self.slots.get(index)
        if view is None:
            place = self.place
            array = place.tile(self.start(index), self.shape, numpy_dtype(self.dtype))
            view = self.slots[index] = View(self, f"{self.label}[{index}]", array, self.dtype, place)
        return view
