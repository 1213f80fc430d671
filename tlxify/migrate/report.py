"""What a run over a tree came to, as the data behind `--report-json` and the summary on the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .record import FileRecord, KernelRecord

#: Version of the report's layout: raise it when a key changes its meaning.
SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts over all files."""

    files: int
    kernels: int
    verdicts: Counter[str]
    codes: Counter[str]
    #: (family, verdict) → kernels.
    families: Counter[tuple[str, str]]
    #: Conversions whose verification did not hold, or did not get as far as asked.
    failed: int
    #: Those among them in which nothing was found: what it takes to go on is not here.
    unproved: int

    @staticmethod
    def of(records: Iterable[FileRecord]) -> Summary:
        """The counts."""
        files = list(records)
        kernels = [kernel for record in files for kernel in record.kernels]
        return Summary(
            len(files),
            len(kernels),
            Counter(kernel.verdict for kernel in kernels),
            Counter(code for kernel in kernels for code in kernel.codes),
            Counter((kernel.family, kernel.verdict) for kernel in kernels),
            sum(not kernel.passed for kernel in kernels),
            sum(not kernel.passed and not kernel.refuted for kernel in kernels),
        )


def status(records: Sequence[FileRecord]) -> int:
    """The exit status: 2 if the tool failed on anything, 1 if there are findings, else 0."""
    if any(record.failed for record in records):
        return 2
    return int(any(record.reportable for record in records))


def report(records: Sequence[FileRecord], tool: str) -> dict[str, object]:
    """The report for `--report-json`; files and kernels in the order of paths and lines.

    `rung` is null where nothing was verified, `output` is the file that now holds the conversion or null; `summary`
    counts, and lists what was found about files as a whole.
    """
    ordered = sorted(records, key=lambda record: record.file)
    summary = Summary.of(ordered)
    families: dict[str, dict[str, int]] = {}
    for (family, verdict), count in sorted(summary.families.items()):
        families.setdefault(family, {})[verdict] = count
    return {
        "schema": SCHEMA,
        "tool": tool,
        "kernels": [
            kernel_data(record, kernel) for record in ordered for kernel in sorted(record.kernels, key=lambda k: k.line)
        ],
        "summary": {
            "files": summary.files,
            "kernels": summary.kernels,
            "verdicts": dict(sorted(summary.verdicts.items())),
            "codes": dict(sorted(summary.codes.items())),
            "families": families,
            "verification_failed": summary.failed,
            "findings": [
                {"file": record.file, "code": item.code, "message": item.message}
                for record in ordered
                for item in record.findings
            ],
        },
    }


def kernel_data(record: FileRecord, kernel: KernelRecord) -> dict[str, object]:
    """One kernel of the report."""
    written = record.output if kernel.verdict == "converted" and kernel.passed else None
    return {
        "file": record.file,
        "kernel": kernel.kernel,
        "line": kernel.line,
        "family": kernel.family,
        "verdict": kernel.verdict,
        "codes": list(kernel.codes),
        "rung": kernel.rung,
        "output": written,
    }
