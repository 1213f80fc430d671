"""Capture, replay, profile and bench on a machine with a GPU, in one go of less than three minutes.

    python benchmarks/measuring.py --liger FOLDER_WITH_liger_kernel --out results

Records the training loop of `training.py`, verifies and times its launches again, measures what recording costs, times
the corpus GEMM with a chart, and checks that a report against itself passes and against a better one fails. Everything
goes to `--out`: the record, reports, the chart, the output of each step, and `measuring.json` with a line per step.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLI = (sys.executable, "-c", "from tlxify.cli import main; main()")
MATMUL = "corpus/gemm/matmul.py"
#: Of the training loop: both products of the forward attention.
REPLAYED = ("_fused_neighborhood_attention_qk_kernel", "_fused_neighborhood_attention_av_kernel")


@dataclass
class Step:
    """A command that was started; its output goes to a file."""

    name: str
    command: list[str]
    out: Path
    environment: dict[str, str]
    #: Exit statuses that are as they should be.
    right: tuple[int, ...] = (0,)
    limit: float = 120.0
    started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        print(f"{self.name}: {' '.join(self.command[-8:])}", flush=True)
        self.log = (self.out / f"{self.name}.log").open("w")
        self.process = subprocess.Popen(
            self.command, stdout=self.log, stderr=subprocess.STDOUT, env=self.environment, cwd=ROOT
        )

    def wait(self) -> dict:
        """Waits for the end and tells how it went."""
        try:
            status: int | str = self.process.wait(timeout=self.limit)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            status = f"still running after {self.limit:g} s"
        self.log.close()
        told = {"step": self.name, "status": status, "right": status in self.right}
        told["seconds"] = round(time.monotonic() - self.started, 1)
        print(json.dumps(told), flush=True)
        if not told["right"]:
            print((self.out / f"{self.name}.log").read_text()[-2000:], flush=True)
        return told


def better(report: Path, path: Path) -> Path:
    """The report as if every speedup had been a tenth larger."""
    told = json.loads(report.read_text())
    for row in told["rows"]:
        for spread in row["speedup"].values():
            spread.update({name: 1.1 * value for name, value in spread.items()})
    path.write_text(json.dumps(told))
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--liger", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=30)
    options = parser.parse_args()
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    liger = options.liger.resolve()
    path = os.pathsep.join(filter(None, (str(ROOT), str(liger), os.environ.get("PYTHONPATH", ""))))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}
    record, source = out / "training.jsonl", liger / "liger_kernel/ops/fused_neighborhood_attention.py"
    kernels = [word for name in REPLAYED for word in ("--kernel", name)]
    gemm = out / "gemm.json"

    def step(name: str, *command: object, **changes) -> Step:
        words = [str(word) for word in command]
        return Step(name, words if words[0] == sys.executable else [*CLI, *words], out, environment, **changes)

    training = (sys.executable, ROOT / "benchmarks/training.py", "--steps", options.steps)
    done = [step("capture", "capture", "-o", record, "--", *training).wait()]
    proved = ("verify", source, "--captured", record, *kernels, "--upto", "ran", "--no-profit-gate")
    # Neither needs the GPU to itself.
    together = [
        step("verify", *proved, limit=170.0),
        step("profile", "profile", record, "--json", right=(0, 1)),
    ]
    done += [each.wait() for each in together]
    done.append(step("overhead", sys.executable, "benchmarks/capture.py", "--json", out / "overhead.json").wait())
    replayed = ("bench", source, "--captured", record, *kernels, "--no-profit-gate", "-o", out / "replayed.json")
    done.append(step("bench-captured", *replayed).wait())
    shapes = ("--shapes", "M=4096,N=4096,K=4096", "--shapes", "M=8192,N=8192,K=512", "--shapes", "M=2048,N=2048,K=2050")
    chart = ("-o", gemm, "--chart", out / "gemm.svg", "--reference", "benchmarks.measuring:product")
    done.append(step("bench", "bench", MATMUL, *shapes, *chart).wait())
    if gemm.exists():
        one = (*shapes[:2], "--rounds", "7", "--against")
        first = json.loads(gemm.read_text())
        first["rows"] = first["rows"][:1]
        alone = out / "gemm-first.json"
        alone.write_text(json.dumps(first))
        done.append(step("against-itself", "bench", MATMUL, *one, alone).wait())
        ahead = better(alone, out / "gemm-better.json")
        done.append(step("against-better", "bench", MATMUL, *one, ahead, right=(1,)).wait())
    (out / "measuring.json").write_text(json.dumps(done, indent=1) + "\n")
    for each in done:
        print(f"{'ok' if each['right'] else 'WRONG':6}{each['step']:18}{each['seconds']:6.1f} s  {each['status']}")
    raise SystemExit(int(not all(each["right"] for each in done)))


def product(a_ptr, b_ptr):
    """What the GEMM is timed against besides its source."""
    return a_ptr @ b_ptr


if __name__ == "__main__":
    main()
