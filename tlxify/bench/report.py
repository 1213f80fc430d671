"""BENCH: what was measured, as it is shown, written to disk and compared with an older run."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from .figures import Spread

FORMAT = 1
#: Ratios that differ by less are not told apart: what two runs of one program differ by on an idle H200.
NOISE = 0.02


class Unusable(Exception):
    """A file is no benchmark report of this format; the text says why."""


@dataclass(frozen=True, slots=True)
class Row:
    """One launch, measured."""

    kernel: str
    #: What tells it from the other launches of the kernel: "M=4096, N=4096, K=4096; bf16; rows".
    launch: str
    #: Milliseconds by contender: median and quartiles. "source", "converted", "retiled" (the source under tiles of
    #: ours, where they are faster), "reference".
    ms: Mapping[str, Spread] = field(default_factory=dict)
    #: Time of the source and of the reference over that of the conversion, round by round: median, 90 % interval.
    speedup: Mapping[str, Spread] = field(default_factory=dict)
    #: By contender, in the source's terms.
    configs: Mapping[str, str] = field(default_factory=dict)
    #: Which kernel the launcher chose for the conversion, and why if it was the original.
    path: str = ""
    reason: str = ""
    #: Largest difference from the source: norm of the difference over norm of the source's result.
    error: float | None = None
    #: What of these figures cannot be believed, or is left out, a sentence each.
    doubts: tuple[str, ...] = ()
    #: Operations and bytes of the launch; None where they cannot be told.
    flops: float | None = None
    bytes: float | None = None
    #: The shortest time that the measured ceilings allow, in milliseconds.
    floor: float | None = None
    #: Why there are no figures, or why they mean nothing.
    failure: str = ""

    def tflops(self, contender: str) -> float | None:
        """TFLOP/s of a contender."""
        return self._over(self.flops, contender, 1e9)

    def gbps(self, contender: str) -> float | None:
        """GB/s of a contender, every tensor counted once."""
        return self._over(self.bytes, contender, 1e6)

    def share(self, contender: str) -> float | None:
        """The floor over the time: 1 is as fast as the chip allows."""
        return self._over(self.floor, contender, 1.0)

    def _over(self, amount: float | None, contender: str, unit: float) -> float | None:
        """An amount over the time of a contender; None where either is not known."""
        if not amount or contender not in self.ms or not self.ms[contender].median:
            return None
        return amount / self.ms[contender].median / unit


@dataclass(frozen=True, slots=True)
class Report:
    """A whole run."""

    rows: tuple[Row, ...]
    tool: str = ""
    device: str = ""
    torch: str = ""
    triton: str = ""
    rounds: int = 0
    #: As measured in the same process: "tflops" of a large 16-bit product, "gbps" of a large copy.
    ceilings: Mapping[str, float] = field(default_factory=dict)

    def data(self) -> dict[str, Any]:
        """As JSON holds it, with the figures that follow from others for readers without this class."""
        told = dataclasses.asdict(self)
        for row, line in zip(self.rows, told["rows"], strict=True):
            for name in ("tflops", "gbps", "share"):
                line[name] = {who: _rounded(getattr(row, name)(who)) for who in row.ms}
        return {"format": FORMAT, **told}


@dataclass(frozen=True, slots=True)
class Change:
    """One launch in two runs."""

    kernel: str
    launch: str
    state: Literal["slower", "faster", "same", "missing", "new"]
    #: The speedup over the source then and now; None where that run lacks it.
    before: float | None = None
    after: float | None = None
    #: How much the ratio may fall without being a regression, as a share of it.
    tolerance: float = NOISE


def compare(old: Report, new: Report) -> tuple[Change, ...]:
    """What became of each launch of `old`, then the launches that are new.

    Speedups over the source are compared, not times: another driver, clock or machine changes both contenders. A ratio
    may fall by 2 %, or by the half widths of both runs' intervals together if they are wider. A launch that the new
    run lacks is `missing`: it counts as a regression, or dropping what became slow would hide it.
    """
    before, after = ({(row.kernel, row.launch): row for row in run.rows} for run in (old, new))
    changes = []
    for (kernel, launch), row in before.items():
        then = row.speedup.get("source")
        if then is None:
            continue  # it was not measured then: nothing to hold on to
        found = after.get((kernel, launch))
        now = found.speedup.get("source") if found is not None else None
        if now is None:
            changes.append(Change(kernel, launch, "missing", then.median))
            continue
        spread = ((then.high - then.low) + (now.high - now.low)) / 2
        tolerance = max(NOISE, spread / then.median)
        change = now.median / then.median - 1
        state: Literal["slower", "faster", "same"] = "same"
        if abs(change) > tolerance:
            state = "slower" if change < 0 else "faster"
        changes.append(Change(kernel, launch, state, then.median, now.median, tolerance))
    for (kernel, launch), row in after.items():
        if (kernel, launch) not in before and "source" in row.speedup:
            changes.append(Change(kernel, launch, "new", None, row.speedup["source"].median))
    return tuple(changes)


def regressed(changes: tuple[Change, ...]) -> bool:
    """Whether the new run is worse anywhere."""
    return any(change.state in ("slower", "missing") for change in changes)


def row_of(line: Mapping[str, Any]) -> Row:
    """A row from its JSON."""
    known = {each.name for each in dataclasses.fields(Row)}
    told = {name: value for name, value in line.items() if name in known}
    for name in ("ms", "speedup"):
        told[name] = {who: Spread(**spread) for who, spread in told.get(name, {}).items()}
    return Row(**{**told, "doubts": tuple(told.get("doubts", ()))})


def read(path: Path) -> Report:
    """A report that was written as JSON.

    Raises:
        Unusable: it is none, or of another format.
        OSError: it cannot be read.
    """
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        if told["format"] != FORMAT:
            raise Unusable(f"{path} has format {told['format']}; this version reads {FORMAT}")
        known = {each.name for each in dataclasses.fields(Report)}
        rows = tuple(row_of(line) for line in told["rows"])
        return Report(**{**{name: value for name, value in told.items() if name in known}, "rows": rows})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unusable(f"{path} is no report of `tlxify bench -o`: {error!r}") from error


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
