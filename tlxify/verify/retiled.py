"""Whether the source gives the same results under other tiles: what configs of our own rest on.

That nothing depends on the tiles was proved on the text before any were added (analyses/tiling.py); here it is tried.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..contract import Contract
from ..verdict import Evidence, Rung
from .buffers import Inapplicable
from .cases import Case
from .compare import compare_memory
from .oracle import NoLaunch, SourceFails, reference
from .sizing import SMALL_ROWS, SMALL_TILE, base_case


def retiled_case(contract: Contract) -> tuple[Case, Case] | None:
    """One launch under two ways to cut its result up, neither a multiple of the other; None without tiles of ours."""
    tiles = [tile for _, tile in contract.tiled]
    if not contract.added or len(tiles) < 2:
        return None
    case = base_case(contract, 0)
    # As many trips, and the sizes that were there: more tiles one way and fewer the other.
    turned = {**dict(case.tiles), tiles[0]: SMALL_TILE, tiles[1]: SMALL_ROWS}
    return case, replace(case, name="other tiles", tiles=tuple(turned.items()))


def retiled(source: Any, contract: Contract, file: str) -> Evidence | None:
    """What the source computes otherwise under other tiles; None where it does not."""
    pair = retiled_case(contract)
    if pair is None:
        return None
    try:
        usual, other = (reference(source, contract, case) for case in pair)
    except (NoLaunch, Inapplicable, SourceFails):
        return None  # a finding of the launches that are tried anyway
    for name, memory in usual.outputs.items():
        found, exact = other.outputs[name], None if usual.exact is None else usual.exact[name]
        comparison = compare_memory(found, memory, exact)
        if comparison.mismatch is not None:
            text = f"the source itself depends on its tiles: {comparison.mismatch}; convert it with --tiles user"
            return Evidence(Rung.SIMULATED, False, "retiled", text, f"with {pair[0]} and {pair[1]}", file, 0)
    return None
