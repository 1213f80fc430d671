"""Simulation of buffers, views, and ordinary accesses to shared memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import triton.language as tl

from .aliases import AliasSpec
from .barrier_ops import BarrierOps
from .barriers import MBarrier, MBarrierArray
from .dtypes import numpy_dtype
from .findings import SharedOutOfBounds, SlotOutOfRange
from .report import SimulationError
from .shared import Buffer, View
from .sites import call_position, here
from .storage import Storage, TensorStorage
from .unwrap import integer
from .values import value


def as_view(buf: Any) -> View:
    """The view a primitive was given; a buffer of one slot counts as that slot.

    Raises:
        SimulationError: it is something else, such as a whole ring.
    """
    if isinstance(buf, Buffer) and buf.num == 1:
        return buf.slot(0)
    if not isinstance(buf, View):
        raise SimulationError("a view of shared memory is needed here: index the buffer", here())
    return buf


class SharedOps(BarrierOps):
    """Part of the semantic layer."""

    builder: Any

    def shared_alloc(self, shape: list[int], dtype: Any, num: int, reuse: Any, space: str = "shared") -> Buffer:
        """``num`` tiles; ``reuse`` is the buffer whose storage they share from its first byte on, or a storage alias.

        ``space`` is "shared" or "tensor".
        """
        if self.builder.lift:
            raise SimulationError("a lifted run is for plain Triton kernels: tiles have the size they have", here())
        buffer = Buffer(list(shape), dtype, num, here(), space, cta=self.cta, ordinal=len(self.cta.buffers))
        if reuse is None:
            lane_bytes = buffer.nbytes if buffer.in_lanes or space == "shared" else buffer.nbytes // 128
            self.charge(space, lane_bytes, call_position())
            buffer.storage = TensorStorage(buffer.nbytes) if buffer.in_lanes else Storage(buffer.nbytes)
            self._allocated(buffer.storage)
        elif isinstance(reuse, AliasSpec):
            reuse.add(buffer)
        else:
            self._share(buffer, reuse)
        self.cta.buffers.append(buffer)
        return buffer

    def _allocated(self, storage: Storage) -> None:
        if self.cta.scheduler.observer is not None:
            self.cta.scheduler.observer.allocated(storage)

    @staticmethod
    def _share(buffer: Buffer, older: Any) -> None:
        if not isinstance(older, Buffer):
            raise SimulationError("reuse takes a whole buffer, as local_alloc returned it, or a storage alias", here())
        if older.space != buffer.space or older.in_lanes != buffer.in_lanes:
            raise SimulationError(f"{older.label} is in another memory: its storage cannot be reused here", here())
        if older.alias is not None:
            older.alias.add(buffer)
            return
        place = older.place
        if older.first + buffer.nbytes > place.nbytes:
            what = f"{buffer.nbytes} bytes do not fit into the {place.nbytes} of {older.label}"
            raise SimulationError(what, here())
        buffer.storage, buffer.first = place, older.first

    def alias_spec(self, space: str, size: int | None) -> AliasSpec:
        """Storage for several buffers; its size is fixed at their first use unless it is given."""
        position = call_position()

        def provide(spec: AliasSpec, nbytes: int) -> Storage:
            self.charge(space, nbytes, position)
            storage = TensorStorage(nbytes) if space == "tensor" else Storage(nbytes)
            self._allocated(storage)
            return storage

        return AliasSpec(space, size, here(), provide)

    def shared_view(self, buf: Any, index: Any) -> View | MBarrier:
        """Slot ``index`` of a buffer or barrier array; the leading dimension of a view."""
        if isinstance(buf, MBarrierArray):
            return self.barrier_at(buf, index)
        slot = integer(index)
        if isinstance(buf, View):
            if not 0 <= slot < buf.array.shape[0]:
                self.cta.stop(SlotOutOfRange, f"{buf.label}[{slot}]: the view has {buf.array.shape[0]} rows")
            part = buf.array[slot] if buf.array.ndim > 1 else buf.array[slot : slot + 1]
            return buf.derive(part, f"{buf.label}[{slot}]")
        if not isinstance(buf, Buffer):
            raise SimulationError(f"{type(buf).__name__} has no slots", here())
        if not 0 <= slot < buf.num:
            self.cta.stop(SlotOutOfRange, f"{buf.label}[{slot}]: the buffer has {buf.num} slots", other=buf.site)
        return buf.slot(slot)

    def shared_slice(self, buf: Any, offset: list[Any], shape: list[int]) -> View:
        """A part of a view; offsets may be known at run time only. In tensor memory it keeps all rows."""
        view = as_view(buf)
        start = [integer(x) for x in offset]
        index = []
        for low, size, extent in zip(start, shape, view.array.shape, strict=True):
            if low < 0 or low + size > extent:
                what = f"slice {start} + {shape} of {view.label}, which is {list(view.array.shape)}"
                self.cta.stop(SharedOutOfBounds, what, other=view.buffer.site)
            index.append(slice(low, low + size))
        if view.in_tensor_memory and shape[0] != view.shape[0]:
            raise SimulationError("tensor memory can be sliced along its columns only", here())
        return view.derive(view.array[tuple(index)], f"{view.label}{start}")

    def shared_trans(self, buf: Any, dims: list[int]) -> View:
        """A view with its dimensions permuted."""
        view = as_view(buf)
        if view.in_tensor_memory:
            raise SimulationError("tensor memory cannot be transposed", here())
        return view.derive(view.array.transpose(dims), view.label)

    def shared_reshape(self, buf: Any, shape: list[int]) -> View:
        """A view under another shape."""
        view = as_view(buf)
        if not view.array.flags.c_contiguous:
            raise SimulationError("only a contiguous view can be reshaped", here())
        return view.derive(view.array.reshape(shape), view.label)

    def shared_reinterpret(self, buf: Any, dtype: Any, shape: list[int] | None) -> View | Buffer:
        """The same bytes as another type."""
        if isinstance(buf, Buffer) and buf.num > 1:
            tile = list(shape or buf.shape)
            other = Buffer(
                tile, dtype, 1, buf.site, buf.space, buf.place, buf.alias, buf.first, ordinal=buf.ordinal, cta=buf.cta
            )
            other.num = buf.nbytes // other.tile_bytes
            return other
        view = as_view(buf)
        kind = numpy_dtype(dtype)
        if view.in_tensor_memory and view.array.ndim == 2:
            array = view.array.view(kind)
            if shape is not None and list(array.shape) != list(shape):
                raise SimulationError(f"{view.label} is {list(array.shape)} of {dtype}, not {shape}", here())
            return view.derive(array, view.label, dtype)
        if not view.array.flags.c_contiguous:
            raise SimulationError("only a contiguous view can be reinterpreted", here())
        array = view.array.reshape(-1).view(kind)
        return view.derive(array.reshape(shape or view.shape), view.label, dtype)

    def shared_to_registers(self, src: Any) -> Any:
        """``local_load``."""
        view = as_view(src)
        self.cta.scheduler.step()
        self.cta.access(view, write=False, kind="load")
        return tl.tensor(value(view.array.copy(), view.dtype), tl.block_type(view.dtype, view.shape))

    def registers_to_shared(self, dst: Any, src: Any) -> None:
        """``local_store``."""
        view = as_view(dst)
        self.fits(src, view)
        self.cta.scheduler.step()
        self.cta.access(view, write=True, kind="store")
        view.array[...] = src.handle.data

    @staticmethod
    def fits(src: Any, view: View) -> None:
        """Checks that a tensor has the shape and type of a view.

        Raises:
            SimulationError: it has not.
        """
        if list(src.type.shape) != view.shape or src.dtype != view.dtype:
            raise SimulationError(f"{src.type} does not fit into {view.label}, {view.dtype}{view.shape}", here())

    def shared_gather(self, src: Any, indices: Any, axis: int) -> Any:
        """``local_gather``: elements of a view picked along ``axis``."""
        view = as_view(src)
        self.cta.scheduler.step()
        self.cta.access(view, write=False, kind="gather")
        at = self._along(view, indices, axis)
        return tl.tensor(
            value(np.take_along_axis(view.array, at, axis), view.dtype), tl.block_type(view.dtype, list(at.shape))
        )

    def shared_scatter(self, dst: Any, src: Any, indices: Any, axis: int) -> None:
        """``local_scatter``: elements of a tensor put into a view along ``axis``."""
        view = as_view(dst)
        self.cta.scheduler.step()
        self.cta.access(view, write=True, kind="scatter")
        np.put_along_axis(view.array, self._along(view, indices, axis), src.handle.data, axis)

    def _along(self, view: View, indices: Any, axis: int) -> np.ndarray:
        at: np.ndarray = indices.handle.data.astype(np.int64)
        if at.size and not (at.min() >= 0 and at.max() < view.array.shape[axis]):
            what = f"indices up to {int(at.max())} into {view.label}, which is {view.shape}"
            self.cta.stop(SharedOutOfBounds, what, other=view.buffer.site)
        return at

    def memory_fence(self, scope: str) -> None:
        """``fence``: what is known becomes visible to the asynchronous proxy."""
        self.cta.scheduler.step()
        if scope == "async_shared":
            agent = self.cta.agent
            agent.proxied.update(agent.clock)
            agent.tick()
