"""What is asked of a plan, the most first: a kernel is converted as the first demand has it that some reading meets.

So the profit gate decides whether a kernel is converted, and never how. Without it, a reading without assumptions may
have a plan in which all tiles pass through registers; the assumptions under which dots read slots in place, and the
conversion pays, must be tried before that.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Generic, TypeVar

from .diagnostics import Decline
from .plan import Plan
from .source import Span

T = TypeVar("T")


class Demand(Enum):
    """What is asked of a plan."""

    #: It is expected to gain.
    PAYS = "pays"
    #: Some dot reads its operands where they lie in shared memory.
    IN_PLACE = "in place"
    #: It can be made.
    ANY = "any"


def demands(*, profitable: bool) -> tuple[Demand, ...]:
    """The demands that may be made, the strictest first."""
    return (Demand.PAYS,) if profitable else tuple(Demand)


def met(plan: Plan, demand: Demand) -> bool:
    """Whether a plan meets a demand. What pays is for the schedules to say: they refuse what does not."""
    return demand is not Demand.IN_PLACE or plan.plain or bool(plan.dots)


def in_place(plan: Plan) -> frozenset[Span]:
    """The dots of the source that read slots in place."""
    return frozenset(step.span for step in plan.dots)


class Once(Generic[T]):
    """The items of an iterator, and the refusal that may end it, each worked out once however often it is asked for."""

    def __init__(self, source: Iterator[T]) -> None:
        self.source = source
        self.known: list[T] = []
        self.refusal: Decline | None = None

    def __iter__(self) -> Iterator[T]:
        number = 0
        while number < len(self.known) or self._another():
            yield self.known[number]
            number += 1

    def _another(self) -> bool:
        """Works out one more item. Raises Decline as the iterator does."""
        if self.refusal is not None:
            raise self.refusal
        try:
            self.known.append(next(self.source))
        except StopIteration:
            return False
        except Decline as refusal:
            self.refusal = refusal
            raise
        return True
