"""Lowering of cluster launch control."""

from __future__ import annotations

from typing import Any

import triton.language as tl
from triton.experimental.gluon.language import _core as ttgl
from triton.experimental.gluon.language._layouts import SwizzledSharedLayout

from ..builtin import TLXError, described
from ..clc import clc_response, clc_response_type
from . import versions
from .clusters import ClusterSemantic

_MULTICAST = (
    "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 "
    "[$0], [$1];"
)


class ClcSemantic(ClusterSemantic):
    """Requests for further work, and their answers."""

    def _clc(self, what: str) -> None:
        self._needs_blackwell(what)
        if not versions.CLC:
            raise TLXError(versions.too_old(what, versions.CLC_SINCE))

    def clc_alloc(self, num: int) -> clc_response:
        """Places for answers."""
        self._clc("cluster launch control")
        layout = SwizzledSharedLayout(vec=1, per_phase=1, max_phase=1, order=[0])
        shape = [num, 2]
        raw = ttgl.allocate_shared_memory(ttgl.int64, shape, layout, _semantic=self)
        fresh = clc_response(raw.handle, clc_response_type(ttgl.int64, [2], num, layout, shape))
        fresh.owns = True
        return fresh

    def _response(self, value: Any) -> Any:
        if not isinstance(value, clc_response) or value.num:
            raise TLXError(f"a request for work takes one clc_response, responses[k], not {described(value)}")
        return value.gluon()

    def clc_try_cancel(self, response: Any, bar: Any, multi_ctas: bool) -> None:
        """try_cancel by one thread, for this CTA or for the whole cluster."""
        self._clc("cluster launch control")
        target, signal = self._response(response), self._single(bar, "_clc_issue").gluon()
        if multi_ctas and self.cluster_size > 1:
            self.meet()
            self.by_one_thread(_MULTICAST, "r,r", [target.handle, signal.handle], self.is_first_cta())
        else:
            versions.clc_try_cancel(target, signal, self)

    def clc_query(self, response: Any) -> list[Any]:
        """Program ids of the cluster taken over."""
        self._clc("cluster launch control")
        answer = versions.clc_load(self._response(response), self)
        taken = answer.is_canceled(_semantic=self)
        ids = [answer.program_id(axis, _semantic=self) for axis in range(3)]
        ids[0] = ids[0].__add__(self.cluster_rank(), _semantic=self)
        none = self.to_tensor(-1)
        return [self.where(taken, self.cast(index, tl.int32), self.cast(none, tl.int32)) for index in ids]
