"""CAPTURE: the launches of a program, as its record tells them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: Of the format; readers refuse any other.
FORMAT = 1


class Unusable(Exception):
    """A file is no record of launches, or one of another format; the text says which."""


@dataclass(frozen=True, slots=True)
class KernelId:
    """Which kernel was launched."""

    name: str
    module: str
    file: str
    line: int
    #: Of the source text, from `def` on.
    hash: str


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor argument. Extents and strides in elements."""

    name: str
    #: Triton's short name.
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    #: The largest power of two that divides its address, at most 16.
    alignment: int
    #: The block of a host-side descriptor; empty for a pointer.
    block: tuple[int, ...] = ()
    #: The file of its contents beside the record, where those were asked for.
    data: str = ""

    @property
    def numel(self) -> int:
        """Elements."""
        total = 1
        for extent in self.shape:
            total *= extent
        return total


@dataclass(frozen=True, slots=True)
class Launch:
    """Launches of one kernel that differ in nothing but addresses."""

    kernel: KernelId
    tensors: tuple[Tensor, ...]
    #: All other arguments; what is no number, text, bool or None is a JSON object ({"dtype": "fp16"}).
    scalars: tuple[tuple[str, Any], ...]
    #: Names among `scalars` that are `tl.constexpr`.
    constexprs: frozenset[str]
    grid: tuple[int, ...]
    #: num_warps, num_stages and others, where the call gave them.
    options: tuple[tuple[str, Any], ...]
    #: Pairs of tensors whose bytes overlap.
    overlaps: tuple[tuple[str, str], ...]
    #: What launched: "triton", "tlx" (the name was bound to a conversion; then tuned values are not known),
    #: "interpreter".
    via: str
    launches: int
    #: GPU times that were sampled, in microseconds.
    times: tuple[float, ...] = ()

    @property
    def microseconds(self) -> float | None:
        """The median GPU time; None if none was taken."""
        ordered = sorted(self.times)
        middle = len(ordered) // 2
        if not ordered:
            return None
        return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2

    def tensor(self, name: str) -> Tensor | None:
        """The tensor passed for a parameter."""
        return next((tensor for tensor in self.tensors if tensor.name == name), None)

    @property
    def shapes(self) -> str:
        """One line for people: the shapes of its tensors, else its numbers."""
        shown = [f"{tensor.name} {tensor.dtype}[{', '.join(map(str, tensor.shape))}]" for tensor in self.tensors]
        return ", ".join(shown) or ", ".join(f"{name}={value}" for name, value in self.scalars)


@dataclass(frozen=True, slots=True)
class Capture:
    """A whole record."""

    launches: tuple[Launch, ...]
    processes: tuple[Mapping[str, Any], ...] = ()
    #: Launches of kinds past the limit, by kernel: counted and no more.
    overflow: Mapping[KernelId, int] = field(default_factory=dict)
    #: By kernel, as the launcher of converted kernels counted: launches, fast, fallbacks.
    stats: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: What could not be recorded.
    troubles: tuple[str, ...] = ()

    def of(self, kernel: str) -> tuple[Launch, ...]:
        """The launches of a kernel."""
        return tuple(launch for launch in self.launches if launch.kernel.name == kernel)


def read(path: Path) -> Capture:
    """The record in a file, or in the folder of parts that an interrupted capture left.

    Raises:
        Unusable: it is none.
        OSError: it cannot be read.
    """
    if path.is_dir():
        from .parts import join

        return join(path)
    launches, processes, troubles = [], [], []
    overflow: dict[KernelId, int] = {}
    stats: dict[str, Mapping[str, Any]] = {}
    lines = lines_of(path)
    head = next(lines, {})
    if head.get("kind") != "capture":
        raise Unusable(f"{path} is no record of launches: `tlxify capture -o {path} -- …` makes one")
    if head.get("format") != FORMAT:
        raise Unusable(f"{path} has format {head.get('format')}; this version reads {FORMAT}")
    for line in lines:
        match line.get("kind"):
            case "launch":
                launches.append(launch_of(line, KernelId(**line["kernel"]), line["launches"], line["us"]))
            case "process":
                processes.append({name: value for name, value in line.items() if name != "kind"})
            case "overflow":
                overflow[KernelId(**line["kernel"])] = line["launches"]
            case "stats":
                stats[line["kernel"]] = {name: line[name] for name in ("launches", "fast", "fallbacks")}
            case "trouble":
                troubles.append(line["text"])
    return Capture(tuple(launches), tuple(processes), overflow, stats, tuple(troubles))


def lines_of(path: Path) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file; a line that a crash cut short ends it."""
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                found = json.loads(line)
            except ValueError:
                return
            if isinstance(found, dict):
                yield found


def launch_of(line: Mapping[str, Any], kernel: KernelId, launches: int, times: list[float]) -> Launch:
    """The launch that a line describes."""
    data = line.get("data", {})
    tensors, scalars, constexprs = [], [], set()
    for argument in line["arguments"]:
        name = argument["name"]
        if "tensor" in argument:
            told = argument["tensor"]
            shape, strides, block = (tuple(told.get(field, ())) for field in ("shape", "strides", "block"))
            tensor = Tensor(name, told["dtype"], shape, strides, told["alignment"], block, data.get(name, ""))
            tensors.append(tensor)
        else:
            scalars.append((name, argument["value"]))
        if argument.get("constexpr"):
            constexprs.add(name)
    return Launch(
        kernel=kernel,
        tensors=tuple(tensors),
        scalars=tuple(scalars),
        constexprs=frozenset(constexprs),
        grid=tuple(line["grid"]),
        options=tuple(line["options"].items()),
        overlaps=tuple((first, second) for first, second in line["overlaps"]),
        via=line["via"],
        launches=launches,
        times=tuple(times),
    )
