"""RECORD: what became of the kernels of one file, as plain data that travels between processes as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

#: Codes of what stopped the tool itself; everything else is about the user's code.
INTERNAL = "TLX120"
LIMIT = "TLX121"
#: Codes of what verification finds.
REFUTED = frozenset({"TLX601", "TLX603"})
#: A file without kernels is not worth a word when a whole tree is converted; what we generated is not either.
SILENT = ("TLX102", "TLX108")


@dataclass(frozen=True, slots=True)
class KernelRecord:
    """One kernel. `verdict` is a `tlxify.outcome.VerdictWord`."""

    kernel: str
    line: int
    family: str
    verdict: str
    codes: tuple[str, ...] = ()
    #: The first diagnostic's sentence, or what verification found.
    message: str = ""
    #: The highest rung proved, in lower case; None if nothing was verified.
    rung: str | None = None
    #: Verification held up to the rung that was asked for.
    passed: bool = True
    #: A diagnostic that no skip comment silences.
    reportable: bool = False

    @property
    def refuted(self) -> bool:
        """Whether verification found something, in the conversion or in the source."""
        return not self.passed and bool(REFUTED & set(self.codes))


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about a file rather than one of its kernels."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Texts:
    """What may be written: the source as the user wrote it, with its binding lines, and the sidecar."""

    original: str
    patched: str
    sidecar: str


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One file."""

    file: str
    kernels: tuple[KernelRecord, ...] = ()
    findings: tuple[Finding, ...] = ()
    #: None unless a kernel was converted and holds.
    texts: Texts | None = field(default=None, repr=False)
    #: Where the conversion was written, once it was.
    output: str | None = None

    def data(self) -> dict[str, Any]:
        """The record for `json.dumps`."""
        return asdict(self)

    @staticmethod
    def of(data: Mapping[str, Any]) -> FileRecord:
        """The record that `data` was made from, `json` in between."""
        kernels = tuple(KernelRecord(**{**item, "codes": tuple(item["codes"])}) for item in data["kernels"])
        findings = tuple(Finding(**item) for item in data["findings"])
        texts = Texts(**data["texts"]) if data["texts"] is not None else None
        return FileRecord(data["file"], kernels, findings, texts, data["output"])

    @property
    def failed(self) -> bool:
        """Whether the tool itself failed on something in this file."""
        codes = {code for kernel in self.kernels for code in kernel.codes} | {item.code for item in self.findings}
        return bool(codes & {INTERNAL, LIMIT})

    @property
    def reportable(self) -> bool:
        """Whether there is anything a person should look at."""
        return bool(self.findings) or any(kernel.reportable or not kernel.passed for kernel in self.kernels)
