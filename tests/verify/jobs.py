"""Jobs for children of the tests of `tlxify.verify.child`."""

from __future__ import annotations

import os

from tlxify.verdict import Evidence, Rung


def dies(job, report):
    """Tells something, then ends without a result."""
    report("one step")
    report.partial({"steps": 1}, [Evidence(Rung.RAN, False, "found", "something")])
    report.partial({"steps": 2}, [Evidence(Rung.RAN, False, "found", "something")])
    os._exit(3)


def switches(job, report):
    """What the environment of a child says."""
    return {name: value for name, value in os.environ.items() if name.startswith("TLXIFY")}, []
