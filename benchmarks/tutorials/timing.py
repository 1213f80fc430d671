"""Times of launches that take turns, and ratios with their uncertainty."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence

import torch

#: milliseconds that one timed replay should take
REPLAY = 4.0
#: replays thrown away first
WARM_UP = 3


def captured(launches: Sequence[Callable[[], None]], count: int) -> torch.cuda.CUDAGraph:
    """``count`` launches as one graph, going round the operand sets: no host time, no set found in the L2."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for n in range(count):
            launches[n % len(launches)]()
    return graph


def replay(graph: torch.cuda.CUDAGraph) -> float:
    """Milliseconds of one replay."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    graph.replay()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)


def interleaved(contenders: Mapping[str, Sequence[Callable[[], None]]], rounds: int) -> dict[str, list[float]]:
    """Milliseconds per launch, one entry per round. Who begins changes from round to round."""
    names = list(contenders)
    sets = len(contenders[names[0]])
    once = replay(captured(contenders[names[0]], sets)) / sets
    count = sets * max(1, round(REPLAY / once / sets))
    graphs = {name: captured(launches, count) for name, launches in contenders.items()}
    for _ in range(WARM_UP):
        for graph in graphs.values():
            replay(graph)
    times: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            times[name].append(replay(graphs[name]) / count)
    return times


def ratio(judged: Sequence[float], other: Sequence[float]) -> dict[str, float | list[float]]:
    """Speed of the first relative to the second: median over the rounds, and its 90 % bootstrap interval."""
    each = [theirs / mine for mine, theirs in zip(judged, other, strict=True)]
    generator = torch.Generator().manual_seed(0)
    draws = torch.randint(len(each), (2000, len(each)), generator=generator)
    medians = torch.tensor(each, dtype=torch.float64)[draws].median(dim=1).values.sort().values
    bounds = [round(medians[n].item(), 4) for n in (100, 1899)]
    return {"median": round(statistics.median(each), 4), "interval90": bounds}
