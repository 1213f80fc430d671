"""What ran: launches, share of the fast path, and each reason for a fallback, per kernel and for the whole process."""

from __future__ import annotations

import logging
import threading
from collections import Counter
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

    @property
    def share(self) -> float:
        """Launches of the specialized kernel ÷ launches; 0 where there was none."""
        return self.fast / self.launches if self.launches else 0.0


class Counters:
    """The running count of one kernel."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._fast = 0
        self._fallbacks: Counter[str] = Counter()
        self._clamps: dict[str, None] = {}
        self._told: set[str] = set()
        self._lock = threading.Lock()
        with REGISTRY_LOCK:
            REGISTRY[name] = self

    def ran_fast(self) -> None:
        """The specialized kernel was launched."""
        with self._lock:
            self._fast += 1

    def ran_original(self, code: str) -> None:
        """The original was launched because of `code`."""
        with self._lock:
            self._fallbacks[code] += 1

    def clamped(self, text: str) -> None:
        """A config was cut down to what fits."""
        with self._lock:
            self._clamps[text] = None
        self.tell("clamp:" + text, text)

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
            fallbacks = dict(self._fallbacks)
            return KernelStats(self._fast + sum(fallbacks.values()), self._fast, fallbacks, tuple(self._clamps))


REGISTRY: dict[str, Counters] = {}
REGISTRY_LOCK = threading.Lock()


def stats() -> dict[str, KernelStats]:
    """The launches of every specialized kernel of this process, by "module.kernel"."""
    with REGISTRY_LOCK:
        kernels = list(REGISTRY.items())
    return {name: counters.snapshot() for name, counters in kernels}
