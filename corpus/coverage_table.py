"""The page `docs/coverage.md`, drawn from measured results alone."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tlxify.catalogue import CATALOGUE

Row = dict[str, Any]

#: Column → whether a kernel counts there. With the gate off, each kernel is in exactly one of them but those of `SUBSETS`.
COLUMNS: dict[str, Callable[[Row], bool]] = {
    "kernels": lambda row: True,
    "in a loop": lambda row: bool(row["loop"]),
    "**converted**": lambda row: outcome(row) == "agrees",
    "in place": lambda row: converted(row) and row["dots"]["in_place"] > 0,
    "agree, short": lambda row: outcome(row) == "short",
    "protocol not shown": lambda row: outcome(row) in ("protocol", "untried"),
    "disagree": lambda row: outcome(row) == "disagrees",
    "crash or timeout": lambda row: outcome(row) in ("crash", "timeout"),
    "source fails or not run": lambda row: outcome(row) in ("source fails", "not run"),
    "no contract": lambda row: "TLX606" in row["off"]["codes"],
    "declined": lambda row: row["off"]["verdict"] != "converted" and "TLX606" not in row["off"]["codes"],
    "gate on": lambda row: row["on"]["verdict"] == "converted" and outcome(row) == "agrees",
}
#: Columns that count kernels which another column counts, too.
SUBSETS = ("kernels", "in a loop", "in place", "gate on")

#: What would let the kernels behind a code through, as far as their sources tell.
UNLOCK = {
    "TLX606": (
        "The rewriting stands; what is missing is the contract: memory whose rows are picked by loaded indices, or by an "
        "index divided by the length of a group, and tables of which the kernel reads more than where groups begin. The "
        "first needs indices drawn below the number of rows, the second an extent divided likewise."
    ),
    "TLX211": (
        "A bound on rows that the launch does not tell: the length of one sequence or expert read from memory. Where every "
        "store masks by the same bound, rows past it may be read as far as the storage goes: a view that ends there. On "
        "the contracted axis the operand needs a descriptor that each program makes, or a producer that copies with masks."
    ),
    "TLX107": (
        "Globals that stand for one of several functions of Triton's, or for a module of them, or that a function of the "
        "program computes: the fingerprint does not see them. The launcher could compare the live object with the one "
        "that the converter took. (Helpers and constants in several forms are converted: the fingerprint tells them.)"
    ),
    "TLX312": (
        "Almost always `tl.debug_barrier`, between a store and a load of the same scratch memory, or to steer the "
        "compiler. If both sides belong to one consumer group it becomes that group's named barrier; if neither touches "
        "memory that another role reads, it can go."
    ),
    "TLX201": (
        "Base pointers and coordinates chosen by a run-time branch (forward and reverse scans, offsets per sequence), "
        "and coordinates that may be negative. The first needs addresses joined over branches, the second a masked copy."
    ),
    "TLX210": "Descriptors that the caller makes: the launcher must read shape, strides and box off the host's object.",
    "TLX202": "Rows gathered through loaded indices: a producer that copies row by row behind the same barriers.",
    "TLX104": "One name for a tile and later for something else: renaming apart before the analyses.",
    "TLX209": "Stores through block pointers: writing them as masked pointer stores.",
    "TLX304": "A dot under a condition whose arm does more than load: regions with ring counters of their own.",
    "TLX308": "Locks between programs: not for persistent schedules; the cooperative one could keep them.",
    "TLX204": "Masks that are no conjunction of bounds: the load stays with the consumer, which stores into the ring.",
    "TLX208": "Indices divided by a group size: an axis of its own with a stride, where the tile holds whole groups.",
}


def outcome(row: Row) -> str:
    """How simulating ended; empty for kernels that were not rewritten.

    "protocol" where only the check of the protocol has something against a kernel, "untried" where it was not asked.
    """
    simulated = str((row.get("simulated") or {}).get("outcome", ""))
    if simulated not in ("agrees", "short"):
        return simulated
    held = (row.get("protocol") or {}).get("outcome", "untried")
    return simulated if held == "holds" else "untried" if held == "untried" else "protocol"


def converted(row: Row) -> bool:
    """Whether a kernel counts as converted."""
    return outcome(row) == "agrees"


def share(rows: Iterable[Row], counts: Callable[[Row], bool] = converted) -> float:
    """The share of the kernels that count, in percent."""
    values = [counts(row) for row in rows]
    return 100 * sum(values) / len(values) if values else 0.0


def mean_share(rows: list[Row], key: str, counts: Callable[[Row], bool] = converted) -> float:
    """The mean of the shares of each group: a group with many kernels weighs no more than one with few."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row[key]].append(row)
    return sum(share(group, counts) for group in groups.values()) / max(1, len(groups))


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
        if outcome(row) in ("disagrees", "crash", "timeout", "source fails", "not run"):
            findings = row["simulated"]["findings"]
        elif outcome(row) == "protocol":
            findings = row["protocol"]["findings"]
        else:
            continue
        first = next(iter(findings), "").splitlines() or [""]
        yield f"- {outcome(row)}: `{row['name']}` ({row['package']}, `{row['path']}`): {first[0][:240].strip()}"


