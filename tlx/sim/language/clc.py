"""Cluster launch control."""

from __future__ import annotations

from typing import Any

from ..unwrap import integer, plain
from .register import name


@name
def clc_create_context(num_consumers: Any, num_stages: Any = 1, _semantic: Any = None) -> Any:
    """Barriers and responses for ``num_stages`` tiles asked for ahead."""
    return _semantic.clc_context(integer(num_consumers), integer(num_stages))


@name
def clc_producer(
    context: Any, p_producer: Any = None, multi_ctas: bool = False, k: Any = 0, _semantic: Any = None
) -> None:
    """Asks for the next tile; ``p_producer`` is the phase of the empty barrier."""
    _semantic.clc_produce(context, p_producer, bool(plain(multi_ctas)), k)


@name
def clc_consumer(
    context: Any,
    p_consumer: Any = None,
    multi_ctas: bool = False,
    k: Any = 0,
    return_3d: bool = False,
    _semantic: Any = None,
) -> Any:
    """The next tile (x, or all three with ``return_3d``), or -1; ``p_consumer`` is the phase of the full barrier."""
    tile = _semantic.clc_consume(context, p_consumer, bool(plain(multi_ctas)), k)
    return tile if plain(return_3d) else tile[0]


@name
def _alloc_clc_responses(num_responses: Any, _semantic: Any = None) -> Any:
    """Room for responses."""
    return _semantic.clc_responses(integer(num_responses))


@name
def _clc_issue(clc_response_addr: Any, barrier: Any, multi_ctas: bool = False, _semantic: Any = None) -> None:
    """Asks for a cluster that has not been launched."""
    _semantic.clc_issue(clc_response_addr, barrier)


@name
def _clc_query(clc_response_addr: Any, _semantic: Any = None) -> Any:
    """What a response says."""
    return _semantic.clc_query(clc_response_addr)
