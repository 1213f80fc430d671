"""What ran: launches, share of the fast path, and each reason for a fallback, per kernel and for the whole process."""

from __future__ import annotations

import itertools
import logging
import threading
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Counters", "KernelStats", "stats"]

LOGGER = logging.getLogger("tlx")


@dataclass(frozen=True, slots=True)
class KernelStats:
    """A snapshot of one kernel's launches in this process; benchmarking by a tuner is not counted."""

    launches: int
    fast: int
    #: Launches of the original by reason code.
    fallbacks: Mapping[str, int]
    #: What was cut down to fit, in sentences.
    clamps: tuple[str, ...]
    #: Launches that both kernels made, and those of them whose results disagree (tlx/launch/shadow.py).
    shadowed: int = 0
    disagreements: int = 0

    @property
    def share(self) -> float:
        """Launches of the specialized kernel ÷ launches; 0 where there was none."""
        return self.fast / self.launches if self.launches else 0.0


class Tally:
    """A count that threads may add to without a lock: taking the next of `itertools.count` is one step."""

    __slots__ = ("_looks", "_next")

    def __init__(self) -> None:
        self._next = itertools.count()
        self._looks = 0

    def add(self) -> None:
        """Count one more."""
        next(self._next)

    def look(self) -> int:
        """The count so far (one look at a time); looking takes a number too, so looks are subtracted."""
        count = next(self._next) - self._looks
        self._looks += 1
        return count


class Counters:
    """The running count of one kernel."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._fast = Tally()
        #: To be called when the specialized kernel was launched.
        self.ran_fast = self._fast.add
        self._shadowed, self._disagreed = Tally(), Tally()
        #: To be called when both kernels ran, and when they disagreed.
        self.shadowed, self.disagreed = self._shadowed.add, self._disagreed.add
        self._fallbacks: defaultdict[str, Tally] = defaultdict(Tally)
        self._clamps: dict[str, None] = {}
        self._told: set[str] = set()
        self._lock = threading.Lock()
        with REGISTRY_LOCK:
            REGISTRY[name] = self

    def ran_original(self, code: str) -> None:
        """The original was launched because of `code`."""
        tally = self._fallbacks.get(code)
        if tally is None:
            with self._lock:
                tally = self._fallbacks[code]
        tally.add()

    def clamped(self, text: str) -> None:
        """A config was cut down to what fits."""
        with self._lock:
            self._clamps[text] = None
        self.tell("clamp:" + text, text)

    def told(self, topic: str) -> bool:
        """Whether `tell` has nothing new to say about this topic."""
        return topic in self._told

    def tell(self, topic: str, text: str, level: int = logging.INFO) -> None:
        """Log `text` unless `topic` was logged before for this kernel."""
        with self._lock:
            if topic in self._told:
                return
            self._told.add(topic)
        LOGGER.log(level, "%s: %s", self.name, text)

    def snapshot(self) -> KernelStats:
        """The counts so far."""
        with self._lock:
            fast = self._fast.look()
            fallbacks = {code: tally.look() for code, tally in self._fallbacks.items()}
            launches, clamps = fast + sum(fallbacks.values()), tuple(self._clamps)
            return KernelStats(launches, fast, fallbacks, clamps, self._shadowed.look(), self._disagreed.look())


REGISTRY: dict[str, Counters] = {}
REGISTRY_LOCK = threading.Lock()


def stats() -> dict[str, KernelStats]:
    """The launches of every specialized kernel of this process, by "module.kernel"."""
    with REGISTRY_LOCK:
        kernels = list(REGISTRY.items())
    return {name: counters.snapshot() for name, counters in kernels}
