"""Public kernels, converted and verified against their sources up to a rung, several at a time.

    python benchmarks/public.py --wheels FOLDER --out benchmarks/results/public-h200.json
    python benchmarks/public.py --wheels FOLDER --out checked.json --upto compiled --jobs 1 [KERNEL ...]

`--wheels` holds the unpacked wheels, one folder per distribution (`FOLDER/liger-kernel/liger_kernel/...`); which
kernels are taken is in `public.toml`. Each is one `tlxify verify` of its own process: every config, 30 repeats on the
GPU. The result is written after each kernel and goes on from what is there already: a kernel that reached the rung is
not run again. No kernel is begun that could not end within `--seconds` of the start. Exit status 1 if one did not reach
it.

Needs tlxify with its extra `cpu`; for the rung `ran`, torch and a Hopper GPU as well.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
CLI = (sys.executable, "-c", "from tlxify.cli import main; main()")
RUNGS = ("none", "protocol", "simulated", "compiled", "ran")
#: A kernel that is begun with less time than this would be cut off.
LEAST_SECONDS = 30.0


@dataclass(frozen=True)
class Entry:
    """One public kernel."""

    package: str
    version: str
    path: str
    kernel: str

    @property
    def name(self) -> str:
        return f"{self.package} {self.path} {self.kernel}"


def entries(file: Path = HERE / "public.toml") -> list[Entry]:
    """The kernels of the list, those of each package in turn, so that a run cut short has seen all packages."""
    packages = tomllib.loads(file.read_text())
    columns = []
    for package, paths in packages.items():
        version = paths.pop("version")
        columns.append([Entry(package, version, path, kernel) for path, names in paths.items() for kernel in names])
    longest = max(map(len, columns))
    return [column[row] for row in range(longest) for column in columns if row < len(column)]


def descendants(pid: int) -> Iterator[int]:
    """The processes that a process has started, and theirs."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            child = int(stat.parent.name)
            yield child
            yield from descendants(child)


def end(process: subprocess.Popen[str]) -> None:
    """Ends a verification with the children it has in sessions of their own."""
    for pid in (*descendants(process.pid), process.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def outcome(text: str, wheels: Path) -> dict[str, object]:
    """What the report of `tlxify verify --json` says of its one kernel, without the folder that the wheels lie in."""
    text = text.replace(f"{wheels}{os.sep}", "")
    kernels = [kernel for file in json.loads(text)["files"] for kernel in file["kernels"]]
    found = [item for file in json.loads(text)["files"] for item in file.get("diagnostics", ())]
    if not kernels:
        return {"rung": "none", "stopped": [f"{item['code']}: {item['message']}" for item in found]}
    (kernel,) = kernels
    verdict = kernel.get("verification")
    if verdict is None:
        return {"rung": "none", "stopped": [f"{item['code']}: {item['message']}" for item in kernel["diagnostics"]]}
    evidence = [f"{item['rung']} {item['code']}: {item['text']}" for item in verdict["evidence"] if item["ok"]]
    stopped = [f"{item['code']}: {item['text']}" for item in verdict["evidence"] if not item["ok"]]
    told: dict[str, object] = {"rung": verdict["rung"], "evidence": evidence}
    if stopped or verdict.get("source_fails"):
        told["stopped"] = stopped or ["the source itself fails"]
    if verdict.get("skipped"):
        told["skipped"] = list(verdict["skipped"])
    return told


def verified(entry: Entry, wheels: Path, upto: str, limit: float) -> dict[str, object]:
    """The record of one kernel. `limit`: seconds that its verification may take."""
    begun = time.monotonic()
    known = {"package": entry.package, "version": entry.version, "path": entry.path, "kernel": entry.kernel}
    file = wheels / entry.package / entry.path
    command = [*CLI, "verify", str(file), "--kernel", entry.kernel, "--upto", upto, "--json"]
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    try:
        out, err = process.communicate(timeout=limit)
        try:
            told = outcome(out, wheels)
        except (ValueError, KeyError) as error:
            told = {"rung": "none", "stopped": [f"no report: {error!r}", err[-1500:] or out[-1500:]]}
    except subprocess.TimeoutExpired:
        end(process)
        process.communicate()
        told = {"rung": "none", "stopped": [f"not done within {limit:.0f} s"]}
    return {**known, **told, "seconds": round(time.monotonic() - begun, 1)}


def machine() -> dict[str, str]:
    """What ran the kernels."""
    code = (
        "import json, importlib.metadata as m, torch\n"
        "gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else 'no GPU'\n"
        "print(json.dumps({'device': gpu, 'torch': torch.__version__, 'triton': m.version('triton')}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else {"device": "no GPU"}


class Results:
    """The records so far, in the file they are kept in."""

    def __init__(self, file: Path, upto: str) -> None:
        self.file, self.upto = file, upto
        self.lock = threading.Lock()
        self.head: dict[str, object] = machine()
        self.head["command"] = f"tlxify verify WHEEL/PATH --kernel NAME --upto {upto}"
        known = json.loads(file.read_text())["kernels"] if file.exists() else []
        self.kernels = {f"{k['package']} {k['path']} {k['kernel']}": k for k in known}

    def reached(self, entry: Entry) -> bool:
        """Whether a kernel is already as far as it should come."""
        known = self.kernels.get(entry.name)
        return known is not None and RUNGS.index(known["rung"]) >= RUNGS.index(self.upto)

    def add(self, entry: Entry, record: dict[str, object]) -> None:
        with self.lock:
            self.kernels[entry.name] = record
            kernels = [self.kernels[name] for name in sorted(self.kernels)]
            beside = self.file.with_suffix(".new")
            beside.write_text(json.dumps({**self.head, "kernels": kernels}, indent=1) + "\n")
            beside.replace(self.file)


def main() -> int:
    """Verifies the kernels; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", help="only kernels with one of these words in package, path or name")
    parser.add_argument("--wheels", type=Path, required=True, help="folder of unpacked wheels")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--upto", choices=RUNGS[1:], default="ran")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2), help="kernels at a time")
    parser.add_argument("--seconds", type=float, default=540.0, help="for all kernels together")
    parser.add_argument("--limit", type=float, default=400.0, help="seconds for one kernel")
    options = parser.parse_args()
    begun = time.monotonic()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    results = Results(options.out, options.upto)
    chosen = [e for e in entries() if not options.kernels or any(word in e.name for word in options.kernels)]
    # Those that were never tried go first: what stopped once may stop again.
    waiting = sorted((e for e in chosen if not results.reached(e)), key=lambda e: e.name in results.kernels)

    def work(entry: Entry) -> None:
        left = options.seconds - (time.monotonic() - begun)
        if left < LEAST_SECONDS:
            print(f"{'not begun':10} {entry.name}", flush=True)
            return
        record = verified(entry, options.wheels, options.upto, min(options.limit, left - 5.0))
        results.add(entry, record)
        print(f"{record['rung']:10} {record['seconds']:6.1f} s  {entry.name}", flush=True)
        for text in record.get("stopped", ()):
            print(f"           {text}", flush=True)

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(work, waiting))
    reached = sum(map(results.reached, chosen))
    print(f"{reached} of {len(chosen)} kernels reached {options.upto}; {time.monotonic() - begun:.0f} s")
    return int(reached < len(chosen))


if __name__ == "__main__":
    sys.exit(main())
