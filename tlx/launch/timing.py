"""The policy `fast`: source and conversion are timed on the machine at hand, once for each description of a launch.

Both run on copies of what they write (copies.py), in turn, so that clocks and caches are the same for both; each turn
is as many launches as take the GPU about half a millisecond, timed by events on the current stream. The median of the
ratios decides. What cannot be timed (under graph capture, without torch, too much memory) runs the conversion.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tlx.launch import chip
from tlx.launch.copies import copied
from tlx.launch.guard import Fallback
from tlx.launch.record import key_of
from tlx.launch.shadow import DEFAULT_LIMIT

if TYPE_CHECKING:
    from tlx.launch.adapter import Decision
    from tlx.launch.dispatcher import Dispatcher

__all__ = ["Timed", "slower", "stopwatch"]

ROUNDS = 7
#: Milliseconds of work for one turn, and the most launches that it may take.
TURN_MS, MOST = 0.5, 64
#: Descriptions of launches whose outcome is kept.
KEPT = 4096


class Timed:
    """Stands where the short way would until it is known which kernel is the faster one for launches like this."""

    tuned = False

    def __init__(self, dispatcher: Dispatcher, decision: Decision, settle: Callable[[Fallback | None], None]) -> None:
        self._dispatcher, self._decision = dispatcher, decision
        #: Told why the original is to run, or `None`: takes this out of the way.
        self._settle = settle

    def holds(self) -> bool:
        """It always knows what to do."""
        return True

    def launch(self, grid: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Launch the faster kernel. Raises `Fallback` with code `policy` where that is the original."""
        dispatcher = self._dispatcher
        if not chip.capturing():
            key, timings = key_of(args, kwargs, grid), dispatcher.chooser.timings
            if len(timings) >= KEPT:
                timings.clear()
            if key not in timings:
                timings[key] = self._measure(grid, args, kwargs)
            refusal = timings[key]
            self._settle(refusal)
            if refusal is not None:
                raise refusal.untraced()
        return dispatcher.run_converted(self._decision, args, kwargs, grid)

    def _measure(self, grid: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Fallback | None:
        dispatcher = self._dispatcher
        try:
            copies = copied(args, kwargs, dispatcher.arg_names, dispatcher.chooser.written, DEFAULT_LIMIT)
        except Exception as reason:  # the launch itself has to go on
            dispatcher.counters.tell("untimed", f"not timed, so the conversion runs: {reason}")
            return None
        trial = dispatcher.trial(copies.args, copies.kwargs)

        def original() -> None:
            dispatcher.launch_original(copies.args, copies.kwargs, grid)

        def converted() -> None:
            if trial.fallback is not None:
                raise trial.fallback.untraced()
            dispatcher.run_converted(trial, copies.args, copies.kwargs, grid)

        try:
            source, conversion = stopwatch((original, converted))
        except Exception as error:
            # Whatever it is, the launch that was asked for will show it, or do without it.
            dispatcher.counters.tell("untimed", f"not timed, so the conversion runs: {type(error).__name__}: {error}")
            return None
        dispatcher.counters.tell(f"timed:{len(dispatcher.chooser.timings)}", _told(source, conversion))
        return slower(source, conversion)


def slower(source: Sequence[float], conversion: Sequence[float]) -> Fallback | None:
    """Why the original is to run, from milliseconds per launch of both, round by round; `None` if it is not."""
    ratio = statistics.median(a / b for a, b in zip(source, conversion, strict=True))
    return Fallback("policy", f"fast: {_told(source, conversion)}") if ratio < 1 else None


def stopwatch(runs: Sequence[Callable[[], object]]) -> list[list[float]]:
    """Milliseconds per launch of each of `runs`, one figure per round, on the current stream of torch."""
    torch: Any = sys.modules["torch"]

    def turn(run: Callable[[], object], times: int) -> tuple[Any, Any]:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(times):
            run()
        end.record()
        return begin, end

    for run in runs:
        run()  # compiles, and tunes
    first = [turn(run, 1) for run in runs]
    torch.cuda.synchronize()
    longest = max(begin.elapsed_time(end) for begin, end in first)
    times = max(1, min(MOST, math.ceil(TURN_MS / max(longest, 1e-3))))
    turns = [[turn(run, times) for run in runs] for _ in range(ROUNDS)]
    torch.cuda.synchronize()
    return [[begin.elapsed_time(end) / times for begin, end in turns_of] for turns_of in zip(*turns, strict=True)]


def _told(source: Sequence[float], conversion: Sequence[float]) -> str:
    a, b = (statistics.median(times) * 1000 for times in (source, conversion))
    return f"{b:.1f} us converted, {a:.1f} us as it was written"
