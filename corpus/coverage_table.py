"""The page `docs/coverage.md`, drawn from measured results alone."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tlxify.catalogue import CATALOGUE

Row = dict[str, Any]

#: Column → whether a kernel counts there. With the gate off, each kernel is in exactly one of them but the first three.
COLUMNS: dict[str, Callable[[Row], bool]] = {
    "kernels": lambda row: True,
    "in a loop": lambda row: bool(row["loop"]),
    "**converted**": lambda row: outcome(row) == "agrees",
    "agree, short": lambda row: outcome(row) == "short",
    "disagree": lambda row: outcome(row) == "disagrees",
    "crash": lambda row: outcome(row) in ("crash", "timeout"),
    "source fails": lambda row: outcome(row) == "source fails",
    "no contract": lambda row: "TLX606" in row["off"]["codes"],
    "declined": lambda row: row["off"]["verdict"] != "converted" and "TLX606" not in row["off"]["codes"],
    "gate on": lambda row: row["on"]["verdict"] == "converted" and outcome(row) == "agrees",
}

#: What would let the kernels behind a code through, as far as their sources tell.
UNLOCK = {
    "TLX606": (
        "Contracts: offsets into packed sequences and heads (`bos * H + i_h`) fold the batch, the sequence and the head "
        "into one row stride. The contract must see that the storage is a tensor of rank four with an extent of its own, "
        "and draw `cu_seqlens`-like tables as increasing offsets."
    ),
    "TLX211": (
        "A bound read from memory (the length of a sequence, the end of a chunk or group) on rows of an operand. Rows that "
        "every store masks by the same bound may be read past it, within the memory of the parameter; on the contracted "
        "axis the operand needs a descriptor made on the device for each program, or a producer that copies with masks."
    ),
    "TLX107": (
        "Globals that are computed when the module is imported: functions chosen by an environment variable (an `exp` in "
        "one of two forms), hardware switches and tuned constants. The parser would have to take the choice as an arm of "
        "its own, or the launcher read the value from the live module and specialize on it."
    ),
    "TLX312": (
        "An effect without a role: a store or a block pointer's `tl.advance`, `tl.debug_barrier`, `device_print` and the "
        "like. Barriers between a store and a later load of the same tile belong to the consumer alone."
    ),
    "TLX201": "Values that depend on a run-time branch (a pointer chosen by `if`) and coordinates that may be negative.",
    "TLX210": "Descriptors that the caller passes in: the launcher must read shape, strides and box off the host object.",
    "TLX202": "Rows gathered through loaded indices: a producer that copies row by row with the same barriers.",
    "TLX104": "One name for a tile and for something else: renaming apart before the analyses.",
    "TLX209": "Stores through block pointers: rewriting them as masked pointer stores.",
    "TLX304": "A dot under a condition whose arm does more than load: regions with ring counters of their own.",
    "TLX308": "Locks between programs: they are not persistent-safe; the cooperative schedule could keep them.",
}


def outcome(row: Row) -> str:
    """How simulating ended; empty for kernels that were not rewritten."""
    return str((row.get("simulated") or {}).get("outcome", ""))


def converted(row: Row) -> bool:
    """Whether a kernel counts as converted."""
    return outcome(row) == "agrees"


def share(rows: Iterable[Row]) -> float:
    """The share of converted kernels, in percent."""
    values = [converted(row) for row in rows]
    return 100 * sum(values) / len(values) if values else 0.0


def mean_share(rows: list[Row], key: str) -> float:
    """The mean of the shares of each group: a group with many kernels weighs no more than one with few."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row[key]].append(row)
    return sum(map(share, groups.values())) / max(1, len(groups))


def markdown(head: list[str], body: Iterable[list[str]]) -> Iterator[str]:
    """A table, numbers to the right."""
    yield "| " + " | ".join(head) + " |"
    yield "|---|" + "--:|" * (len(head) - 1)
    yield from ("| " + " | ".join(line) + " |" for line in body)


def groups(rows: list[Row], key: str) -> Iterator[str]:
    """One line per package or family, the largest first, and their sum."""
    names = [name for name, _ in Counter(row[key] for row in rows).most_common()]
    lines = [[name, *counts([row for row in rows if row[key] == name])] for name in names]
    yield from markdown([key, *COLUMNS], [*lines, ["all", *counts(rows)]])


