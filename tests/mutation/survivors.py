"""The reviewed list of breaks that nothing notices, each with the class of its reason."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LIST = Path(__file__).with_name("survivors.toml")
#: class → what a run of the break must show
CLASSES = {
    "dead-code": "what was changed is never evaluated, in any launch tried",
    "equal-trace": "every event is the same as the original's, in the same order, on every schedule",
    "speed-only": "same results and findings on every schedule and in the orders searched: no new wait cycle",
}


@dataclass(frozen=True, slots=True)
class Reviewed:
    """One entry of the list."""

    files: tuple[str, ...]
    #: the line as it stands, without its indentation
    text: str
    mutation: str
    kind: str
    reason: str

    def covers(self, file: str, text: str, mutation: str) -> bool:
        """Whether a survivor is this one."""
        return file in self.files and (self.text, self.mutation) == (text, mutation)


def reviewed(data: dict[str, Any] | None = None) -> list[Reviewed]:
    """The list, or one in the same form.

    Raises:
        ValueError: an entry has a class that nothing checks, or no reason.
    """
    if data is None:
        data = tomllib.loads(LIST.read_text(encoding="utf-8"))
    found = []
    for entry in data.get("survivor", ()):
        item = Reviewed(tuple(entry["files"]), entry["text"], entry["mutation"], entry["class"], entry["reason"])
        if item.kind not in CLASSES:
            raise ValueError(f"{item.text!r}: unknown class {item.kind!r}, known are {', '.join(CLASSES)}")
        if not item.reason.strip():
            raise ValueError(f"{item.text!r}: no reason")
        found.append(item)
    return found


def complaints(
    survivors: Iterable[dict[str, Any]], entries: Iterable[Reviewed], files: Iterable[str], share: float, most: float
) -> list[str]:
    """What is wrong with a run's survivors.

    Args:
        survivors: each with file, text, mutation and the classes that were found to hold.
        entries: the reviewed list.
        files: those whose breaks were run: other entries are not asked for.
        share: of all breaks, how many survive.
        most: the largest share allowed.
    """
    found = [f"{share:.1%} survive, {most:.0%} may"] if share > most else []
    entries, seen, run = list(entries), set(), set(files)
    for one in survivors:
        where = f"{one['file']}, {one['mutation']}: {one['text']}"
        entry = next((e for e in entries if e.covers(one["file"], one["text"], one["mutation"])), None)
        if entry is None:
            found.append(f"not reviewed ({', '.join(one['classes']) or 'no class holds'}): {where}")
        elif entry.kind not in one["classes"]:
            found.append(f"reviewed as {entry.kind}, which does not hold: {where}")
        if entry is not None:
            seen.add((one["file"], entry.text, entry.mutation))
    for entry in entries:
        for file in entry.files:
            if file in run and (file, entry.text, entry.mutation) not in seen:
                found.append(f"on the list, but noticed: {file}, {entry.mutation}: {entry.text}")
    return found
