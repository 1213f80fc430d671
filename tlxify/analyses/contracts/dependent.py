"""Which sizes a launch does not choose: they follow from tiles, from others, or from how far rows lie apart."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ...facts import Facts
from ...parse.launches import CallSite
from ..texts import words
from .extents import Extents
from .pitches import pitches
from .relations import relations, solved
from .tensors import Tensors


def dependent(
    facts: Facts,
    extents: Extents,
    tensors: Tensors,
    sites: tuple[CallSite, ...],
    tiles: set[str],
    *,
    driven: set[str],
    fixed: Collection[str],
    covering: Mapping[str, str],
    trips: str | None,
) -> dict[str, str]:
    """Expressions for names that follow from others; those that nothing holds are free sizes.

    Args:
        facts, extents, tensors: of the kernel.
        sites: its launches.
        tiles: lengths of axes: they follow from nothing.
        driven: sizes that tiles say, rows and columns of the result and what counts trips.
        fixed: other names that follow from nothing: chosen strides, pointers that are None.
        covering: sizes that one tile covers, with the tile.
        trips: the size that counts trips of the dot loop.
    """
    given = tuple(solved((pair for site in sites for pair in site.computed), tiles, driven))
    found = {**covering, **tensors.tied}
    for name, expression in relations(facts, extents, tiles, given).items():
        if name not in driven and name not in fixed:
            found.setdefault(name, expression)
    for name, expression in given:
        if name not in driven and name not in fixed and not words([expression]) & found.keys():
            found.setdefault(name, expression)
    views = (view for views in tensors.views.values() for view in views)
    told = {size: text for size, text in pitches(views, tensors.sizes, tensors.chosen).items() if size != trips}
    # What follows from a size that itself follows from a pitch is what the pitch is made of.
    return {name: text for name, text in found.items() if not words([text]) & told.keys()} | told
