"""Simulation of asynchronous copies: TMA loads and stores, and cp.async."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .barriers import MBarrier
from .memory import Descriptor
from .report import SimulationError
from .scheduler import Operation, Queue
from .shadow import Proxy
from .shared import View
from .shared_ops import SharedOps, as_view
from .sites import here
from .unwrap import integer, offsets, truth

#: what ``store_reduce`` names
REDUCTIONS: dict[str, Any] = {
    "": None, "add": np.add, "min": np.minimum, "max": np.maximum,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip


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

    def tma_load(
        self, desc: Any, result: Any, at: Any, barrier: Any, pred: Any = None, ranks: Any = (), two_ctas: bool = False
    ) -> None:
        """Starts a box into a view; its bytes land on ``barrier``.

        ``ranks`` sends it to the same place in each of these CTAs, where it lands on the same barrier. With
        ``two_ctas`` the bytes of a pair of CTAs land on the barrier of its even one.
        """
        if not truth(pred):
            return
        view, own = as_view(result), self.one_barrier(barrier)
        box, start = self._box(desc, view, at)
        cta, memory = self.cta, self.builder.memory
        cta.scheduler.step()
        for rank in [integer(rank) for rank in ranks] or [cta.rank]:
            target = cta.peer_view(view, rank)
            bar = cta.peer_barrier(own, rank & ~1 if two_ctas else rank)
            self._land_later("TMA load", target, bar, box.nbytes, lambda: memory.load_box(box, start), Proxy.ASYNC)

    def _land_later(
        self, kind: str, view: View, bar: MBarrier, nbytes: int, read: Callable[[], np.ndarray], proxy: Proxy
    ) -> None:
        """An asynchronous write into ``view`` whose bytes land on ``bar``.

        A store out of registers releases what its task knows. A bulk copy does not: that it was issued only shows
        which phases were over.
        """
        cta = self.cta
        cta.access(view, write=True, kind=kind, proxy=proxy, end=(bar.lane, bar.phase + 1))
        cta.visit(bar.cta, bar.lane, bar.phase + 1, bar.site)
        view.place.poison(view.array)
        known = dict(cta.agent.clock) if proxy is Proxy.COPY else {} if bar.cta is cta else cta.known_phases()

        def complete() -> None:
            view.array[...] = read().reshape(view.array.shape)
            self.land_copy(bar, operation, nbytes, known)

        operation = Operation(kind, cta.agent, here(), complete)
        self.bind_copy(bar, operation)
        cta.scheduler.start(operation)
        if proxy is Proxy.COPY:
            cta.agent.tick()

    def bulk_load(self, src: Any, result: Any, nbytes: Any, barrier: Any) -> None:
        """Starts a copy of consecutive bytes into a view of one dimension; they land on ``barrier``."""
        view, bar = as_view(result), self.one_barrier(barrier)
        size = view.nbytes if nbytes is None else integer(nbytes)
        address = self._bulk(src, view, size)
        part = view.derive(view.array[: size // view.array.itemsize], view.label)
        memory, dtype = self.builder.memory, view.dtype
        self.cta.scheduler.step()
        self._land_later("bulk load", part, bar, size, lambda: memory.load(address, None, None, dtype), Proxy.ASYNC)

    @staticmethod
    def _bulk(pointer: Any, view: View, size: int) -> np.ndarray:
        """The addresses of a bulk copy between ``pointer`` and the begin of ``view``."""
        if view.array.ndim != 1 or not view.array.flags.c_contiguous:
            raise SimulationError("a bulk copy needs a view of one dimension", here())
        if size % 16 or size > view.nbytes:
            what = f"a bulk copy moves a multiple of 16 bytes, at most {view.nbytes} here, not {size}"
            raise SimulationError(what, here())
        first = pointer.handle.data.reshape(-1)[0]
        width = view.array.itemsize
        addresses: np.ndarray = first + np.arange(size // width, dtype=np.uint64) * np.uint64(width)
        return addresses

    def bulk_store(self, pointer: Any, source: Any, nbytes: Any) -> None:
        """Starts a copy of consecutive bytes out of a view, as a bulk group of its own."""
        view, size = as_view(source), integer(nbytes)
        address = self._bulk(pointer, view, size)
        part = view.derive(view.array[: size // view.array.itemsize], view.label)
        memory = self.builder.memory
        self._store_later("bulk store", part, lambda: memory.store(address, part.array, None, part.dtype))

    def tma_store(self, desc: Any, source: Any, at: Any, reduce: str = "") -> None:
        """Starts a box out of a view, as a bulk group of its own; ``reduce`` combines it with what is there."""
        view = as_view(source)
        box, start = self._box(desc, view, at)
        memory = self.builder.memory
        combine = REDUCTIONS[reduce]
        self._store_later("TMA store", view, lambda: memory.store_box(box, start, view.array, combine))

    def _store_later(self, kind: str, view: View, write: Callable[[], None]) -> None:
        cta = self.cta
        cta.scheduler.step()
        queue = cta.agent.stores
        group = self._enqueue(queue)
        cta.access(view, write=False, kind=kind, proxy=Proxy.ASYNC, end=(queue.lane, group))
        cta.scheduler.start(Operation(kind, cta.agent, here(), write, queue, group))

    def tma_store_wait(self, pendings: int) -> None:
        """Waits until at most ``pendings`` stores still read their source."""
        self._drain(self.cta.agent.stores, pendings, "bulk stores")

    @staticmethod
    def _enqueue(queue: Queue, working: bool = True) -> int:
        queue.issued += 1
        if working:
            queue.working = queue.issued
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

    def copy_to_shared(self, src: Any, result: Any, mask: Any) -> None:
        """Queues an element-wise copy; it belongs to the next group that is committed. Masked elements become 0."""
        view = as_view(result)
        if list(src.type.shape) != view.shape or src.dtype.element_ty != view.dtype:
            raise SimulationError(f"{src.type} does not fit into {view.label}, {view.dtype}{view.shape}", here())
        cta = self.cta
        cta.scheduler.step()
        queue = cta.agent.copies
        group = queue.issued + 1
        cta.access(view, write=True, kind="cp.async", proxy=Proxy.COPY, end=(queue.lane, group))
        view.place.poison(view.array)
        memory, addresses, dtype = self.builder.memory, src.handle.data, view.dtype
        shape = addresses.shape
        keep = None if mask is None else np.broadcast_to(self.to_tensor(mask).handle.data, shape)
        if keep is None or keep.any():
            queue.working = group

        def complete() -> None:
            view.array[...] = memory.load(addresses, keep, None, dtype)

        cta.scheduler.start(Operation("cp.async", cta.agent, here(), complete, queue, group))

    def copy_commit(self) -> None:
        """Closes the group."""
        self._enqueue(self.cta.agent.copies, working=False)

    def copy_wait(self, pendings: int) -> None:
        """Waits until at most ``pendings`` of the newest groups are under way."""
        self._drain(self.cta.agent.copies, pendings, "copy groups")

    def to_tensor(self, value: Any) -> Any:
        """Provided by Triton's semantic layer."""
        raise NotImplementedError
