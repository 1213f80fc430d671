"""What moves a tile as a whole: parts of a scalar offset that step by a stride of their own."""

from __future__ import annotations

from ..facts import Dimension
from ..poly import Monomial, Poly, Symbol


def batches(rest: Poly, tiles: frozenset[Symbol]) -> tuple[Poly, list[Dimension]]:
    """(what is left, one dimension without an axis per stride): takes `index × stride` out of a scalar part.

    A product with nothing fixed but tile lengths in it moves along an axis of the tile, not along a batch. A constant
    number of strides belongs to what moves by that stride.
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
    found = {stride: Poly.build(terms) for stride, terms in strides.items()}
    rest = Poly.build(left)
    # `(last - 1) * H * K`: what is fixed goes along with what moves by the same stride, the longest first.
    for stride in sorted(found, key=lambda stride: -len(stride.terms[0][0])):
        more, _ = rest.divide(stride)
        steps = Poly.build((m, c) for m, c in more.terms if not m)
        found[stride] += steps
        rest -= steps * stride
    return rest, [Dimension(stride, coordinate, None, None) for stride, coordinate in found.items()]
