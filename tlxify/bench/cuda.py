"""The device's clock and what it can reach at most."""

from __future__ import annotations

import statistics
import time
from typing import Any

from .roofline import Ceilings

#: Cycles of the SM clock per millisecond, at least what a Hopper runs at.
CYCLES = 2_000_000
#: No turn is held back longer: milliseconds.
LONGEST_HOLD = 50.0
#: Side of the matrix product and bytes of the copy that the ceilings are measured with.
SIDE, COPIED = 8192, 1 << 30
ROUNDS = 7


class CudaClock:
    """CUDA events on the stream that is current now, whatever a contender makes current later. Implements `Clock`."""

    def __init__(self, torch: Any) -> None:
        self._cuda = torch.cuda
        self._stream = torch.cuda.current_stream()

    def mark(self) -> Any:
        """See `Clock`."""
        event = self._cuda.Event(enable_timing=True)
        event.record(self._stream)
        return event

    def between(self, start: Any, end: Any) -> float:
        """See `Clock`."""
        end.synchronize()
        return float(start.elapsed_time(end))

    def hold(self, milliseconds: float) -> float:
        """See `Clock`."""
        held = min(milliseconds, LONGEST_HOLD)
        with self._cuda.stream(self._stream):
            self._cuda._sleep(int(CYCLES * held))
        return held

    def host(self) -> float:
        """See `Clock`."""
        return time.perf_counter() * 1e3

    def settle(self) -> None:
        """See `Clock`."""
        self._cuda.synchronize()

    def mapped(self) -> int:
        """See `Clock`."""
        known = self._cuda.memory_stats()
        return sum(int(known.get(f"segment.all.{way}", 0)) for way in ("allocated", "freed"))


def ceilings(torch: Any, clock: CudaClock) -> Ceilings:
    """The rates of a large bf16 product and of a large copy (bytes read and written), medians of a few."""
    a, b = (torch.randn(SIDE, SIDE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    source = torch.randint(0, 255, (COPIED,), device="cuda", dtype=torch.uint8)
    target = torch.empty_like(source)
    products, copies = [], []
    for turn in range(ROUNDS + 1):
        start = clock.mark()
        torch.matmul(a, b)
        middle = clock.mark()
        target.copy_(source)
        times = clock.between(start, middle), clock.between(middle, clock.mark())
        if turn:  # the first one sets the libraries up
            products.append(times[0])
            copies.append(times[1])
    tflops = 2.0 * SIDE**3 / statistics.median(products) / 1e9
    return Ceilings(round(tflops, 1), round(2.0 * COPIED / statistics.median(copies) / 1e6, 1))
