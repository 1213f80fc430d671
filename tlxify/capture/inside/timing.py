"""GPU time of a few launches of each kind, without ever making the program wait.

Events are put around a launch and looked at later. In a program that is bound by launches the GPU would be idle when
the first event arrives and the time would be that of the launch; a short spin on the device before it lets the host
get ahead, so that the kernel follows its event at once.
"""

from __future__ import annotations

import sys
from typing import Any, Protocol

#: Launches between two samples of one kind at first, and at most; samples of one kind.
FIRST_INTERVAL, LONGEST_INTERVAL, SAMPLES = 6, 4096, 24
#: The device may be held back so long: nanoseconds.
LONGEST_HOLD = 300_000
#: Clock cycles of a Hopper per nanosecond, rounded up.
CYCLES = 2


class Timer(Protocol):
    """Measures on a device; tokens mean something to the timer alone."""

    def begin(self, hold: int) -> Any:
        """Before a launch whose host side takes about `hold` nanoseconds; None where nothing may be measured now."""

    def end(self, token: Any) -> None:
        """After the launch."""

    def microseconds(self, token: Any, *, wait: bool) -> float | None:
        """The time, if it is known by now or `wait` says to wait for it."""


class CudaTimer:
    """CUDA events through torch."""

    def __init__(self, torch: Any) -> None:
        self._cuda = torch.cuda

    def begin(self, hold: int) -> Any:
        """See `Timer`. While the stream records a graph, nothing is measured."""
        if self._cuda.is_current_stream_capturing():
            return None
        start, end = self._cuda.Event(enable_timing=True), self._cuda.Event(enable_timing=True)
        self._cuda._sleep(CYCLES * min(hold, LONGEST_HOLD))
        start.record()
        return start, end

    def end(self, token: Any) -> None:
        """See `Timer`."""
        token[1].record()

    def microseconds(self, token: Any, *, wait: bool) -> float | None:
        """See `Timer`."""
        start, end = token
        if wait:
            end.synchronize()
        elif not end.query():
            return None
        return 1000.0 * float(start.elapsed_time(end))


def find_timer() -> Timer | None:
    """A timer, once the program has begun to use a GPU by torch."""
    torch = sys.modules.get("torch")
    try:
        return CudaTimer(torch) if torch is not None and torch.cuda.is_initialized() else None
    except AttributeError:  # torch is still being imported
        return None
