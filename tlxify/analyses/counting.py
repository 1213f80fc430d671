"""Counting programs: whether those of a grid take every tile of a result exactly once, tried out on many sizes.

The tile's number is a polynomial of the program ids (quotients, remainders and minima among them). Where each of two
ids is a number, nothing is left to try.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence

from ..contract import ContractFault, evaluate
from ..poly import Poly, Symbol

#: Tiles along rows and columns.
COUNTS = ((1, 1), (1, 3), (3, 1), (2, 5), (5, 2), (4, 9), (9, 4), (17, 2), (3, 19), (8, 8), (11, 7))

#: (size, length of a tile, number of the tile) along one axis.
Numbered = tuple[str, str, Poly]


def covers(tiles: Sequence[Numbered], grid: Sequence[str | None], constants: Mapping[str, object]) -> bool:
    """Whether the programs of a grid take each tile once.

    `grid` are expressions over the sizes and lengths of `tiles` and `constants`; None for an axis that numbers no
    tiles. What cannot be computed from these is not known to cover anything.
    """
    if _direct(tiles, grid):
        return True
    rows, columns = tiles
    if rows[0] == columns[0]:
        return False
    for down, across in COUNTS:
        known = dict(constants)
        for (size, length, _), count in ((rows, down), (columns, across)):
            step = known.get(length)
            if not isinstance(step, int) or not size.isidentifier():
                return False
            known[size] = count * step - (count + 1) % 3
        try:
            extents = [1 if text is None else evaluate(text, known) for text in grid]
            found = [_numbers(tiles, ids, known) for ids in itertools.product(*map(range, extents))]
        except (ContractFault, ValueError, SyntaxError):
            return False
        wanted = {(i, j) for i in range(down) for j in range(across)}
        if len(found) != len(wanted) or set(found) != wanted:
            return False
    return True


def _direct(tiles: Sequence[Numbered], grid: Sequence[str | None]) -> bool:
    """Each tile number is a program id of its own, and the grid has as many programs as there are tiles."""
    axes = []
    for size, length, number in tiles:
        axis = next((a for a in range(len(grid)) if number == Poly.of(Symbol(f"tl.program_id({a})"))), None)
        if axis is None or grid[axis] != f"cdiv({size}, {length})":
            return False
        axes.append(axis)
    return len(set(axes)) == len(axes)


def _numbers(tiles: Sequence[Numbered], ids: Sequence[int], known: Mapping[str, object]) -> tuple[int, ...]:
    """The tile of one program. Raises as `evaluate` does, SyntaxError as well, for a scalar that is not known."""
    values = {**known, **{f"program_{axis}": number for axis, number in enumerate(ids)}}
    return tuple(evaluate(re.sub(r"tl\.program_id\((\d)\)", r"program_\1", n.text()), values) for _, _, n in tiles)
