"""Simulation of tcgen05: products that accumulate in tensor memory, and copies into it.

What one task issues happens in the order of issue. That it has happened is known through an mbarrier: one given to the
product, or one given to a commit. A product without either is waited for on the spot, as compiled code does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import numerics, scaled
from .cluster_ops import ClusterOps
from .report import SimulationError
from .scheduler import Operation
from .shadow import Proxy
from .shared import View
from .shared_ops import as_view
from .sites import here
from .unwrap import integer, plain, truth


def _proxy(view: View) -> Proxy:
    return Proxy.TENSOR if view.in_tensor_memory else Proxy.ASYNC


class TensorOps(ClusterOps):
    """Part of the semantic layer."""

    def tensor_dot(
        self,
        a: Any,
        b: Any,
        acc: Any,
        use_acc: Any,
        pred: Any,
        bars: list[Any],
        two_ctas: bool,
        force_async: bool,
        precision: str | None,
        scales: tuple[Any, str, Any, str] | None = None,
    ) -> None:
        """``acc = a @ b``, plus ``acc`` if ``use_acc`` (None: true).

        ``scales`` are the block scale and the format of ``a``, then those of ``b``. With ``two_ctas`` the even CTA of a
        pair issues for both: each has its rows of A and of the result, and its half of the columns of B.
        """
        cta = self.cta
        if not truth(pred) or (two_ctas and cta.rank & 1):
            cta.scheduler.step()
            return
        left, right, into = as_view(a), as_view(b), as_view(acc)
        ranks = (cta.rank, cta.rank + 1) if two_ctas else (cta.rank,)
        self._check_product(left, right, into, len(ranks), scales)
        lefts, rights, intos = ([cta.peer_view(view, rank) for rank in ranks] for view in (left, right, into))
        factors = [] if scales is None else [as_view(scales[0]), as_view(scales[2])]
        factors_of = [[cta.peer_view(view, rank) for view in factors] for rank in ranks]

        cta.scheduler.step()
        queue = cta.agent.products
        group = self._enqueue(queue)
        end = (queue.lane, group)
        for view in [*lefts, *rights, *(view for views in factors_of for view in views)]:
            cta.access(view, write=False, kind="async_dot", proxy=_proxy(view), end=end)
        accumulate = plain(use_acc) is None or truth(use_acc)
        for view in intos:
            if accumulate:
                cta.access(view, write=False, kind="async_dot", proxy=Proxy.TENSOR, end=end)
            cta.access(view, write=True, kind="async_dot", proxy=Proxy.TENSOR, end=end)
        tf32 = self.builder.tf32 and precision != "ieee"

        def complete() -> None:
            columns = [view.array for view in rights]
            if scales is not None:
                columns = [
                    scaled.columns(x, view[1].array, scales[3]) for x, view in zip(columns, factors_of, strict=True)
                ]
            y = columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1)
            for rows, target, view in zip(lefts, intos, factors_of, strict=True):
                x = rows.array if scales is None else scaled.rows(rows.array, view[0].array, scales[1])
                before = target.array if accumulate else None
                target.array[...] = numerics.dot(x, y, before, target.array.dtype, tf32)

        flop = 2.0 * intos[0].array.size * left.array.shape[1] * len(ranks)
        cta.scheduler.start(Operation("async_dot", cta.agent, here(), complete, queue, group, flop))
        self._conclude(bars, two_ctas, force_async)

    def _conclude(self, bars: list[Any], two_ctas: bool, force_async: bool) -> None:
        if bars:
            self.arrive_when_done(bars, two_ctas)
        elif not force_async:
            cta = self.cta
            queue, site = cta.agent.products, here()
            group = queue.issued
            cta.scheduler.wait(lambda: queue.drained_to(group), "its tcgen05 product", site, ("queue", queue, group))
            cta.agent.clock[queue.lane] = max(group, cta.agent.clock.get(queue.lane, 0))

    def _check_product(self, a: View, b: View, acc: View, ctas: int, scales: tuple[Any, str, Any, str] | None) -> None:
        if not acc.in_tensor_memory or acc.array.ndim != 2:
            raise SimulationError("the accumulator of a tcgen05 product is a tile in tensor memory", here())
        if b.in_tensor_memory:
            raise SimulationError("operand B of a tcgen05 product is in shared memory", here())
        packed = [1, 1] if scales is None else [2 if name == "e2m1" else 1 for name in (scales[1], scales[3])]
        m, k = a.shape[0], a.shape[1] * packed[0]
        depth, n = b.shape[0] * packed[1], b.shape[1]
        if k != depth or acc.shape != [m, n * ctas]:
            what = (
                f"{a.dtype}{a.shape} and {b.dtype}{b.shape} of {ctas} CTAs do not multiply into {acc.dtype}{acc.shape}"
            )
            raise SimulationError(what, here())
        if scales is None and a.dtype != b.dtype and not (_is_fp8(a.dtype) and _is_fp8(b.dtype)):
            raise SimulationError(f"operands of types {a.dtype} and {b.dtype}", here())

    def tensor_commit(self, bar: Any, two_ctas: bool) -> None:
        """``tcgen05_commit``; with ``two_ctas`` only the even CTA of a pair commits."""
        self.cta.scheduler.step()
        if not (two_ctas and self.cta.rank & 1):
            self.arrive_when_done([bar], two_ctas)

    def tensor_copy(self, src: Any, dst: Any) -> None:
        """``tcgen05.cp``: shared memory into tensor memory, in order with the products of the task."""
        source, target = as_view(src), as_view(dst)
        if source.in_tensor_memory or not target.in_tensor_memory:
            raise SimulationError("tmem_copy goes from shared memory to tensor memory", here())
        if source.nbytes != target.nbytes or source.dtype.primitive_bitwidth != target.dtype.primitive_bitwidth:
            what = f"{source.dtype}{source.shape} does not fit into {target.dtype}{target.shape}"
            raise SimulationError(what, here())
        cta = self.cta
        cta.scheduler.step()
        queue = cta.agent.products
        group = self._enqueue(queue)
        cta.access(source, write=False, kind="tmem_copy", proxy=Proxy.ASYNC, end=(queue.lane, group))
        cta.access(target, write=True, kind="tmem_copy", proxy=Proxy.TENSOR, end=(queue.lane, group))

        def complete() -> None:
            target.array[...] = source.array.reshape(target.array.shape).view(target.array.dtype)

        cta.scheduler.start(Operation("tmem_copy", cta.agent, here(), complete, queue, group))

    def in_tensor_memory(self, x: Any) -> bool:
        """Whether a value is a tile in tensor memory."""
        return getattr(x, "space", None) == "tensor" or (isinstance(x, View) and x.in_tensor_memory)

    def subslice(self, buf: Any, offset: Any, size: Any) -> View:
        """``size`` columns of a tile in tensor memory."""
        view = as_view(buf)
        if not view.in_tensor_memory:
            raise SimulationError("subslice is for tensor memory; use local_slice", here())
        return self.shared_slice(view, [0] * (view.array.ndim - 1) + [offset], [*view.shape[:-1], integer(size)])


def _is_fp8(dtype: Any) -> bool:
    return bool(dtype.is_floating() and dtype.primitive_bitwidth == 8)
