"""The findings of a run as they come in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .findings import Finding
from .observer import Observer
from .sites import Site

#: enough to understand a kernel that is wrong everywhere
MOST_FINDINGS = 50


class Findings:
    """All findings of a run; the same fault at the same lines counts once."""

    def __init__(self, schedule: str, observer: Observer | None = None) -> None:
        self.schedule = schedule
        self.observer = observer
        self.program = (0, 0, 0)
        self._found: dict[Any, Finding] = {}

    def add(
        self,
        kind: type[Finding],
        what: str,
        site: Site,
        other: Site | None = None,
        agents: tuple[str, ...] = (),
        barriers: tuple[str, ...] = (),
    ) -> None:
        """Records one."""
        key = (kind.code, site, other)
        if key not in self._found and len(self._found) < MOST_FINDINGS:
            finding = kind(what, site, other, agents, barriers, self.program, self.schedule)
            self._found[key] = finding
            if self.observer is not None:
                self.observer.found(finding)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._found.values())