def counts(rows: list[Row]) -> list[str]:
    """The numbers of one line; nothing where a count is 0."""
    return [str(sum(map(test, rows)) or "") for test in COLUMNS.values()]


def reasons(rows: list[Row]) -> Iterator[str]:
    """Codes that keep kernels from being rewritten, with the facts behind them."""
    held = [row for row in rows if row["off"]["verdict"] != "converted"]
    codes = Counter(code for row in held for code in row["off"]["codes"])
    families = {code: Counter(row["family"] for row in held if code in row["off"]["codes"]) for code in codes}
    yield from markdown(
        ["code", "kernels", "in a loop", "what", "mostly"],
        [
            [
                f"[{code}](diagnostics/{code}.md)",
                str(count),
                str(sum(row["loop"] for row in held if code in row["off"]["codes"])),
                CATALOGUE[code].title,
                ", ".join(f"{family} {number}" for family, number in families[code].most_common(2)),
            ]
            for code, count in codes.most_common()
        ],
    )


def unlocking(rows: list[Row]) -> Iterator[str]:
    """What would unlock the largest groups, largest first."""
    held = [row for row in rows if row["off"]["verdict"] != "converted"]
    for code, count in Counter(code for row in held for code in row["off"]["codes"]).most_common():
        if code not in UNLOCK:
            continue
        facts = Counter(
            re.sub(r"`[^`]*`", "`…`", row["off"]["message"]) for row in held if code in row["off"]["codes"]
        ).most_common(2)
        yield f"- **{code}, {count} kernels.** {UNLOCK[code]}"
        yield from (f"  - {number}× {fact}" for fact, number in facts)


def faults(rows: list[Row]) -> Iterator[str]:
    """Every rewritten kernel that did not agree, with what was found."""
    for row in rows:
        if outcome(row) in ("disagrees", "crash", "timeout", "source fails"):
            first = next(iter(row["simulated"]["findings"]), "").splitlines() or [""]
            yield f"- {outcome(row)}: `{row['name']}` ({row['package']}, `{row['path']}`): {first[0][:240].strip()}"


def table(rows: list[Row]) -> str:
    """The whole page."""
    looped = [row for row in rows if row["loop"]]
    shares = [
        [title, f"{share(chosen):.1f} %", f"{mean_share(chosen, 'package'):.1f} %", f"{mean_share(chosen, 'family'):.1f} %"]
        for title, chosen in (("a dot in a loop that runs", looped), ("all dot kernels", rows))
    ]
    rewritten = sum(row["off"]["verdict"] == "converted" for row in rows)
    bad = list(faults(rows))
    lines = [
        "# Coverage",
        "",
        "Made by `make coverage`. The kernels are those of `corpus/denominator.json`: every distinct kernel of ten public",
        "wheels that is launched and reaches a dot, listed by a script that shares no code with the converter.",
        "",
        "*Converted* means: rewritten with the profit gate off, run on the simulator on launches inferred from its code,",
        "at 2·stages+1 trips of a dot loop or more on independent normal data, on the specialized kernel, and equal to",
        "its source. Simulated are, for the first config with small tiles: 1 and 2·stages+1 trips, a ragged end, sizes",
        "one off a tile, contiguous rows; where no size counts the trips, 2·stages+1 tiles along every size. *Agree,",
        "short*: equal, but the launch does not tell that a loop ran so often (a head dimension fixed by a constant, a",
        "length read from memory). *No contract*: it could be rewritten, but what a valid launch is cannot be told.",
        "*Gate on*: converted, and also expected to gain by it.",
        "",
        *markdown(["converted", "share", "mean over packages", "mean over families"], shares),
        "",
        f"{rewritten} of {len(rows)} were rewritten. The means weigh every package, or family, the same: most kernels",
        "are fla-core's, and it must not decide alone.",
        "",
        "## By family",
        "",
        *groups(rows, "family"),
        "",
        "## By package",
        "",
        *groups(rows, "package"),
        "",
        "## Why kernels are left as they are",
        "",
        *reasons(rows),
        "",
        "## What would unlock the largest groups",
        "",
        *unlocking(rows),
        "",
        "## Rewritten, but not equal",
        "",
        *(bad or ["None."]),
        "",
    ]
    return "\n".join(lines)
