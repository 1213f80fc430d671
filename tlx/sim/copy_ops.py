"""Simulation of asynchronous copies: TMA loads and stores, and cp.async."""

from __future__ import annotations

from typing import Any

import numpy as np

from .memory import Descriptor
from .report import SimulationError
from .scheduler import Operation, Queue
from .shadow import Proxy
from .shared import View
from .shared_ops import SharedOps, as_view
from .sites import here
from .unwrap import offsets, truth


def _squeezed(shape: Any) -> list[int]:
    """A shape without its leading ones: a box may have more of them than the slot it goes into."""
    extents = [int(extent) for extent in shape]
    while len(extents) > 1 and extents[0] == 1:
        extents.pop(0)
    return extents


class CopyOps(SharedOps):
    """Part of the semantic layer."""

    def _box(self, desc: Any, view: View, at: Any) -> tuple[Descriptor, tuple[int, ...]]:
        handle = getattr(desc, "handle", None)
        if not isinstance(handle, Descriptor):
            raise SimulationError("a tensor descriptor is needed here", here())
        start = offsets(at)
        if len(start) != len(handle.block):
            raise SimulationError(f"{len(start)} offsets for a descriptor of rank {len(handle.block)}", here())
        if _squeezed(handle.block) != _squeezed(view.shape) or handle.dtype != view.dtype:
            what = f"box {handle.dtype}{list(handle.block)} does not fit {view.label}, {view.dtype}{view.shape}"
            raise SimulationError(what, here())
        return handle, start

    def tma_load(self, desc: Any, result: Any, at: Any, barrier: Any, pred: Any = None) -> None:
        """Starts a box into a view; its bytes land on ``barrier``."""
        if not truth(pred):
            return
        view, bar = as_view(result), self.one_barrier(barrier)
        box, start = self._box(desc, view, at)
        cta = self.cta
        cta.scheduler.step()
        cta.access(view, write=True, kind="TMA load", proxy=Proxy.ASYNC, end=(bar.lane, bar.phase + 1))
        view.buffer.storage.poison(view.array)
        memory = self.builder.memory

        def complete() -> None:
            view.array[...] = memory.load_box(box, start).reshape(view.array.shape)
            self.land_copy(bar, operation, box.nbytes)

        operation = Operation("TMA load", cta.agent, here(), complete)
        self.bind_copy(bar, operation)
        cta.scheduler.start(operation)

    def tma_store(self, desc: Any, source: Any, at: Any) -> None:
        """Starts a box out of a view, as a bulk group of its own."""
        view = as_view(source)
        box, start = self._box(desc, view, at)
        cta = self.cta
        cta.scheduler.step()
        queue = cta.agent.stores
        group = self._enqueue(queue)
        cta.access(view, write=False, kind="TMA store", proxy=Proxy.ASYNC, end=(queue.lane, group))
        memory = self.builder.memory
        operation = Operation(
            "TMA store", cta.agent, here(), lambda: memory.store_box(box, start, view.array), queue, group
        )
        cta.scheduler.start(operation)

    def tma_store_wait(self, pendings: int) -> None:
        """Waits until at most ``pendings`` stores still read their source."""
        self._drain(self.cta.agent.stores, pendings, "descriptor stores")

    @staticmethod
    def _enqueue(queue: Queue) -> int:
        queue.issued += 1
        queue.last_site = here()
        return queue.issued

    def _drain(self, queue: Queue, pendings: int, what: str) -> None:
        cta = self.cta
        agent, site = cta.agent, here()
        cta.scheduler.step()
        group = queue.issued - pendings
        reason = f"its {what}, all but {pendings}"
        cta.scheduler.wait(lambda: queue.drained_to(group), reason, site, ("queue", queue, group))
        if group > queue.retired:
            queue.retired = group
            agent.clock[queue.lane] = group

    # cp.async --------------------------------------------------------------------------------------------------------

    def copy_to_shared(self, src: Any, result: Any, mask: Any, other: Any, *hints: Any) -> None:
        """Queues an element-wise copy; it belongs to the next group that is committed."""
        view = as_view(result)
        if list(src.type.shape) != view.shape or src.dtype.element_ty != view.dtype:
            raise SimulationError(f"{src.type} does not fit into {view.label}, {view.dtype}{view.shape}", here())
        cta = self.cta
        cta.scheduler.step()
        queue = cta.agent.copies
        group = queue.issued + 1
        cta.access(view, write=True, kind="cp.async", proxy=Proxy.COPY, end=(queue.lane, group))
        view.buffer.storage.poison(view.array)
        memory, addresses, dtype = self.builder.memory, src.handle.data, view.dtype
        shape = addresses.shape
        keep = None if mask is None else np.broadcast_to(self.to_tensor(mask).handle.data, shape)
        rest = None if other is None else np.broadcast_to(self.to_tensor(other).handle.data, shape)

        def complete() -> None:
            view.array[...] = memory.load(addresses, keep, rest, dtype)

        cta.scheduler.start(Operation("cp.async", cta.agent, here(), complete, queue, group))

    def copy_commit(self) -> None:
        """Closes the group."""
        self._enqueue(self.cta.agent.copies)

    def copy_wait(self, pendings: int) -> None:
        """Waits until at most ``pendings`` of the newest groups are under way."""
        self._drain(self.cta.agent.copies, pendings, "copy groups")

    def to_tensor(self, value: Any) -> Any:
        """Provided by Triton's semantic layer."""
        raise NotImplementedError
