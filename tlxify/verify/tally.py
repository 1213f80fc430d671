"""What was simulated, and how it went, as counts that a child can tell its parent."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..verdict import Evidence
from .buffers import Arguments
from .cases import DRAWN, Case
from .compare import Comparison


@dataclass(slots=True)
class Tally:
    """What was run, and how it went."""

    cases: int = 0
    #: Findings, repeated ones included: a case stops at its first.
    failed: int = 0
    runs: int = 0
    configs: set[int] = field(default_factory=set)
    #: Those of them that a launch of their own took: others are only met by chance, and then perhaps with zeros alone.
    owing: set[int] = field(default_factory=set)
    specialized: int = 0
    original: int = 0
    identical: int = 0
    compared: int = 0
    #: Worst error of the conversion and of the source on the same output.
    worst: tuple[float, float] = (0.0, 0.0)
    #: Cases of which the source was run, and those of them that have no exact oracle.
    references: int = 0
    unlifted: int = 0
    #: Element types of tensors in cases with an exact oracle, and in those without.
    lifted_types: set[str] = field(default_factory=set)
    unlifted_types: set[str] = field(default_factory=set)
    #: How often one program of the source executed one dot, at most.
    trips: int = 0
    #: Programs of one launch that was compared, at most.
    programs: int = 0
    #: How often one program of the conversion filled the slots of one place, at most.
    fills: int = 0
    #: Configs, each with an output that some launch of it made something else of than zeros.
    telling: set[tuple[int, str]] = field(default_factory=set)
    source_fails: str = ""
    #: Launches that were not compared, by reason.
    skipped: dict[str, int] = field(default_factory=dict)
    #: Why no launch can be made of the first such case among those that the specialized kernel must take.
    unmade: str = ""
    findings: dict[tuple[str, int, str], Evidence] = field(default_factory=dict)

    def found(self, evidence: Evidence) -> None:
        """Keeps one finding per kind and line."""
        self.failed += 1
        key = (evidence.code, evidence.line, evidence.text if evidence.code == "dispatch" else "")
        self.findings.setdefault(key, evidence)

    def skip(self, why: str) -> None:
        """Counts a launch that was not compared."""
        self.skipped[why] = self.skipped.get(why, 0) + 1

    def took(self, case: Case) -> None:
        """Counts a case that the specialized kernel takes."""
        self.specialized += 1
        self.configs.add(case.config)
        self.owing |= {case.config} if case.name != DRAWN else set()

    def referred(self, arguments: Arguments, *, exact: bool) -> None:
        """Counts a case whose source was run, and whether what it would be without rounding is known."""
        self.references += 1
        self.unlifted += not exact
        types = self.lifted_types if exact else self.unlifted_types
        types.update(memory.dtype for memory in arguments.tensors.values())

    def compared_with(self, comparison: Comparison) -> None:
        """Counts one comparison."""
        self.compared += 1
        self.identical += comparison.identical
        # What is no rounding is a finding, or the source does it too from one order of its programs to the next.
        if comparison.mismatch is None:
            self.worst = max(self.worst, (comparison.error, comparison.source_error))