def table(rows: list[Row], revisions: tuple[str, ...] = ()) -> str:
    """The whole page. `revisions` are the commits that were measured."""
    looped = [row for row in rows if row["loop"]]
    shares = [
        [
            f"{title}, {what}",
            str(sum(map(counts, chosen))),
            f"{share(chosen, counts):.1f} %",
            f"{mean_share(chosen, 'package', counts):.1f} %",
            f"{mean_share(chosen, 'family', counts):.1f} %",
        ]
        for title, chosen in (("a dot in a loop that runs", looped), ("all dot kernels", rows))
        for what, counts in (("converted", converted), ("in place", COLUMNS["in place"]))
    ]
    placed = [row for row in rows if COLUMNS["in place"](row)]
    whole = sum(row["dots"]["in_registers"] == 0 for row in placed)
    rewritten = sum(row["off"]["verdict"] == "converted" for row in rows)
    bad = list(faults(rows))
    lines = [
        "# Coverage",
        "",
        "Made by `make coverage`. The kernels are those of `corpus/denominator.json`: every distinct kernel of ten public",
        "wheels that is launched and reaches a dot, listed by a script that shares no code with the converter.",
        "",
        *(
            [f"Measured at commit {', '.join(revisions)}: the figures know nothing of later changes.", ""]
            if revisions
            else []
        ),
        "*Converted* means: rewritten with the profit gate off, its barrier protocol proved as by `tlxify verify`, run on",
        "the simulator on launches inferred from its code, at 2·stages+1 trips of a dot loop or more on independent normal",
        "data, on the specialized kernel, and equal to its source. Of those, *in place*: the warp-group product reads a ring",
        "where it lies, for one dot of the kernel at least; in the others all that the producer loads passes through the",
        "consumers' registers, often to be converted or scaled there, and the source's own `tl.dot` multiplies it. Simulated are,",
        "for the first config with small tiles: 1 and 2·stages+1 trips, a ragged end, sizes",
        "one off a tile, contiguous rows; where no size counts the trips, 2·stages+1 tiles along every size. *Agree,",
        "short*: equal, but no launch had one program multiply so often in one place (a head dimension fixed by a constant,",
        "a length read from memory). *No contract*: it could be rewritten, but what a valid launch is cannot be told.",
        "*Protocol not shown*: equal, but the check of the protocol finds a fault, does not follow the text, or was not",
        "asked. *Crash*: the verifier could not make or run the launch. *Gate on*: converted, and also expected to gain by",
        "it; the conversion is the same then.",
        "",
        *markdown(["of the kernels with", "kernels", "share", "mean over packages", "mean over families"], shares),
        "",
        f"{whole} of the {len(placed)} kernels with a dot in place have all of their dots there.",
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
        "## Rewritten, but not equal or not proved",
        "",
        *(bad or ["None."]),
        "",
    ]
    return "\n".join(lines)
