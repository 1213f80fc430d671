"""How far every converted kernel of the corpus gets on a machine with a GPU: the whole ladder, up to the rung `ran`.

    python benchmarks/ran.py --json benchmarks/results/ran-h200.json --seconds 540
    python benchmarks/ran.py attention/forward gemm/matmul --json benchmarks/results/ran-h200.json --again

What the report says of a conversion that is unchanged and ran is kept, unless `--again` says otherwise. What is not in
the report comes first, then what did not run, then what has changed; so a run that is cut short by `--seconds` is
continued by the next. The report is written after each kernel. Exit status 1 if a kernel was not tried or did not run;
one whose source fails on the GPU is named and is no fault of the conversion.

Needs what `tlxify verify` needs, and torch. A kernel takes some 2 cores for a minute: `--at-a-time` half the cores.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.kernels import Kernel, kernels
from tlxify.pipeline import TIERS
from tlxify.verdict import Rung, Verdict
from tlxify.verify import Limits, verify

COMMAND = "python benchmarks/ran.py"
#: Seconds that one child may take, and that a kernel takes of which nothing is known.
CHILD, USUAL = 240.0, 60.0
#: Facts of the rung that a report repeats, in this order.
TOLD = ("launches", "numerics", "stability", "dispatch", "bitwise")


class TimeIsUp(Exception):
    """The whole command must end now: what is being verified is left for the next time."""


def entry_of(kernel: Kernel, verdict: Verdict, seconds: float) -> dict[str, object]:
    """One kernel's line of the report."""
    told = {item.code: item.text for item in verdict.evidence if item.rung is Rung.RAN and item.ok}
    entry: dict[str, object] = {"kernel": kernel.name, "rung": verdict.rung.name.lower(), "made": kernel.made}
    entry["seconds"] = round(seconds, 1)
    if ran := "; ".join(told[code] for code in TOLD if code in told):
        entry["ran"] = ran
    if verdict.source_fails:
        entry["source_fails"] = True
    failures = [item for item in verdict.evidence if item.code in ("source-fails", "contract-fault")]
    stopped = [f"{item.code}: {item.text}" for item in (*verdict.findings, *failures)]
    if stopped or verdict.skipped:
        entry["stopped" if verdict.rung < Rung.RAN else "noted"] = [*stopped, *verdict.skipped]
    return entry


def order(found: list[Kernel], known: dict[str, dict], *, again: bool) -> list[Kernel]:
    """What is to be done, most wanted first: unknown, not run yet, changed; of equals the slowest."""

    def settled(kernel: Kernel) -> int:
        entry = known.get(kernel.name)
        if entry is None:
            return 0
        if entry["rung"] != "ran" and not entry.get("source_fails"):
            return 1
        return 3 if entry.get("made") == kernel.made else 2

    todo = [kernel for kernel in found if again or settled(kernel) < 3]
    return sorted(todo, key=lambda kernel: (settled(kernel), -known.get(kernel.name, {}).get("seconds", USUAL)))


class Run:
    """One run of the command: who works on what, until when, and the report."""

    def __init__(self, path: Path, deadline: float) -> None:
        self.path, self.deadline = path, deadline
        self.report: dict = json.loads(path.read_text()) if path.exists() else {}
        self.known: dict[str, dict] = {entry["kernel"]: entry for entry in self.report.get("kernels", ())}
        self.left: list[str] = []
        self._lock = threading.Lock()

    def work(self, kernel: Kernel) -> None:
        """Verifies one kernel, if there is time."""
        begun = time.monotonic()
        expected = self.known.get(kernel.name, {}).get("seconds", USUAL)
        try:
            if begun + min(expected, USUAL) > self.deadline:
                raise TimeIsUp
            verdict = verify(kernel.conversion, upto=Rung.RAN, progress=self._tick, limits=Limits(CHILD))
        except TimeIsUp:
            with self._lock:
                self.left.append(kernel.name)
            return
        entry = entry_of(kernel, verdict, time.monotonic() - begun)
        with self._lock:
            self.known[kernel.name] = entry
            self.write()
            print(
                f"{entry['kernel']:34}{entry['rung']:11}{entry['seconds']:6} s", *entry.get("stopped", ()), flush=True
            )

    def _tick(self, text: str) -> None:
        """Called for every step of a child: ends it when the time is up."""
        if time.monotonic() > self.deadline:
            raise TimeIsUp

    def write(self) -> None:
        """Writes the report as it is now."""
        import torch
        import triton

        device = torch.cuda.get_device_name() if torch.cuda.is_available() else "none"
        about = {"device": device, "torch": torch.__version__, "triton": triton.__version__, "command": COMMAND}
        report = {**about, "kernels": [self.known[name] for name in sorted(self.known)]}
        beside = self.path.with_suffix(".tmp")
        beside.write_text(json.dumps(report, indent=1) + "\n")
        beside.replace(self.path)


def main() -> int:
    """The command; returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="attention/forward, …; all by default")
    parser.add_argument("--tier", choices=TIERS, default=TIERS[0], help="what the kernels are converted to")
    parser.add_argument("--json", type=Path, required=True, help="the report, continued if it is there")
    parser.add_argument("--seconds", type=float, default=540.0, help="end by then, whatever is left")
    parser.add_argument("--at-a-time", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    parser.add_argument("--again", action="store_true", help="also what ran and has not changed")
    options = parser.parse_args()
    begun = time.monotonic()
    found = kernels(options.kernels, tier=options.tier)
    run = Run(options.json, begun + options.seconds)
    if not options.kernels:  # what converts no more is not in the report any more
        run.known = {name: run.known[name] for name in {kernel.name for kernel in found} & run.known.keys()}
    todo = order(found, run.known, again=options.again)
    print(f"{len(todo)} of {len(found)} kernels to do, {options.at_a_time} at a time", flush=True)
    with ThreadPoolExecutor(options.at_a_time) as pool:
        for done in [pool.submit(run.work, kernel) for kernel in todo]:
            done.result()
    run.write()
    entries = [run.known.get(kernel.name, {}) for kernel in found]
    ran = sum(entry.get("rung") == "ran" for entry in entries)
    failing = [entry["kernel"] for entry in entries if entry.get("source_fails")]
    print(f"{ran} of {len(found)} ran in {time.monotonic() - begun:.0f} s")
    if failing:
        print(f"the source fails: {', '.join(failing)}")
    if run.left:
        print(f"no time for {', '.join(sorted(run.left))}: give the same command again")
    return int(bool(run.left) or ran + len(failing) < len(found))


if __name__ == "__main__":
    sys.exit(main())
