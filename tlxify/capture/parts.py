"""Joining what the processes of a program wrote, each for itself, into one record."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..files import write_atomic
from .inside.counts import read_counts
from .launches import FORMAT, Capture, KernelId, Launch, launch_of, lines_of

#: Times kept of each kind of launch.
TIMES = 64


def join(folder: Path) -> Capture:
    """The record of all processes that wrote to this folder; they may have crashed, or still run."""
    processes: list[Mapping[str, Any]] = []
    overflow: Counter[KernelId] = Counter()
    stats: dict[str, dict[str, Any]] = {}
    troubles: dict[str, None] = {}
    launches: dict[str, Launch] = {}
    for path in sorted(folder.glob("*.jsonl")):
        counts_path = path.with_suffix(".counts")
        counts = read_counts(counts_path) if counts_path.exists() else Counter[int]()
        kernels: dict[int, KernelId] = {}
        mine: dict[int, dict[str, Any]] = {}
        times: dict[int, list[float]] = {}
        for line in lines_of(path):
            match line["kind"]:
                case "process":
                    processes.append({name: value for name, value in line.items() if name != "kind"})
                case "kernel":
                    fields = {field.name: line[field.name] for field in dataclasses.fields(KernelId)}
                    kernels[line["id"]] = KernelId(**fields)
                case "launch":
                    mine[line.pop("id")] = line
                case "overflow":
                    overflow[kernels[line["kernel"]]] += counts[line["id"]]
                case "time":
                    times.setdefault(line["id"], []).append(line["us"])
                case "stats":
                    _add(stats.setdefault(line["kernel"], {"launches": 0, "fast": 0, "fallbacks": {}}), line)
                case "trouble":
                    troubles[line["text"]] = None
        for number, line in mine.items():
            kernel = kernels[line.pop("kernel")]
            # Other processes have other numbers and other files for the same launch.
            key = json.dumps([dataclasses.astuple(kernel), {**line, "data": None}])
            launch = launch_of(line, kernel, counts[number], times.get(number, []))
            if (known := launches.get(key)) is not None:
                launch = dataclasses.replace(
                    known, launches=known.launches + launch.launches, times=(*known.times, *launch.times)[:TIMES]
                )
            launches[key] = launch
    return Capture(tuple(launches.values()), tuple(processes), dict(overflow), stats, tuple(troubles))


def write(capture: Capture, path: Path, *, argv: list[str], limit: int, status: int) -> None:
    """Writes the record as one file, whole or not at all."""
    head = {"kind": "capture", "format": FORMAT, "argv": argv, "limit": limit, "status": status}
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(line) + "\n" for line in (head, *_lines(capture)))
    write_atomic(path, text.encode())


def remove(folder: Path) -> None:
    """Removes the parts, but keeps saved contents of tensors."""
    for path in (*folder.glob("*.jsonl"), *folder.glob("*.counts")):
        path.unlink()
    if not any(folder.iterdir()):
        shutil.rmtree(folder)


def _add(total: dict[str, Any], line: Mapping[str, Any]) -> None:
    total["launches"] += line["launches"]
    total["fast"] += line["fast"]
    for code, count in line["fallbacks"].items():
        total["fallbacks"][code] = total["fallbacks"].get(code, 0) + count


def _lines(capture: Capture) -> Iterator[dict[str, Any]]:
    yield from ({"kind": "process", **process} for process in capture.processes)
    for launch in capture.launches:
        yield {
            "kind": "launch",
            "kernel": dataclasses.asdict(launch.kernel),
            "arguments": list(_arguments(launch)),
            "grid": list(launch.grid),
            "options": dict(launch.options),
            "overlaps": [list(pair) for pair in launch.overlaps],
            "via": launch.via,
            "data": {tensor.name: tensor.data for tensor in launch.tensors if tensor.data},
            "launches": launch.launches,
            "us": list(launch.times),
        }
    for kernel, count in capture.overflow.items():
        yield {"kind": "overflow", "kernel": dataclasses.asdict(kernel), "launches": count}
    yield from ({"kind": "stats", "kernel": name, **told} for name, told in capture.stats.items())
    yield from ({"kind": "trouble", "text": text} for text in capture.troubles)


def _arguments(launch: Launch) -> Iterator[dict[str, Any]]:
    for tensor in launch.tensors:
        told = dataclasses.asdict(tensor)
        del told["name"], told["data"]
        yield {"name": tensor.name, "tensor": told}
    for name, value in launch.scalars:
        yield {"name": name, "value": value, **({"constexpr": True} if name in launch.constexprs else {})}
