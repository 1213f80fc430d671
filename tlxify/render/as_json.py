"""Outcomes and verdicts as plain data for `--json`.

The layout is public: raise `SCHEMA` when a key changes its meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from ..diagnostics import Diagnostic
from ..limit import Limit, Untold
from ..outcome import FileConversion, KernelOutcome, RoleLine
from ..source import SourceFile
from ..verdict import Verdict
from .dump import dump

SCHEMA = 1


def diagnostic_data(diagnostic: Diagnostic, source: SourceFile) -> dict[str, object]:
    """Code, outcome, texts and place; columns count characters from 1."""
    data: dict[str, object] = {
        "code": diagnostic.code,
        "outcome": diagnostic.outcome,
        "message": diagnostic.message,
        "remedy": diagnostic.remedy,
        "facts": dict(diagnostic.facts),
    }
    if diagnostic.span is not None:
        if diagnostic.file is not None:
            source = diagnostic.file
            data["file"] = source.path
        prefix = source.line(diagnostic.span.line).encode()[: diagnostic.span.column]
        data |= {"line": diagnostic.span.line, "column": len(prefix.decode(errors="replace")) + 1}
    return data


def verdict_data(verdict: Verdict) -> dict[str, object]:
    """The ladder: rung, whether everything tried passed, and each piece of evidence."""
    return {
        "rung": verdict.rung.name.lower(),
        "passed": verdict.passed,
        "source_fails": verdict.source_fails,
        "skipped": list(verdict.skipped),
        "evidence": [
            {
                "rung": item.rung.name.lower(),
                "ok": item.ok,
                "code": item.code,
                "text": item.text,
                "detail": item.detail,
                "file": item.file,
                "line": item.line,
            }
            for item in verdict.evidence
        ],
    }


def role_data(line: RoleLine) -> dict[str, object]:
    """One line of a role map; `file` where the line is a helper's in another file."""
    data: dict[str, object] = {"line": line.line, "roles": sorted(line.roles), "why": line.why}
    return data if line.file is None else data | {"file": line.file}


def limit_data(limit: Limit | Untold | None) -> dict[str, object] | None:
    """What limits a kernel, with everything that it follows from; `word` is None where that is not known."""
    match limit:
        case None:
            return None
        case Untold(why=why):
            return {"word": None, "why": why}
        case Limit(trip=trip, rates=rates, spread=spread):
            data = {"word": limit.word, "intensity": limit.intensity, "ridge": rates.ridge, **asdict(limit)}
            if trip is not None:
                effort = trip.effort
                cycles = {"tensor": effort.tensor, "memory": effort.memory(rates), "vector": effort.vector(rates)}
                data["trip"] = {**asdict(trip), "cycles": cycles}
            return data if spread is None else data | {"spread": {**asdict(spread), "idle": spread.idle}}


def kernel_data(kernel: KernelOutcome, source: SourceFile, verdict: Verdict | None) -> dict[str, object]:
    """One kernel."""
    return {
        "kernel": kernel.name,
        "line": kernel.span.line,
        "verdict": kernel.verdict_word,
        "codes": sorted({diagnostic.code for diagnostic in kernel.diagnostics}),
        "diagnostics": [diagnostic_data(diagnostic, source) for diagnostic in kernel.diagnostics],
        "roles": [role_data(line) for line in kernel.roles],
        "limit": limit_data(kernel.limit),
        "plan": None if kernel.plan is None else dump(kernel.plan),
        "verification": None if verdict is None else verdict_data(verdict),
    }


def file_data(conversion: FileConversion, verdicts: Mapping[str, Verdict]) -> dict[str, object]:
    """One file with its kernels."""
    source = conversion.source
    return {
        "file": source.path,
        "diagnostics": [diagnostic_data(diagnostic, source) for diagnostic in conversion.diagnostics],
        "kernels": [kernel_data(kernel, source, verdicts.get(kernel.name)) for kernel in conversion.kernels],
    }
