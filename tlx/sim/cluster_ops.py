"""Simulation of what CTAs of a cluster do to each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import triton.language as tl

from .dot_ops import DotOps
from .scheduler import Operation
from .shadow import Proxy
from .shared_ops import as_view
from .sites import Site, here
from .unwrap import integer
from .values import scalar_tensor


class ClusterOps(DotOps):
    """Part of the semantic layer."""

    def cluster_rank(self) -> Any:
        """Rank of the CTA in its cluster."""
        return scalar_tensor(self.cta.rank, tl.int32)

    def cluster_size(self) -> Any:
        """CTAs of the cluster."""
        return scalar_tensor(self.cta.cluster.size, tl.int32)

    def cluster_barrier(self, site: Site | None = None) -> None:
        """All warps of all CTAs of the cluster meet."""
        cta = self.cta
        agent, barrier, line = cta.agent, cta.cluster.barrier, site or here()
        cta.scheduler.step()
        flip = barrier.take_part(agent)
        cta.scheduler.wait(lambda: barrier.flips >= flip, "the cluster barrier", line, None, agent.site)
        agent.learn(*barrier.over)

    def remote_view(self, bar: Any, rank: Any) -> Any:
        """A barrier of another CTA: others can arrive on it, only its own CTA can wait."""
        return self.remote_barrier(bar, rank)

    def remote_store(self, dst: Any, src: Any, rank: Any) -> None:
        """An ordinary store into the memory of another CTA."""
        view = self.cta.peer_view(as_view(dst), integer(rank))
        self.fits(src, view)
        self.cta.scheduler.step()
        self.cta.access(view, write=True, kind="remote store")
        view.array[...] = src.handle.data

    def remote_store_async(self, dst: Any, src: Any, rank: Any, barrier: Any) -> None:
        """A store into the memory of another CTA that lands on a barrier there."""
        view = self.cta.peer_view(as_view(dst), integer(rank))
        bar = self.remote_barrier(barrier, rank)
        self.fits(src, view)
        data: np.ndarray = src.handle.data.copy()
        self.cta.scheduler.step()
        self._land_later("remote store", view, bar, view.nbytes, lambda: data, Proxy.COPY)

    def remote_copy_async(self, dst: Any, src: Any, rank: Any, barrier: Any) -> None:
        """A bulk copy from shared memory into that of another CTA; its bytes land on a barrier there.

        The source is read until that barrier's phase is over, which only a message from there can tell.
        """
        source = as_view(src)
        view = self.cta.peer_view(as_view(dst), integer(rank))
        bar = self.remote_barrier(barrier, rank)
        self.cta.scheduler.step()
        end = (bar.lane, bar.phase + 1)
        self.cta.access(source, write=False, kind="remote copy", proxy=Proxy.ASYNC, end=end)
        self._land_later("remote copy", view, bar, view.nbytes, lambda: source.array.copy(), Proxy.ASYNC)

    def arrive_when_done(self, bars: list[Any], two_ctas: bool) -> None:
        """``tcgen05.commit``: one arrival on each barrier when the task's tcgen05 operations so far have ended.

        With ``two_ctas`` the barriers at the same place in both CTAs of the pair get it.
        """
        cta = self.cta
        agent, queue, site = cta.agent, cta.agent.products, here()
        targets = [self.one_barrier(bar) for bar in bars]
        if two_ctas:
            leader = cta.rank & ~1
            targets = [cta.peer_barrier(bar, rank) for bar in targets for rank in (leader, leader + 1)]
        known, group = (dict(agent.clock), dict(agent.proxied)), queue.issued
        for bar in targets:
            cta.visit(bar.cta, queue.lane, group, bar.site)

        def complete() -> None:
            for bar in targets:
                self.arrive_by_unit(bar, queue, group, known, site)

        agent.tick()
        cta.scheduler.start(Operation("tcgen05 commit", agent, site, complete, queue, group))
