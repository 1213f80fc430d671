"""Cluster launch control: a running cluster takes over the work of one that has not started (Blackwell)."""

from __future__ import annotations

from typing import Any

import triton.language as tl
from triton.language.core import base_type, base_value

from .barriers import alloc_barriers, barrier_arrive, barrier_expect_bytes, barrier_wait
from .buffers import local_view
from .builtin import builtin, constant, unwrap
from .copies import fence
from .types import _SharedType, _SharedValue, mbarrier, mbarrier_type

#: bytes of one response
_RESPONSE = 16


class clc_response_type(_SharedType):
    """Type of a ``clc_response``: 16 bytes in shared memory for each slot."""

    tag = "clc"

    def wrap(self, handle: Any) -> clc_response:
        """A response of this type around an IR handle."""
        return clc_response(handle, self)


class clc_response(_SharedValue):
    """An array of ``num`` answers of the hardware, or one of them (``num == 0``)."""


class CLCPipelineContextType(base_type):  # type: ignore[misc]
    """Type of a ``CLCPipelineContext``."""

    def __init__(self, empty: mbarrier_type, full: mbarrier_type, responses: clc_response_type) -> None:
        self.parts = (empty, full, responses)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CLCPipelineContextType) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(self.parts)

    def __repr__(self) -> str:
        return f"clc_context<{self.parts[0].num}>"

    def mangle(self) -> str:
        """A text for names of specialised helper functions."""
        return "clc_" + "_".join(part.mangle() for part in self.parts)

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        for part in self.parts:
            part._flatten_ir_types(builder, out)

    def _unflatten_ir(self, handles: list[Any], cursor: int) -> tuple[Any, int]:
        values = []
        for part in self.parts:
            value, cursor = part._unflatten_ir(handles, cursor)
            values.append(value)
        return CLCPipelineContext(*values), cursor


class CLCPipelineContext(base_value):  # type: ignore[misc]
    """Barriers and responses of a ring of requests, as ``clc_create_context`` makes it."""

    def __init__(self, clc_mbars_empty: mbarrier, clc_mbars_full: mbarrier, clc_responses: clc_response) -> None:
        self._clc_mbars_empty = clc_mbars_empty
        self._clc_mbars_full = clc_mbars_full
        self._clc_responses = clc_responses
        self.handle = None
        self.type = CLCPipelineContextType(clc_mbars_empty.type, clc_mbars_full.type, clc_responses.type)

    def _flatten_ir(self, handles: list[Any]) -> None:
        for part in (self._clc_mbars_empty, self._clc_mbars_full, self._clc_responses):
            part._flatten_ir(handles)

    def _set_name(self, builder: Any, name: str) -> None:
        pass


@builtin
def _alloc_clc_responses(num_responses: int, _semantic: Any = None) -> clc_response:
    """``num_responses`` places of 16 bytes in shared memory for answers of the hardware."""
    return _semantic.clc_alloc(constant(num_responses, "num_responses"))  # type: ignore[no-any-return]


@builtin
def _clc_issue(
    clc_response_addr: clc_response, barrier: mbarrier, multi_ctas: bool = False, _semantic: Any = None
) -> None:
    """Asks for the work of a cluster that has not started; 16 bytes arrive in every CTA of this cluster."""
    _semantic.clc_try_cancel(clc_response_addr, barrier, bool(unwrap(multi_ctas)))


@builtin
def _clc_query(clc_response_addr: clc_response, _semantic: Any = None) -> Any:
    """The answer: program ids (x, y, z) of this CTA in the cluster taken over, or (-1, -1, -1)."""
    return tl.tuple(_semantic.clc_query(clc_response_addr))


@builtin
def clc_create_context(num_consumers: int, num_stages: int = 1, _semantic: Any = None) -> CLCPipelineContext:
    """A ring of requests for further tiles.

    Args:
        num_consumers: arrivals that free a stage: tasks that call ``clc_consumer``, times the CTAs of a cluster.
        num_stages: requests that may be under way.
    """
    return CLCPipelineContext(
        alloc_barriers(num_barriers=num_stages, arrive_count=num_consumers, _semantic=_semantic),
        alloc_barriers(num_barriers=num_stages, _semantic=_semantic),
        _alloc_clc_responses(num_stages, _semantic=_semantic),
    )


@builtin
def clc_producer(
    context: CLCPipelineContext, p_producer: Any = None, multi_ctas: bool = False, k: Any = 0, _semantic: Any = None
) -> None:
    """Waits until stage ``k`` is free and asks for the next tile. One task calls it, once for each tile, before the
    tile's work.

    Args:
        context: from ``clc_create_context``.
        p_producer: parity to wait for; starts at 1.
        multi_ctas: the CTAs of a cluster share tiles; the first asks for all.
        k: stage.
    """
    empty = local_view(context._clc_mbars_empty, k, _semantic=_semantic)
    full = local_view(context._clc_mbars_full, k, _semantic=_semantic)
    first = _semantic.is_first_cta() if unwrap(multi_ctas) else None
    barrier_wait(empty, p_producer, first, _semantic=_semantic)
    barrier_expect_bytes(full, _RESPONSE, _semantic=_semantic)
    response = local_view(context._clc_responses, k, _semantic=_semantic)
    _clc_issue(response, full, multi_ctas, _semantic=_semantic)


@builtin
def clc_consumer(
    context: CLCPipelineContext,
    p_consumer: Any = None,
    multi_ctas: bool = False,
    k: Any = 0,
    return_3d: bool = False,
    _semantic: Any = None,
) -> Any:
    """Waits for the answer in stage ``k`` and frees the stage. Every task of every CTA that works on tiles calls it.

    Args:
        context: from ``clc_create_context``.
        p_consumer: parity to wait for; starts at 0.
        multi_ctas: arrive at the first CTA of the cluster, which asks.
        k: stage.
        return_3d: return all three program ids.

    Returns:
        The tile (first program id plus the rank in the cluster), or -1 when there is no more work; an i32.
    """
    empty = local_view(context._clc_mbars_empty, k, _semantic=_semantic)
    full = local_view(context._clc_mbars_full, k, _semantic=_semantic)
    barrier_wait(full, p_consumer, _semantic=_semantic)
    tile = _clc_query(local_view(context._clc_responses, k, _semantic=_semantic), _semantic=_semantic)
    fence("async_shared", _semantic=_semantic)
    # After the last answer nobody waits for the stage, and the asking CTA may be gone.
    more = tile[0].__ge__(0, _semantic=_semantic)
    barrier_arrive(empty, 1, 0 if unwrap(multi_ctas) else None, more, _semantic=_semantic)
    return tile if unwrap(return_3d) else tile[0]
