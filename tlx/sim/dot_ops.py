"""Simulation of wgmma: dots that run behind their task's back until it waits for them."""

from __future__ import annotations

from typing import Any

import triton.language as tl

from . import numerics
from .copy_ops import CopyOps
from .findings import ResultBeforeRetire
from .report import SimulationError
from .scheduler import Operation
from .shadow import Proxy
from .shared import Buffer, View
from .shared_ops import as_view
from .sites import Site, here
from .values import InFlight, value


def _operand(x: Any) -> tuple[list[int], Any]:
    return (x.shape, x.dtype) if isinstance(x, View) else (list(x.type.shape), x.dtype)


class DotOps(CopyOps):
    """Part of the semantic layer."""

    def wgmma(self, a: Any, b: Any, acc: Any, precision: str | None, out_dtype: Any, generator: Any = None) -> Any:
        """Starts ``acc + a @ b`` and returns a value that is not valid yet."""
        left = as_view(a) if isinstance(a, (View, Buffer)) else a
        right = as_view(b)
        (left_shape, left_dtype), (right_shape, right_dtype) = _operand(left), _operand(right)
        if left_dtype != right_dtype or len(left_shape) != 2 or left_shape[1] != right_shape[0]:
            what = f"operands {left_dtype}{left_shape} and {right_dtype}{right_shape} do not multiply"
            raise SimulationError(what, here())
        dtype = tl.int32 if left_dtype.is_int() else out_dtype
        shape = [left_shape[0], right_shape[1]]
        if acc is not None and (list(acc.type.shape) != shape or acc.dtype != dtype):
            raise SimulationError(f"the accumulator is {acc.type}, the product {dtype}{shape}", here())

        cta = self.cta
        cta.scheduler.step()
        queue = cta.agent.dots
        group = self._enqueue(queue)
        for view in (left, right):
            if isinstance(view, View):
                cta.access(view, write=False, kind="async_dot", proxy=Proxy.ASYNC, end=(queue.lane, group))
        # Registers are read at issue: an operand must be valid, only the accumulator may still be in flight.
        fixed = None if isinstance(left, View) else left.handle.data
        start = None if acc is None else acc.handle
        site = here()
        result = InFlight(dtype, tuple(shape), group, lambda handle: self._read_early(handle, site))
        kind, tf32 = self.builder.kind(dtype), self.builder.tf32 and precision != "ieee"

        def complete() -> None:
            x = left.array if fixed is None else fixed
            before = start.result if isinstance(start, InFlight) else None if start is None else start.data
            result.result = numerics.dot(x, right.array, before, kind, tf32)

        flop = 2.0 * left_shape[0] * left_shape[1] * right_shape[1]
        cta.scheduler.start(Operation("async_dot", cta.agent, site, complete, queue, group, flop))
        return tl.tensor(result, tl.block_type(dtype, shape))

    def _read_early(self, handle: InFlight, issued: Site) -> None:
        retired = handle.group <= self.cta.agent.dots.retired
        how = "was waited for, but not through this value" if retired else "has not been waited for"
        self.cta.found(ResultBeforeRetire, f"the result of a dot is used that {how}", other=issued)

    def wgmma_wait(self, pendings: int, inp: Any) -> Any:
        """Waits until at most ``pendings`` dots are under way and hands ``inp`` on, valid if its dot is over."""
        queue = self.cta.agent.dots
        self._drain(queue, pendings, "dots")
        handle = getattr(inp, "handle", None)
        if isinstance(handle, InFlight) and handle.group <= queue.retired and handle.result is not None:
            return tl.tensor(value(handle.result, handle.dtype), inp.type)
        return inp
