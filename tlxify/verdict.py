"""VERDICT: what verification found out about one conversion, rung by rung."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum


class Rung(IntEnum):
    """How far a conversion has been proved; each rung includes those below it."""

    NONE = 0
    #: The barrier protocol of the text is sound: every wait has an arrive, bytes add up, slots are freed after use.
    PROTOCOL = 1
    #: Simulated on the CPU: schedules × shapes, no race, no deadlock, results equal to source and oracle.
    SIMULATED = 2
    #: Compiled to a cubin for the target whose machine code is really warp-specialized and does not spill.
    COMPILED = 3
    #: Ran on a GPU with results as stable as the source's own.
    RAN = 4


@dataclass(frozen=True, slots=True)
class Evidence:
    """One fact that a rung rests on, or the finding that stopped it."""

    rung: Rung
    ok: bool
    #: Stable kebab-case name: "race", "deadlock", "mismatch", "stack", "schedules" …
    code: str
    #: One line for people.
    text: str
    #: Longer explanation: source lines, barrier states, how to replay.
    detail: str = ""
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome for one kernel."""

    kernel: str
    rung: Rung
    evidence: tuple[Evidence, ...] = ()
    #: The source kernel itself fails on these inputs: not a fault of the conversion.
    source_fails: bool = False
    #: What could not be checked, and why (no GPU, no Triton …).
    skipped: tuple[str, ...] = field(default=())

    @property
    def findings(self) -> tuple[Evidence, ...]:
        """What went wrong."""
        return tuple(item for item in self.evidence if not item.ok)

    @property
    def passed(self) -> bool:
        """No rung that was tried has failed."""
        return not self.findings and not self.source_fails
