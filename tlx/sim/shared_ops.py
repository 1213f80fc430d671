"""Simulation of buffers, views, and ordinary accesses to shared memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import triton.language as tl

from .barrier_ops import BarrierOps
from .barriers import MBarrier, MBarrierArray
from .dtypes import numpy_dtype
from .findings import SharedOutOfBounds, SlotOutOfRange
from .report import SimulationError
from .shared import Buffer, Storage, View
from .sites import here
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

    def shared_alloc(self, shape: list[int], dtype: Any, num: int, reuse: Any) -> Buffer:
        """``num`` tiles; ``reuse`` is the buffer whose storage they share from its first byte on."""
        if self.builder.lift:
            raise SimulationError("a lifted run is for plain Triton kernels: tiles have the size they have", here())
        buffer = Buffer(None, list(shape), dtype, num, here())  # type: ignore[arg-type]
        if reuse is None:
            self.charge(buffer.nbytes)
            buffer.storage = Storage(buffer.nbytes)
            if self.cta.scheduler.observer is not None:
                self.cta.scheduler.observer.allocated(buffer.storage)
            return buffer
        if not isinstance(reuse, Buffer):
            raise SimulationError("reuse takes a whole buffer, as local_alloc returned it", here())
        if buffer.nbytes > reuse.storage.nbytes:
            raise SimulationError(
                f"{buffer.nbytes} bytes do not fit into the {reuse.storage.nbytes} of {reuse.label}", here()
            )
        buffer.storage = reuse.storage
        return buffer

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

    def shared_slice(self, buf: Any, offset: list[int], shape: list[int]) -> View:
        """A part of a view."""
        view = as_view(buf)
        index = []
        for start, size, extent in zip(offset, shape, view.array.shape, strict=True):
            if start < 0 or start + size > extent:
                what = f"slice {offset} + {shape} of {view.label}, which is {list(view.array.shape)}"
                self.cta.stop(SharedOutOfBounds, what, other=view.buffer.site)
            index.append(slice(start, start + size))
        return view.derive(view.array[tuple(index)], f"{view.label}{offset}")

    def shared_trans(self, buf: Any, dims: list[int]) -> View:
        """A view with its dimensions permuted."""
        view = as_view(buf)
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
            size = int(np.prod(tile)) * int(numpy_dtype(dtype).itemsize)
            return Buffer(buf.storage, tile, dtype, buf.nbytes // size, buf.site)
        view = as_view(buf)
        if not view.array.flags.c_contiguous:
            raise SimulationError("only a contiguous view can be reinterpreted", here())
        array = view.array.reshape(-1).view(numpy_dtype(dtype))
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
        if list(src.type.shape) != view.shape or src.dtype != view.dtype:
            raise SimulationError(f"{src.type} does not fit into {view.label}, {view.dtype}{view.shape}", here())
        self.cta.scheduler.step()
        self.cta.access(view, write=True, kind="store")
        view.array[...] = src.handle.data

    def memory_fence(self, scope: str) -> None:
        """``fence``: what is known becomes visible to the asynchronous proxy."""
        self.cta.scheduler.step()
        if scope == "async_shared":
            agent = self.cta.agent
            agent.proxied.update(agent.clock)
            agent.tick()
