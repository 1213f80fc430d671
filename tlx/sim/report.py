"""The result of a simulation."""

from __future__ import annotations

from dataclasses import dataclass, field

from .findings import Finding
from .recording import Recording
from .sharing import Clash
from .sites import Site


class FindingsError(AssertionError):
    """A simulation ended with findings; ``report`` has them."""

    def __init__(self, report: Report) -> None:
        self.report = report
        super().__init__("\n\n".join(str(finding) for finding in report.findings))


class SimulationError(Exception):
    """The kernel cannot be simulated: it is not valid Triton or TLX, or uses something the simulator does not know."""

    def __init__(self, message: str, site: Site | None = None) -> None:
        self.site = site
        self.message = message
        super().__init__(f"{site}: {message}\n  {site.text}" if site is not None else message)


class EndlessError(SimulationError):
    """A program does not end: a loop turns and turns, and nothing comes of it."""


class AssumptionError(SimulationError):
    """What the kernel takes for granted (`tl.assume`, `tl.static_assert`) does not hold: it is never launched so."""


@dataclass(frozen=True, slots=True)
class Report:
    """What happened in all simulated CTAs."""

    findings: tuple[Finding, ...]
    #: the schedule, as ``run(schedule=...)`` takes it
    schedule: str
    #: scheduling points passed
    steps: int
    #: asynchronous operations completed
    events: int
    #: CTAs simulated
    programs: int
    #: lines whose rounding the lifted run could not remove (casts to integers and fp8, bit casts)
    unlifted: tuple[Site, ...] = field(default=())
    #: how often one program executed one ``tl.dot``, at most
    trips: int = 0
    #: the same of TMA loads: how often it filled its slots
    fills: int = 0
    #: programs that touch the same memory with nothing to order them, if ``run`` was told to look
    clashes: tuple[Clash, ...] = ()
    #: the choices that were made, if ``run`` was told to record them
    recording: Recording | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    @property
    def codes(self) -> frozenset[str]:
        """The codes of all findings."""
        return frozenset(finding.code for finding in self.findings)

    def raise_for_findings(self) -> Report:
        """Returns the report itself, or raises.

        Raises:
            FindingsError: something was found.
        """
        if self.findings:
            raise FindingsError(self)
        return self
