"""Which kernel runs where both could: the guard says what is right, the policy what is wanted.

`TLXIFY_POLICY`, or `tlx.policy(name)` in the program, which goes first:

* `stable` (the default): a table that comes with tlx, `choices.toml`, on static facts alone. Every rank and every run
  decides alike, so results are reproducible where the kernels differ in their last bits.
* `fast`: source and conversion are timed on this machine, each shape once (tlx/launch/timing.py). Ranks may differ.
* `bitwise`: the conversion only with configs for which `tlxify verify --upto ran` saw every output bit-identical to the
  source's, and recorded it beside the conversion (tlx/launch/proofs.py).
* `always`: the conversion wherever its guard holds. Verification and benchmarks run under it.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from weakref import WeakSet

from tlx.launch.guard import CopiedRows, Fallback, TmaView
from tlx.launch.schedule import RingPlan, Schedule

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["POLICIES", "Facts", "current", "facts_of", "follow", "policy", "table_refusal"]

POLICIES = ("stable", "fast", "bitwise", "always")
VARIABLE = "TLXIFY_POLICY"
TABLE = Path(__file__).with_name("choices.toml")

#: What `tlx.policy` set, if it was called; and whom to tell of a change.
CHOSEN: list[str] = []
FOLLOWERS: WeakSet[Any] = WeakSet()


@dataclass(frozen=True, slots=True)
class Facts:
    """What a row of the table may ask about one config of one kernel; nothing here depends on the machine or the run.

    Tiles are in elements; 0 where the plan does not name them.
    """

    #: Dot products in the loop.
    dots: int
    #: Tensors that the producer loads from.
    operands: int
    #: Rows and columns of the first product's tile, and columns of the last one's (in attention the head dimension).
    rows: int
    columns: int
    last_columns: int
    #: Bytes that the producer loads in one trip.
    stage_bytes: int
    #: Whether some operand's tile stays in shared memory while a whole loop reads it, as attention's Q.
    stays: bool


def policy(name: str | None = None) -> str:
    """The policy in force; with `name`, one of `POLICIES`, that one from now on.

    A change makes every specialized kernel decide anew, tuning included. Raises `ValueError` for an unknown name.
    """
    if name is not None:
        CHOSEN[:] = [_checked(name, "tlx.policy")]
        for follower in list(FOLLOWERS):
            follower.reset()
    return current()


def current() -> str:
    """The policy in force. Raises `ValueError` where `TLXIFY_POLICY` names none."""
    return CHOSEN[0] if CHOSEN else _checked(os.environ.get(VARIABLE, "").strip().lower() or POLICIES[0], VARIABLE)


def follow(follower: Any) -> None:
    """Have `follower.reset()` called when the policy changes."""
    FOLLOWERS.add(follower)


def facts_of(
    schedule: Schedule, plan: RingPlan, views: Mapping[str, TmaView | CopiedRows], arguments: Mapping[str, Any]
) -> Facts:
    """The facts of one config; `arguments` are the source's by name, constexprs included."""
    products = schedule.products or ((schedule.output[:2],) if len(schedule.output) >= 2 else ())

    def extent(name: str) -> int:
        value = arguments.get(name)
        return value if isinstance(value, int) else 0

    tiles = [(extent(rows), extent(columns)) for rows, columns in products] or [(0, 0)]
    loaded = [(box, views[name].itemsize) for name, box in plan.boxes.items() if not box.stays and box.like is None]
    return Facts(
        dots=len(tiles),
        operands=sum(box.like is None for box in plan.boxes.values()),
        rows=tiles[0][0],
        columns=tiles[0][1],
        last_columns=tiles[-1][1],
        stage_bytes=sum(box.elements * itemsize for box, itemsize in loaded),
        stays=any(box.stays for box in plan.boxes.values()),
    )


def table_refusal(facts: Facts) -> Fallback | None:
    """Why the table wants the original for these facts; `None` where it wants the conversion or has no row."""
    for row in rows():
        if row.fits(facts):
            return None if row.runs == "conversion" else Fallback("policy", f"stable: {row.told}")
    return None


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table."""

    name: str
    when: Mapping[str, int | bool]
    at_most: Mapping[str, int]
    runs: str
    speedup: tuple[float, float]
    chip: str

    def fits(self, facts: Facts) -> bool:
        """Whether this row decides for a config."""
        known = asdict(facts)
        return all(known[name] == value for name, value in self.when.items()) and all(
            known[name] <= limit for name, limit in self.at_most.items()
        )

    @property
    def told(self) -> str:
        """The row in a sentence."""
        low, high = self.speedup
        return f"{self.name}: {low}-{high} of the source's speed on {self.chip}"


@functools.cache
def rows() -> tuple[Row, ...]:
    """The table, in the order of the file. Raises `ValueError` for a fact or a kernel that there is not."""
    found = []
    for entry in tomllib.loads(TABLE.read_text(encoding="utf-8"))["row"]:
        when, at_most = entry["when"], entry.get("at_most", {})
        unknown = {*when, *at_most} - set(Facts.__dataclass_fields__)
        if unknown or entry["runs"] not in ("original", "conversion"):
            raise ValueError(f"{TABLE.name}: row {entry['name']!r} asks for {sorted(unknown) or entry['runs']}")
        low, high = entry["speedup"]
        found.append(Row(entry["name"], when, at_most, entry["runs"], (low, high), entry["chip"]))
    return tuple(found)


def _checked(name: str, where: str) -> str:
    if name not in POLICIES:
        raise ValueError(f"{where}: unknown policy {name!r}; known: {', '.join(POLICIES)}")
    return name


#: Given the facts of a config and the arguments of its launch: why the original is wanted, or `None`.
Preference = Callable[[Facts, Mapping[str, Any], Mapping[str, Any]], "Fallback | None"]
