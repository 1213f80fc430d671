"""Blocks of indices that pick rows of other memory, and numbers that they are compared with.

Launches of our own must not index past anything: there are as many rows to pick from as there are indices. Where rows
are stored to, no row is picked twice: which program stores last, nobody could say. Atomics are made for rows that are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...contract import Drawn
from ...facts import Facts
from .integers import symbols_in


def indices(facts: Facts) -> dict[str, Drawn]:
    """The pointers through which blocks of indices are read, and how those must be drawn."""
    stored = {store.span for store in facts.stores if store.kind == "store"}
    loads = {load.symbol: load.pointer for load in facts.loads if load.axes and load.symbol is not None}
    found: dict[str, Drawn] = {}
    for span, access in facts.accesses:
        for d in access.dimensions:
            for symbol in symbols_in(d.coordinate):
                pointer = loads.get(symbol)
                if pointer is not None and (span in stored or pointer not in found):
                    found[pointer] = "distinct" if span in stored else "between"
    return found


#: How many indices lie beyond the number that says which count.
BEYOND = 3


def thresholds(facts: Facts, elements: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Parameters that say which indices count, those below, each as a few less than there are.

    `elements` tells how many elements the memory of indices has.
    """
    loads = {load.symbol: load.pointer for load in facts.loads if load.axes and load.symbol is not None}
    for symbol, scalar in facts.thresholds:
        count, name = elements.get(loads.get(symbol) or ""), scalar.text()
        if count is not None and scalar.launch and name.isidentifier():
            yield name, f"max(1, {count} - {BEYOND})"
