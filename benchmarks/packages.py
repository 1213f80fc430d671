"""Public functions of three packages against torch, on the trees that `tlxify migrate` writes.

    python benchmarks/packages.py --wheels FOLDER --out benchmarks/results/packages-h200.json

`--wheels` holds the unpacked wheels, one folder per distribution (`FOLDER/liger-kernel/liger_kernel/...`). Each package
is migrated into a fresh folder; then every call of `calls.py` runs in a process of its own on the converted tree, and
again with TLXIFY=0, where the originals run. Printed are each result's error beside what is allowed, and per kernel
`tlx.stats()`. Exit status 1 if a result is wrong, a call ends badly, or a package never took the fast path.

Needs tlxify, torch and a Hopper GPU; a minute. `--host` compiles and decides without a GPU, and compares nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CLI = (sys.executable, "-c", "from tlxify.cli import main; main()")
#: Distribution → package in its wheel.
PACKAGES = {"grouped-mm-bf16": "grouped_mm_bf16", "moe-ops": "moe_ops", "liger-kernel": "liger_kernel"}
#: The names of the calls, without importing torch here.
CALLS = tuple(
    line.split('"')[1] for line in (ROOT / "benchmarks/calls.py").read_text().splitlines() if line.startswith("@call(")
)
#: Of kernels with the switch off, whatever their number.
OFF = {"TLXIFY": "0"}


def search_path(*folders: Path) -> str:
    """PYTHONPATH with these folders, this repository and what was in it."""
    return os.pathsep.join(filter(None, (*map(str, folders), str(ROOT), os.environ.get("PYTHONPATH", ""))))


def migrated(distribution: str, wheels: Path, work: Path) -> dict[str, Any]:
    """Migrates a package; the record of it."""
    begun = time.monotonic()
    package = PACKAGES[distribution]
    report = work / f"{distribution}.json"
    source, target = wheels / distribution / package, work / distribution / package
    target.parent.mkdir(parents=True)
    command = [*CLI, "migrate", str(source), "--output-dir", str(target), "--report-json", str(report)]
    environment = {**os.environ, "PYTHONPATH": search_path()}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if not report.exists():
        return {"status": done.returncode, "told": (done.stderr or done.stdout)[-2000:]}
    kernels = json.loads(report.read_text())["kernels"]
    converted = [kernel["kernel"] for kernel in kernels if kernel["verdict"] == "converted"]
    told: dict[str, Any] = {"status": done.returncode, "verdicts": dict(Counter(k["verdict"] for k in kernels))}
    return {**told, "converted": converted, "seconds": round(time.monotonic() - begun, 1)}


def called(name: str, work: Path, switches: dict[str, str], options: argparse.Namespace) -> dict[str, Any]:
    """Runs one call of the list in a process of its own."""
    begun = time.monotonic()
    tree = work / name.partition(":")[0]
    environment = {
        **os.environ,
        "PYTHONPATH": search_path(tree),
        "TLXIFY_POLICY": options.policy,
        "LIGER_FUSED_MOE_AUTOTUNE": "0",
        "TRITON_CACHE_DIR": str(work / "cache"),
        **switches,
    }
    command = [sys.executable, "-m", "benchmarks.calls", name, *(["--host"] if options.host else [])]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, cwd=ROOT, timeout=options.limit, check=False
        )
    except subprocess.TimeoutExpired:
        return {"status": f"not done within {options.limit:g} s"}
    told: dict[str, Any] = {"status": done.returncode, "seconds": round(time.monotonic() - begun, 1)}
    lines = done.stdout.strip().splitlines()
    try:
        return told | json.loads(lines[-1])
    except (IndexError, ValueError):
        return told | {"told": (done.stderr or done.stdout)[-3000:]}


def right(record: dict[str, Any]) -> bool:
    """Whether a call came to its end with every result right."""
    return bool(record.get("launches")) and all(launch["right"] for launch in record["launches"])


def report(name: str, ours: dict[str, Any], original: dict[str, Any]) -> list[str]:
    """What to print of one call."""
    lines = [f"{'ok' if right(ours) else 'WRONG':6}{name}  ({ours.get('seconds', '?')} s)"]
    if "launches" not in ours:
        lines.append(f"      {ours['status']}: {ours.get('told', '')}")
    before = {launch["name"]: launch["digest"] for launch in original.get("launches", ())}
    for launch in ours.get("launches", ()):
        worst = max((error / allowed for error, allowed, _ in launch["errors"].values()), default=0.0)
        same = (
            ""
            if not launch["digest"]
            else "the original's bits"
            if launch["digest"] == before.get(launch["name"])
            else "other bits"
        )
        lines.append(
            f"      {'ok' if launch['right'] else 'WRONG':6}{launch['name']}: {worst:.2f} of what is allowed; {same}"
        )
        if not launch["right"]:
            lines += [
                f"            {what}: {error:.3g}, allowed {allowed:.3g} of {largest:.3g}"
                for what, (error, allowed, largest) in launch["errors"].items()
            ]
    if not right(original):
        lines.append(f"      the original: {original.get('told') or original['status']}")
    for kernel, stats in ours.get("kernels", {}).items():
        if stats["launches"]:
            lines.append(f"      {kernel}: {stats['fast']} of {stats['launches']} fast {stats['fallbacks'] or ''}")
    return lines


def machine() -> dict[str, str]:
    """What ran the calls."""
    import torch
    import triton

    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    return {"device": gpu, "torch": torch.__version__, "triton": triton.__version__}


def main() -> int:
    """Migrates, calls, reports; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", type=Path, required=True, help="folder of unpacked wheels")
    parser.add_argument("--out", type=Path, help="also write the result there, as JSON")
    parser.add_argument("--only", default="", help="calls whose name has this word")
    parser.add_argument("--host", action="store_true", help="compile and decide without a GPU; compare nothing")
    parser.add_argument("--policy", default="always", help="TLXIFY_POLICY of the calls")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) - 1), help="calls at a time")
    parser.add_argument("--limit", type=float, default=80.0, help="seconds for one call")
    options = parser.parse_args()
    begun = time.monotonic()
    names = [name for name in CALLS if options.only in name]
    with tempfile.TemporaryDirectory(prefix="packages-") as folder, ThreadPoolExecutor(options.jobs) as pool:
        work = Path(folder)
        needed = sorted({name.partition(":")[0] for name in names})
        trees = dict(zip(needed, pool.map(lambda name: migrated(name, options.wheels, work), needed), strict=True))
        for name, tree in trees.items():
            print(f"{name}: {json.dumps(tree)}", flush=True)
        ours = {name: pool.submit(called, name, work, {}, options) for name in names}
        originals = {} if options.host else {name: pool.submit(called, name, work, OFF, options) for name in names}
        found = {
            name: {
                "converted": ours[name].result(),
                "original": originals[name].result() if name in originals else {"launches": [], "status": "not run"},
            }
            for name in names
        }
    fast: Counter[str] = Counter(dict.fromkeys(needed, 0))
    for name, records in found.items():
        print("\n".join(report(name, records["converted"], records["original"])), flush=True)
        fast[name.partition(":")[0]] += sum(k["fast"] for k in records["converted"].get("kernels", {}).values())
    wrong = [name for name, records in found.items() if not right(records["converted"])]
    slow = [name for name, count in fast.items() if not count]
    print(f"{len(names) - len(wrong)} of {len(names)} calls right; launches on the fast path: {dict(fast)}")
    if options.out:
        told = {**machine(), "policy": options.policy, "command": "python benchmarks/packages.py --wheels FOLDER"}
        told |= {"seconds": round(time.monotonic() - begun, 1), "migrated": trees, "calls": found}
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(told, indent=1) + "\n")
    return int(bool(wrong or slow))


if __name__ == "__main__":
    sys.exit(main())
