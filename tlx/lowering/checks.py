"""What can only be judged after the optimiser has chosen layouts, but should still be said in the user's terms."""

from __future__ import annotations

import re
from typing import Any

from . import choices, expectations, flights, irtext, named, slots

_COPY = "ttg.async_copy_global_to_local"
_BLOCKED = re.compile(r"^(#\w+) = #ttg\.blocked<\{sizePerThread = \[([\d, ]+)\].*?order = \[(\d+)", re.M)
_TRANSPOSED = re.compile(r"^(#\w+) = #ttg\.nvmma_shared<\{[^}]*transposed = true", re.M)
_TARGET = re.compile(r"-> <[\dx]+x\w+, (#\w+)")
_SOURCE = re.compile(r": tensor<[\dx]*!tt\.ptr<\w*?(\d+)\w*>, (#\w+)>.*?loc\((#loc\d*)\)")


def copy_widths(module: Any) -> None:
    """Every cp.async moves 4, 8 or 16 bytes a thread.

    Masks can narrow a copy further; Triton's own lowering reports those.

    Raises:
        TLXError: a layout gives a thread less, naming the line of the ``async_load``.
    """
    text = str(module)
    if _COPY not in text:
        return
    contiguous = {m[1]: int(m[2].split(",")[int(m[3])]) for m in _BLOCKED.finditer(text)}
    fastest = {m[1]: int(m[3]) for m in _BLOCKED.finditer(text)}
    transposed = {m[1] for m in _TRANSPOSED.finditer(text)}
    places = irtext.Places(text)
    for line in text.splitlines():
        found = _SOURCE.search(line) if _COPY in line else None
        if found is None or found[2] not in contiguous:
            continue
        width = int(found[1]) // 8
        size = contiguous[found[2]] * width
        target = _TARGET.search(line)
        if width < 4 <= size and target is not None and target[1] in transposed and fastest[found[2]] != 0:
            raise irtext.refuse(
                places.resolve(found[3]),
                f"this async_load writes {width} bytes at a time, since its tile is transposed and its addresses are "
                "contiguous along the other axis: cp.async needs at least 4",
            )
        if size < 4:
            raise irtext.refuse(
                places.resolve(found[3]),
                f"this async_load can copy only {size} bytes per thread, cp.async needs at least 4 bytes: make the "
                "addresses contiguous along one dimension, and let Triton know their alignment",
            )


def protocol(module: Any) -> None:
    """Rules about barriers and products in flight, on the module before anything is optimised.

    Raises:
        TLXError: at the user's line.
    """
    text = str(module)
    flights.check(text)
    expectations.check(text)
    named.check(text)


def constants(module: Any) -> None:
    """Rules about constants, on a folded module.

    Raises:
        TLXError: at the user's line.
    """
    text = str(module)
    choices.check(text)
    slots.check(text)
