"""Times of launches that take turns as CUDA graphs, and ratios with their uncertainty."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch

from tlxify.bench.clock import Clock, Contender, interleave
from tlxify.bench.cuda import CudaClock
from tlxify.bench.figures import ratios

#: milliseconds that one timed replay should take
REPLAY = 4.0
#: rounds thrown away first
WARM_UP = 3


def captured(launches: Sequence[Callable[[], None]], count: int) -> torch.cuda.CUDAGraph:
    """``count`` launches as one graph, going round the operand sets: no host time, no set found in the L2."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for n in range(count):
            launches[n % len(launches)]()
    return graph


def replay(graph: torch.cuda.CUDAGraph) -> Contender:
    """One replay of the graph, as a contender."""
    return lambda number: graph.replay()


def interleaved(contenders: Mapping[str, Sequence[Callable[[], None]]], rounds: int) -> dict[str, list[float]]:
    """Milliseconds per launch, one entry per round. Who begins changes from round to round."""
    clock: Clock = CudaClock(torch)
    first = next(iter(contenders))
    sets = len(contenders[first])
    ((once,),) = interleave(
        {first: replay(captured(contenders[first], sets))}, clock, rounds=1, launches=1, inputs=1
    ).values()
    count = sets * max(1, round(REPLAY / once))
    graphs = {name: replay(captured(launches, count)) for name, launches in contenders.items()}
    times = interleave(graphs, clock, rounds=WARM_UP + rounds, launches=1, inputs=1)
    return {name: [each / count for each in found[WARM_UP:]] for name, found in times.items()}


def ratio(judged: Sequence[float], other: Sequence[float]) -> dict[str, float | list[float]]:
    """Speed of the first relative to the second: median over the rounds, and its 90 % bootstrap interval."""
    found = ratios(other, judged)
    return {"median": round(found.median, 4), "interval90": [round(found.low, 4), round(found.high, 4)]}
