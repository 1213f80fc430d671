"""What a child process tells its parent: lines of JSON. The child ran foreign code, so nothing else is believed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..sites import NOWHERE, Site
from .simulator import Found, Simulated

#: of the JSON that ``--json`` prints; advances when a field changes its meaning
SCHEMA = 1


def site_data(site: Site | None) -> dict[str, Any] | None:
    """A line of a file."""
    if site is None or site == NOWHERE:
        return None
    return {"file": site.file, "line": site.line, "text": site.text}


def finding_data(found: Found) -> dict[str, Any]:
    """A finding with its launch."""
    finding = found.finding
    return {
        "code": finding.code,
        "what": finding.what,
        "site": site_data(finding.site),
        "other": site_data(finding.other),
        "agents": list(finding.agents),
        "barriers": list(finding.barriers),
        "program": list(finding.program),
        "schedule": finding.schedule,
        "remedy": finding.remedy,
        "kernel": found.kernel,
        "launch": found.launch,
        "schedules": found.schedules,
    }


def launch_data(launch: Simulated) -> dict[str, Any]:
    """A launch."""
    return {
        "kernel": launch.kernel,
        "grid": list(launch.grid),
        "programs": launch.programs,
        "schedules": launch.schedules,
        "events": launch.events,
        "search": launch.search,
        "depends_on_schedule": launch.depends_on_schedule,
    }


def error_data(message: str, site: Site | None = None) -> Mapping[str, Any]:
    """Why the tool could not do its job."""
    return {"message": message, "site": site_data(site)}
