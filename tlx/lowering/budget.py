"""Memory that a kernel needs at one time, against what an SM has.

Buffers that tasks of one region use are all alive while it runs, so their sum is a lower bound, known before anything
is compiled. What other buffers need is known after allocation only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..types import _SharedValue, storage_kind
from .state import current

#: columns of 32 bits by 128 lanes in the tensor memory of an SM
TENSOR_COLUMNS = 512
#: bytes of shared memory that one CTA can have, by the leading digits of the compute capability
_SHARED = {7: 65536, 8: 101376, 9: 232448, 10: 232448, 11: 232448, 12: 101376}


def shared_limit(capability: int) -> int:
    """Bytes of shared memory for one CTA."""
    return 166912 if capability in (80, 87) else _SHARED.get(capability // 10, 232448)


def _size(value: _SharedValue) -> int:
    ty = value.type
    return int(math.prod(ty.alloc_shape) * ty.element_ty.primitive_bitwidth // 8)


def exceeded(captured: Mapping[str, Any]) -> str | None:
    """Why the buffers that tasks share cannot all exist at one time, or None if they can.

    Views and buffers that take over memory of others are not counted: they own none.
    """
    shared, tensor = {}, {}
    for name, value in captured.items():
        if not isinstance(value, _SharedValue) or not getattr(value, "owns", False):
            continue
        if getattr(value.type, "storage", None) is storage_kind.tmem:
            tensor[name] = value.type.columns
        else:
            shared[name] = _size(value)
    capability = current().capability
    limit = shared_limit(capability)
    if sum(shared.values()) > limit:
        return _message(shared, f"bytes of shared memory at the same time, sm_{capability} has {limit}")
    if sum(tensor.values()) > TENSOR_COLUMNS:
        return _message(tensor, f"columns of tensor memory at the same time, an SM has {TENSOR_COLUMNS}")
    return None


def _message(sizes: Mapping[str, int], what: str) -> str:
    largest = sorted(sizes.items(), key=lambda item: -item[1])
    each = ", ".join(f"{name} {size}" for name, size in largest)
    return f"these buffers need {sum(sizes.values())} {what}: {each}. Take fewer stages or smaller tiles, or reuse"
