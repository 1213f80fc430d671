"""Masks that no descriptor can express: the TMA brings the whole tile, and the consumers mask it in registers.

A row that ends where memory says, a condition beside the bounds, another value than zero past the end: the source's own
mask stays, on the tile in registers. What the mask keeps the source from reading, the TMA reads, so it must all lie in
memory: each axis ends where a bound that the launch tells says, or else, one of them, where the tensor's storage does.
"""

from __future__ import annotations

from dataclasses import replace

from ..diagnostics import Decline
from ..facts import Access, Dimension, Facts, Load
from . import requirements

#: What a mask in registers is the remedy for: conditions beside bounds, what stands past the end, ends known too late.
_BY_MASK = frozenset({"TLX204", "TLX205", "TLX211"})


def within_memory(facts: Facts, load: Load, refusal: Decline, final: Decline) -> Access:
    """The tile to load where the mask is the consumers' matter. Raises the `final` refusal where it cannot be."""
    if refusal.diagnostic.code not in _BY_MASK or load.mask_reads is None or load.parts:
        raise final
    others = {diagnostic.code for span, diagnostic in facts.problems if span == load.span}
    access = facts.access(load.span)
    if access is None or access.gathered or others - _BY_MASK or any(d.waived or d.whole for d in access.dimensions):
        raise final
    requirements.movable(facts, load)
    ended = tuple(replace(d, harmless=d.limit is not None) for d in access.dimensions)
    if access.partial:
        # Where the mask does not hold, nothing says that what the address is made of is meant to be one.
        ended = tuple(map(_to_end, ended))
    return replace(access, dimensions=ended, partial=False)


def _to_end(dimension: Dimension) -> Dimension:
    """The dimension, if nothing bounds it, with an end that is not known before the memory ends."""
    if dimension.extent is not None or dimension.limit is not None:
        return dimension
    return replace(dimension, limit=dimension.coordinate, harmless=True)
