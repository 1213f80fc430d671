"""Simulation of cluster launch control: a running cluster takes over the tiles of one that has not been launched yet.

The simulated machine launches one cluster at a time, so the first one can take over all others; this is one of the
schedules that hardware may choose.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import triton.language as tl

from .barriers import MBarrierArray
from .shadow import Proxy
from .shared import Buffer
from .shared_ops import as_view
from .tensor_ops import TensorOps
from .values import scalar_tensor

#: bytes of a response
RESPONSE = 16


class ClcContext:
    """What ``clc_create_context`` returns."""

    def __init__(self, clc_mbars_empty: MBarrierArray, clc_mbars_full: MBarrierArray, clc_responses: Buffer) -> None:
        self._clc_mbars_empty = clc_mbars_empty
        self._clc_mbars_full = clc_mbars_full
        self._clc_responses = clc_responses


class ClcOps(TensorOps):
    """Part of the semantic layer."""

    def clc_responses(self, num: int) -> Buffer:
        """Room for ``num`` responses."""
        return self.shared_alloc([RESPONSE // 4], tl.int32, num, None)

    def clc_context(self, consumers: int, stages: int) -> ClcContext:
        """Barriers and responses of a pipeline."""
        empty = self.mbarrier_alloc(stages, consumers, False)
        return ClcContext(empty, self.mbarrier_alloc(stages, 1, False), self.clc_responses(stages))

    def clc_issue(self, response: Any, barrier: Any) -> None:
        """``try_cancel``: asks for a cluster; the answer lands in every CTA of this one. Rank 0 alone asks."""
        cta = self.cta
        cta.scheduler.step()
        if cta.rank:
            return
        answer: list[np.ndarray] = []

        def ask() -> np.ndarray:
            if not answer:
                first = cta.cluster.claim()
                answer.append(np.array([*first, 1] if first is not None else [-1, -1, -1, 0], np.int32))
            return answer[0]

        own, bar = as_view(response), self.one_barrier(barrier)
        for rank in range(cta.cluster.size):
            self._land_later(
                "try_cancel", cta.peer_view(own, rank), cta.peer_barrier(bar, rank), RESPONSE, ask, Proxy.ASYNC
            )

    def clc_query(self, response: Any) -> tuple[Any, Any, Any]:
        """The program id that an answer holds, x moved on by the CTA's rank; all -1 if there was none."""
        view = as_view(response)
        self.cta.scheduler.step()
        self.cta.access(view, write=False, kind="query")
        x, y, z, taken = (int(number) for number in view.array)
        first = x + self.cta.rank if taken == 1 else x
        return scalar_tensor(first, tl.int32), scalar_tensor(y, tl.int32), scalar_tensor(z, tl.int32)

    def clc_produce(self, context: ClcContext, phase: Any, multi_ctas: bool, stage: Any) -> None:
        """Asks for the next tile once all consumers have read the answer before."""
        empty, full = context._clc_mbars_empty[stage], context._clc_mbars_full[stage]
        if not multi_ctas or self.cta.rank == 0:
            self.mbarrier_wait(empty, phase)
        self.mbarrier_expect(full, RESPONSE)
        self.clc_issue(context._clc_responses[stage], full)

    def clc_consume(self, context: ClcContext, phase: Any, multi_ctas: bool, stage: Any) -> tuple[Any, Any, Any]:
        """Reads the next tile and, unless there is none, tells the producer so."""
        self.mbarrier_wait(context._clc_mbars_full[stage], phase)
        tile = self.clc_query(context._clc_responses[stage])
        self.memory_fence("async_shared")
        if tile[0].handle.value >= 0:
            self.mbarrier_arrive(context._clc_mbars_empty[stage], 1, rank=0 if multi_ctas else None)
        return tile
