"""A run over trees: find, convert side by side, write what holds."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..diagnostics import Diagnostic
from ..files import FileError
from .discover import Found, discover
from .pool import Limits, records
from .record import FileRecord, Finding
from .tree import Copy, copied, write_in_place
from .work import Work

#: Told how many files are done, of how many, and what is being done with which.
Watch = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Request:
    """What to migrate, and how."""

    paths: tuple[Path, ...]
    schedule: str = "auto"
    profitable: bool = True
    #: Name of the rung that each conversion must reach, in lower case, before it is written.
    upto: str = "none"
    #: Where a converted copy goes; None for no copy.
    output: Path | None = None
    #: Bind conversions in the tree itself.
    write: bool = False
    limits: Limits = field(default_factory=Limits)
    #: Whose tiles are tried, "own" or "user"; None: as each file's project says.
    tiles: str | None = None
    #: What to convert to: "tlx" or "descriptors".
    tier: str = "tlx"


def migrate(request: Request, watch: Watch = lambda *_: None) -> list[FileRecord]:
    """Converts every file below the paths; one record per file, in the order of discovery.

    Nothing of the user's is imported or run unless verification was asked for, and then only in child processes. Raises
    FileError if the output is in the way of something.
    """
    found = {str(item.path): item for item in discover(request.paths)}
    roots = tuple(map(str, request.paths))
    works = [
        Work(file, None, request.schedule, request.profitable, request.upto, request.tiles, request.tier, roots)
        for file in found
    ]
    done: dict[str, FileRecord] = {}
    with ExitStack() as stack:
        copy = stack.enter_context(copied(request.paths, request.output)) if request.output else None
        coming = records(works, request.limits, lambda file, text: watch(len(done), len(found), f"{file}: {text}"))
        stack.callback(coming.close)
        for record in coming:
            written = _written(record, found[record.file], copy, request.write)
            done[record.file] = replace(written, texts=None)
            watch(len(done), len(found), record.file)
    return [done[file] for file in found]


def _written(record: FileRecord, found: Found, copy: Copy | None, write: bool) -> FileRecord:
    """The record with its output, once that is written. What cannot be written is a finding."""
    if record.texts is None or not (copy or write):
        return record
    try:
        output = copy.write(found, record.texts) if copy else write_in_place(record)
    except FileError as error:
        diagnostic = Diagnostic.of("TLX122", None, name=record.file, why=error)
        return replace(record, findings=(*record.findings, Finding(diagnostic.code, diagnostic.message)))
    return replace(record, output=str(output))
