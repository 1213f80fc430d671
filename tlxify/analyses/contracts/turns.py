"""How many programs take rows in turns: any number does, and few show what each of them does after its first row.

`min(132 * 4, n_rows)` are as many as the chip has room for. A launch that is small enough to be simulated would have a
program for each row, and the loop over `tl.num_programs(0)` would never go round.
"""

from __future__ import annotations

import ast

from ...facts import Facts
from ..texts import words

#: As many as have neighbours, and are no power of two.
PROGRAMS = 3


def taken_in_turns(facts: Facts, grid: tuple[str, ...]) -> tuple[str, ...]:
    """The grid with a few programs along each axis in the place of such a number.

    Kernels with a dot keep theirs: how many programs a chip takes is for their conversion to say.
    """
    steps = [loop.step for loop in facts.loops if loop.step is not None]
    asked = {symbol.name for step in steps for symbol in step.symbols} if not facts.dots else set()
    return tuple(_few(text) if f"tl.num_programs({axis})" in asked else text for axis, text in enumerate(grid))


def _few(text: str) -> str:
    if not words([text]):
        return str(PROGRAMS)
    match ast.parse(text, mode="eval").body:
        case ast.Call(func=ast.Name(id="min"), args=[one, other]):
            sizes = [each for each in map(ast.unparse, (one, other)) if words([each])]
            return f"min({PROGRAMS}, {sizes[0]})" if len(sizes) == 1 else text
    return text
