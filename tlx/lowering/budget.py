"""Memory that a kernel needs at one time, against what an SM has.

Buffers that tasks of one region use are all alive while it runs, so their sum is a lower bound, known before anything
is compiled. What other buffers need is known after allocation only, which puts what is not alive at the same time in
the same place.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..builtin import TLXError
from ..types import _SharedValue, storage_kind
from . import irtext
from .state import current

#: columns of 32 bits by 128 lanes in the tensor memory of an SM
TENSOR_COLUMNS = 512
#: bytes of shared memory that one CTA can have, by the leading digits of the compute capability
_SHARED = {7: 65536, 8: 101376, 9: 232448, 10: 232448, 11: 232448, 12: 101376}

_ROWS = re.compile(r"!ttg\.memdesc<(?:\d+x)*?(\d+)x\d+x[a-z]\w*,")
_NAMED = re.compile(r"\s*(\w+)\s*=[^=].*alloc")


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


def overdrawn(kernel: str, compiled: Any, capability: int) -> TLXError | None:
    """What to say of a compiled kernel that needs more than there is, or None: at its largest buffer, with all of
    them.
    """
    metadata, text = compiled.metadata, compiled.asm.get("ttgir", "")
    limit = shared_limit(capability)
    if metadata.shared > limit:
        need = f"{metadata.shared} bytes of shared memory, sm_{capability} has {limit}"
        buffers = sorted(_allocated(text, "ttg.local_alloc"), key=lambda each: -each[1])
    elif (columns := getattr(metadata, "tmem_size", 0) or 0) > TENSOR_COLUMNS:
        need = f"{columns} columns of tensor memory, an SM has {TENSOR_COLUMNS}"
        buffers = sorted(_allocated(text, "ttng.tmem_alloc"), key=lambda each: -each[1])
    else:
        return None
    places = irtext.Places(text)
    found = [(place, _called(place, size)) for op, size in buffers if (place := places.of(op)) is not None]
    each = ": " + ", ".join(told for _, told in found) if found else ""
    message = f"{kernel} needs {need}{each}. Take fewer stages or smaller tiles, or reuse"
    return irtext.refuse(found[0][0] if found else None, message)


def _allocated(text: str, code: str) -> Iterator[tuple[irtext.Op, int]]:
    """The buffers of a printed module, with the bytes or columns that each takes."""
    for op in irtext.parse(text):
        if not isinstance(op, irtext.Op) or op.code != code:
            continue
        size = irtext.tile_bytes(op.text) or 0
        if code == "ttng.tmem_alloc":
            rows = _ROWS.search(op.text)
            size = -(-size // (4 * int(rows[1]))) if rows else 0
        yield op, size


def _called(place: irtext.Place, size: int) -> str:
    """A buffer by the name that its line gives it, if it gives one."""
    lines = Path(place.file).read_text(encoding="utf-8").splitlines() if Path(place.file).is_file() else []
    named = _NAMED.match(lines[place.line - 1]) if place.line <= len(lines) else None
    return f"{named[1]} {size} (line {place.line})" if named else f"{size} (line {place.line})"
