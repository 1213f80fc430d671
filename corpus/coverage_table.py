"""The page `docs/coverage.md`, drawn from measured results alone."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tlxify.catalogue import CATALOGUE

Row = dict[str, Any]

def counted(row):
    return row.get("simulated", {}).get("outcome") == "agrees"
def table(rows):
    return "\n"
