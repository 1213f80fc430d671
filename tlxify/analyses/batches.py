"""What moves a tile as a whole: parts of a scalar offset that step by a stride of their own."""

from __future__ import annotations

from ..facts import Dimension
from ..poly import Monomial, Poly, Symbol


def batches(rest: Poly, tiles: frozenset[Symbol]) -> tuple[Poly, list[Dimension]]:
    """(what is left, one dimension without an axis per stride): takes `index × stride` out of a scalar part.

    A product with nothing fixed but tile lengths in it moves along an axis of the tile, not along a batch.
    """
    left: list[tuple[Monomial, int]] = []
    strides: dict[Poly, list[tuple[Monomial, int]]] = {}
    for monomial, coefficient in rest.terms:
        fixed = tuple(s for s in monomial if s.launch)
        moving = tuple(s for s in monomial if not s.launch)
        if not moving or not fixed or all(s in tiles for s in fixed):
            left.append((monomial, coefficient))
        else:
            strides.setdefault(Poly.build([(fixed, 1)]), []).append((moving, coefficient))
    return Poly.build(left), [Dimension(stride, Poly.build(terms), None, None) for stride, terms in strides.items()]
