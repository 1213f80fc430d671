"""Stable names for what a conversion introduces: derived from the user's names, never colliding with them."""

from __future__ import annotations

import re

_AFFIXES = re.compile(r"^(p_|ptr_|desc_)|(_?ptrs?|_?pointer|Ptr|_desc|_descriptor)$")


class Names:
    """Gives out names that the kernel does not use yet."""

    def __init__(self, taken: frozenset[str]) -> None:
        self._taken = set(taken)

    def exactly(self, wanted: str) -> str:
        """`wanted` itself, wherever else in the module it is used: a name that the launcher passes by."""
        self._taken.add(wanted)
        return wanted

    def fresh(self, wanted: str) -> str:
        """`wanted`, or `wanted_2`, `wanted_3` … if it is taken."""
        name, count = wanted, 1
        while name in self._taken:
            count += 1
            name = f"{wanted}_{count}"
        self._taken.add(name)
        return name


def stem(parameter: str) -> str:
    """`a_ptr` → `a`: what a pointer parameter points to, or a descriptor describes."""
    shorter = _AFFIXES.sub("", parameter)
    return shorter if shorter.isidentifier() else parameter
