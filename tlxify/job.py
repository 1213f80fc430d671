"""One run of a command over its files: what was converted, what was verified, and the exit status that follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import suppress
from .diagnostics import Decline, Diagnostic
from .outcome import FileConversion, KernelOutcome
from .source import SourceFile
from .verdict import Rung, Verdict

if TYPE_CHECKING:
    from .capture.launches import Capture

#: Given a title, a context whose value is called with what is being done.
Watch = Callable[[str], AbstractContextManager[Callable[..., None]]]


#: A file that does not parse, or has no kernel of the name that was asked for: nothing can be done with it.
UNUSABLE = ("TLX101", "TLX103")


class Unreadable(Exception):
    """A file cannot be read at all; the text says why."""


@dataclass(slots=True)
class Job:
    """One command's work on its files, and what it found so far."""

    verdicts: dict[tuple[str, str], Verdict] = field(default_factory=dict)
    conversions: list[FileConversion] = field(default_factory=list)
    #: The rung that was asked for.
    upto: Rung = Rung.NONE
    #: A file for the picture of a simulated launch; each kernel but the first adds its name to it.
    timeline: Path | None = None
    #: Launches of a program to verify on, instead of those of the contracts.
    captured: Capture | None = None
    #: The launch that a finding named, instead of all others.
    replay: str | None = None
    #: Options of the command that decide what is verified: findings repeat them.
    options: tuple[str, ...] = ()

    def picture(self, kernel: str) -> str | None:
        """The file for the picture of a kernel."""
        if self.timeline is None or not self.verdicts:
            return str(self.timeline) if self.timeline else None
        return str(self.timeline.with_stem(f"{self.timeline.stem}-{kernel}"))

    def failed(self, conversion: FileConversion) -> bool:
        """Whether a kernel of this file did not reach the rung that was asked for."""
        mine = [self.verdicts[path, name] for path, name in self.verdicts if path == conversion.source.path]
        return any(not verdict.passed or verdict.rung < self.upto for verdict in mine)

    def status(self) -> int:
        """The exit status: 2 if no file could be used at all, 1 if there is anything to report."""
        if self.conversions and all(map(unusable, self.conversions)):
            return 2
        return int(any(map(reportable, self.conversions)) or any(map(self.failed, self.conversions)))


def unusable(conversion: FileConversion) -> bool:
    """Whether the file cannot be worked on: it does not parse, or lacks the kernel that was named."""
    return any(item.code in UNUSABLE for item in conversion.diagnostics)


def reportable(conversion: FileConversion) -> bool:
    """Whether something was refused and no skip comment silences it."""
    kernels = (item for kernel in conversion.kernels for item in kernel.diagnostics)
    return any(item.outcome in ("declined", "error") for item in (*conversion.diagnostics, *kernels))


def read(path: Path) -> SourceFile | FileConversion:
    """The file, or the outcome that says why it cannot be read."""
    try:
        return SourceFile.read(path)
    except (SyntaxError, UnicodeDecodeError) as error:
        return FileConversion(SourceFile(str(path), ""), diagnostics=(Diagnostic.of("TLX101", None, why=error),))
    except OSError as error:
        raise Unreadable(f"cannot read {path}: {error.strerror}") from error


def converted(
    path: Path,
    kernels: Sequence[str],
    schedule: str,
    *,
    profitable: bool = True,
    tiles: str | None = None,
    tier: str = "tlx",
    elsewhere: frozenset[str] | None = None,
) -> FileConversion:
    """What converting the file at `path` comes to; a refusal of the whole file is an outcome like any other.

    `elsewhere` are the jit functions of the file that others launch; without it, those that other files of the
    package launch are looked for.
    """
    from .migrate.elsewhere import launched_in_package
    from .pipeline import convert as convert_source

    source = read(path)
    if isinstance(source, FileConversion):
        return source
    try:
        wanted = tuple(kernels) or None
        how: dict[str, Any] = {"schedule": schedule, "profitable": profitable, "tiles": tiles, "tier": tier}
        how["elsewhere"] = launched_in_package(source) if elsewhere is None else elsewhere
        return suppress.apply(convert_source(source, kernels=wanted, **how))
    except Decline as refusal:
        return FileConversion(source, diagnostics=(refusal.diagnostic,))


def standing(path: Path, kernels: Sequence[str]) -> FileConversion | None:
    """What the converted file at `path` holds; None if it is an ordinary file."""
    from .standing import as_it_stands

    source = read(path)
    if isinstance(source, FileConversion):
        return source
    try:
        return as_it_stands(source, tuple(kernels))
    except Decline as refusal:
        return FileConversion(source, diagnostics=(refusal.diagnostic,))


def paired(old: Path, new: Path, kernel: str, other: str | None) -> FileConversion:
    """Two versions of a kernel; a refusal is an outcome of the file that it speaks of."""
    from .config import contracts_of
    from .contracting import any_contract
    from .pairing import find, pair

    first, second = read(old), read(new)
    for source in (first, second):
        if isinstance(source, FileConversion):
            return source
    assert isinstance(first, SourceFile)
    assert isinstance(second, SourceFile)
    source = first
    try:
        before = find(first, kernel)
        contract = any_contract(before, contracts_of(old))
        source = second
        after = find(second, other or kernel)
        conversion = pair(before, contract, after, contracts_of(new))
    except Decline as refusal:
        return FileConversion(source, diagnostics=(refusal.diagnostic,))
    outcome = KernelOutcome(after.name, after.span, "converted", contract=contract, conversion=conversion)
    return FileConversion(second, (outcome,))


def verified(job: Job, conversion: FileConversion, watch: Watch) -> None:
    """Verifies each converted kernel up to the job's rung and notes its verdict."""
    if job.upto is Rung.NONE:
        return
    from .verify import verify as verify_conversion

    for kernel in conversion.converted:
        if kernel.conversion is not None:
            subject = replace(kernel.conversion, command=_command(job, conversion, kernel))
            more: dict[str, Any] = {} if job.replay is None else {"replay": job.replay}
            with watch(f"verifying {kernel.name}") as tell:
                if job.captured is not None:
                    from .capture.verified import verify_captured

                    launches = job.captured.of(kernel.name)
                    verdict = verify_captured(subject, launches, upto=job.upto, progress=tell, **more)
                    job.verdicts[conversion.source.path, kernel.name] = verdict
                    continue
                picture = job.picture(kernel.name)
                verdict = verify_conversion(subject, upto=job.upto, progress=tell, timeline=picture, **more)
            job.verdicts[conversion.source.path, kernel.name] = verdict


def _command(job: Job, conversion: FileConversion, kernel: KernelOutcome) -> tuple[str, ...]:
    """The words that verify a kernel again."""
    subject = kernel.conversion
    if subject is None or subject.version is None:
        return ("tlxify", "verify", conversion.source.path, "--kernel", kernel.name, *job.options)
    renamed = ("--as", kernel.name) if kernel.name != subject.kernel else ()
    return ("tlxify", "verify", subject.source_file, subject.file, "--kernel", subject.kernel, *renamed, *job.options)
