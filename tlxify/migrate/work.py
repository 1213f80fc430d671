"""The work on one file, as plain data in and out. Runs in a child process (`worker.py`); nothing here writes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..job import Unreadable, converted, read
from ..outcome import FileConversion, KernelOutcome
from ..source import SourceFile
from ..verdict import Rung, Verdict
from .elsewhere import launched_elsewhere
from .family import families
from .record import SILENT, FileRecord, Finding, KernelRecord, Texts

#: A code at the beginning of why a rung was left out.
CODE = re.compile(r"\ATLX\d{3}\b")
#: Told where the work is, and whether the file's time begins anew (each verification has a clock of its own).
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Work:
    """What to do with one file."""

    file: str
    #: Only these kernels; None for all.
    kernels: tuple[str, ...] | None = None
    schedule: str = "auto"
    profitable: bool = True
    #: Name of the rung to prove each conversion up to, in lower case.
    upto: str = "none"
    #: Whose tiles are tried; None: as the file's project says.
    tiles: str | None = None
    #: What to convert to: "tlx" or "descriptors".
    tier: str = "tlx"
    #: The PATHs of the run: what other files below them launch are kernels.
    roots: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        """For `json.dumps`."""
        return asdict(self)

    @staticmethod
    def of(data: dict[str, Any]) -> Work:
        """The reverse of `data`."""
        kernels = tuple(data["kernels"]) if data["kernels"] is not None else None
        return Work(**{**data, "kernels": kernels, "roots": tuple(data["roots"])})


def kernel_names(work: Work) -> tuple[tuple[str, int], ...]:
    """Name and line of every kernel of a file: what is left to report where converting it at once did not work."""
    from ..parse.found import kernels_of
    from ..parse.kernels import with_decorators
    from ..parse.module import parse_module

    source = read(Path(work.file))
    if isinstance(source, FileConversion):
        return ()
    found = kernels_of(parse_module(source), launched_elsewhere(source, work.roots))
    places = {node.name: with_decorators(node).line for node, _ in found.beside}
    places |= {kernel.name: kernel.span.line for kernel in found.bindable}
    return tuple(places.items())


def record(work: Work, tell: Tell = lambda _: None) -> FileRecord:
    """Converts a file, and verifies what was converted as far as asked.

    Kernels whose verification fails stay as they were: the texts bind the others alone. Raises whatever the converter
    raises where it has a fault.
    """
    tell("converting")
    try:
        source = read(Path(work.file))
        elsewhere = launched_elsewhere(source, work.roots) if isinstance(source, SourceFile) else frozenset()
        conversion = _convert(work, work.kernels, elsewhere)
    except Unreadable as error:
        return FileRecord(work.file, findings=(Finding("TLX101", str(error)),))
    kinds = families(conversion.source, elsewhere)
    verdicts = _verified(conversion, Rung[work.upto.upper()], tell)
    kernels = [
        _kernel_record(item, kinds.get((item.name, item.span.line), "unknown"), verdicts, work.upto)
        for item in conversion.kernels
    ]
    findings = [Finding(item.code, item.message) for item in conversion.diagnostics if item.code not in SILENT]
    good = tuple(item.kernel for item in kernels if item.verdict == "converted" and item.passed)
    if good and len(good) < len(conversion.converted):
        tell("converting")
        conversion = _convert(work, good, elsewhere)
    texts = None
    if good:
        texts = Texts(conversion.source.text, conversion.patched_source_text, conversion.sidecar_text)
    return FileRecord(work.file, tuple(kernels), tuple(findings), texts)


def _convert(work: Work, kernels: tuple[str, ...] | None, elsewhere: frozenset[str]) -> FileConversion:
    return converted(
        Path(work.file),
        kernels or (),
        work.schedule,
        profitable=work.profitable,
        tiles=work.tiles,
        tier=work.tier,
        elsewhere=elsewhere,
    )


def _verified(conversion: FileConversion, upto: Rung, tell: Tell) -> dict[str, Verdict]:
    if upto is Rung.NONE:
        return {}
    from ..verify import verify

    verdicts = {}
    for kernel in conversion.converted:
        if kernel.conversion is not None:
            tell(f"verifying {kernel.name}")
            verdicts[kernel.name] = verify(kernel.conversion, upto=upto)
    return verdicts


def _kernel_record(kernel: KernelOutcome, family: str, verdicts: dict[str, Verdict], upto: str) -> KernelRecord:
    codes = tuple(sorted({item.code for item in kernel.diagnostics}))
    message = next((item.message for item in kernel.diagnostics), "")
    reportable = any(item.outcome in ("declined", "error") for item in kernel.diagnostics)
    rung, passed = None, True
    if (verdict := verdicts.get(kernel.name)) is not None:
        rung, passed = verdict.rung.name.lower(), verdict.passed and verdict.rung >= Rung[upto.upper()]
        if not verdict.passed:
            codes = tuple(sorted({*codes, "TLX603" if verdict.source_fails else "TLX601"}))
        elif not passed:  # nothing was found: what it takes to go on is not here
            codes = tuple(sorted({*codes, *(code for text in verdict.skipped for code in CODE.findall(text))}))
        message = next((f"{item.code}: {item.text}" for item in verdict.findings), message)
        if not passed and not message:
            message = "; ".join(verdict.skipped) or f"proved only up to {rung}"
    return KernelRecord(
        kernel.name, kernel.span.line, family, kernel.verdict_word, codes, message, rung, passed, reportable
    )
