"""Jobs for children of the tests of `tlxify.verify.child`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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


def spins(job, report):
    """Says who runs, itself and a process of its own, and never ends."""
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    Path(job.options["pids"]).write_text(f"{os.getpid()} {other.pid}\n")
    while True:
        pass
