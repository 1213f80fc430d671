"""OUTCOME: what converting a file came to, kernel by kernel. What the command line shows and `--json` prints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from .contract import Contract
from .diagnostics import Diagnostic
from .limit import Limit, Untold
from .source import SourceFile, Span

if TYPE_CHECKING:
    from .conversion import Conversion
    from .plan import Plan

#: In one word, what became of a kernel.
VerdictWord = Literal["converted", "declined", "unprofitable", "no-dot"]
#: What a source line is for. A line may have several roles; one without any is dropped (`dead`).
Role = Literal["producer", "transform", "consumer", "epilogue", "address", "dead"]


@dataclass(frozen=True, slots=True)
class RoleLine:
    """One line of the kernel, or of a helper written out in it, and the warps that run it. `line` counts from 1."""

    line: int
    text: str
    roles: frozenset[str]
    #: One short clause: why it has these roles.
    why: str = ""
    #: The file of the line, where that is another than the kernel's.
    file: str | None = None


@dataclass(frozen=True, slots=True)
class KernelOutcome:
    """What became of one kernel."""

    name: str
    span: Span
    verdict_word: VerdictWord
    diagnostics: tuple[Diagnostic, ...] = ()
    plan: Plan | None = None
    roles: tuple[RoleLine, ...] = ()
    contract: Contract | None = None
    #: What `verify` checks; None unless converted.
    conversion: Conversion | None = None
    #: What limits it, or why that cannot be said; None unless asked for.
    limit: Limit | Untold | None = None


@dataclass(frozen=True, slots=True)
class FileConversion:
    """What became of one file, and the texts that the command line may write."""

    #: Without the lines that an earlier `--write` added.
    source: SourceFile
    kernels: tuple[KernelOutcome, ...] = ()
    #: Diagnostics of the file itself rather than of one kernel.
    diagnostics: tuple[Diagnostic, ...] = ()
    #: Makes `module_text`: laying it out takes as long as all else, and most callers do not ask for it.
    whole: Callable[[], str] = field(default=str, repr=False, compare=False)
    #: The specialized kernels alone, for `FILE_tlx.py` beside the source: what `--write` adds.
    sidecar_text: str = ""
    #: The source with its guarded import and one binding line per kernel: what `--write` replaces.
    patched_source_text: str = ""

    @property
    def module_text(self) -> str:
        """One self-contained module: what `-o` writes. Empty if nothing was converted."""
        return self.whole()

    @property
    def converted(self) -> tuple[KernelOutcome, ...]:
        """The kernels that were converted."""
        return tuple(kernel for kernel in self.kernels if kernel.verdict_word == "converted")
