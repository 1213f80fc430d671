"""Medians with their spread: what a list of measurements is boiled down to."""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

#: Bootstrap draws, and the share of them that an interval leaves out at each end.
DRAWS, TAIL = 2000, 0.05


@dataclass(frozen=True, slots=True)
class Spread:
    """A median with the values around it: quartiles of times, a 90 % interval of the median for ratios."""

    median: float
    low: float
    high: float


def quartiles(values: Sequence[float]) -> Spread:
    """Median and quartiles (of one value, that value)."""
    if len(values) == 1:
        return Spread(values[0], values[0], values[0])
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(median, low, high)


def interval(values: Sequence[float], seed: int = 0) -> Spread:
    """The median and its 90 % bootstrap interval; the same for the same values."""
    generator = random.Random(seed)
    medians = sorted(statistics.median(generator.choices(values, k=len(values))) for _ in range(DRAWS))
    return Spread(statistics.median(values), medians[int(DRAWS * TAIL)], medians[int(DRAWS * (1 - TAIL)) - 1])


def ratios(numerators: Sequence[float], denominators: Sequence[float]) -> Spread:
    """The ratio of two contenders round by round: what the machine does in a round it does to both."""
    return interval([a / b for a, b in zip(numerators, denominators, strict=True)])
