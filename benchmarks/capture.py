"""What recording costs a program that is bound by its launches: microseconds of one launch, with and without.

    python benchmarks/capture.py --json benchmarks/results/capture-h200.json
    python benchmarks/capture.py --host

Tiny kernels, so that the host is all there is to wait for; rounds with and without the recorder in turns, medians. The
aim is less than 5 %. With `--host` there is no GPU and calls into CUDA return at once: the share then comes out higher.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import triton
from triton.compiler.compiler import CompiledKernel

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.launch import allocator, copy, gemm, launch_gemm  # noqa: E402
from benchmarks.modules import from_file, from_text  # noqa: E402
from tests.tlx.launch.device import Device, install  # noqa: E402
from tlx.launch.dispatcher import Dispatcher  # noqa: E402
from tlxify import convert  # noqa: E402
from tlxify.capture.inside.bindings import watch_dispatch  # noqa: E402
from tlxify.capture.inside.compiled import watch_launched  # noqa: E402
from tlxify.capture.inside.recorder import Recorder  # noqa: E402
from tlxify.capture.parts import join  # noqa: E402
from tlxify.source import SourceFile  # noqa: E402

ROUNDS, CALLS = 41, 300
AIM = 0.05
MATMUL = ROOT / "corpus" / "gemm" / "matmul.py"


class Contender:
    """One way to launch; `on` and `off` make the same launch with the recorder in place and without."""

    def __init__(self, off: Callable[[], Any], on: Callable[[], Any]) -> None:
        self.off, self.on = off, on


def contenders(device: str, recorder: Recorder) -> tuple[dict[str, Contender], Callable[[bool], None]]:
    """The launches, and a switch for what is patched in Triton itself."""
    make = allocator(device)
    source = from_file("capture_matmul", MATMUL).matmul_kernel
    source.configs = source.configs[2:3]
    text = convert(SourceFile.read(MATMUL)).module_text
    bound = []
    original = Dispatcher.launch
    for name, launch in (("unwatched", original), ("watched", watch_dispatch(original, recorder))):
        Dispatcher.launch = launch  # a binding keeps the launch that it was made with
        kernel = from_text(f"capture_{name}", text).matmul_kernel
        kernel.configs = kernel.configs[2:3]
        bound.append(kernel)
    Dispatcher.launch = original
    plain = triton.jit(copy)
    operands = gemm(make, 256)
    a, c = operands[0], operands[2]
    found = {
        "copy": Contender(*[lambda: plain[(1,)](a, c, 100, BLOCK=128)] * 2),
        "gemm, tuned": Contender(*[lambda: launch_gemm(source, operands)] * 2),
        "gemm, bound to its conversion": Contender(*(lambda k=kernel: launch_gemm(k, operands) for kernel in bound)),
    }
    metadata = CompiledKernel.launch_metadata
    watched = watch_launched(metadata, recorder)

    def switch(on: bool) -> None:
        CompiledKernel.launch_metadata = watched if on else metadata

    return found, switch


def measure(contender: Contender, switch: Callable[[bool], None], clock: Callable[[], float], wait: Callable[[], None]):
    """Microseconds per launch, off and on."""
    times: dict[bool, list[float]] = {False: [], True: []}
    for number in range(ROUNDS + 1):
        for on in (False, True) if number % 2 else (True, False):
            switch(on)
            launch = contender.on if on else contender.off
            launch()
            wait()
            start = clock()
            for _ in range(CALLS):
                launch()
            times[on].append((clock() - start) / CALLS * 1e6)
            wait()
    off, on = (statistics.median(values[1:]) for values in (times[False], times[True]))
    return {"off_us": round(off, 2), "on_us": round(on, 2), "share": round(on / off - 1, 4), "met": on / off - 1 < AIM}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--host", action="store_true")
    options = parser.parse_args()
    driver = Device()
    if options.host:
        install(setattr, driver)
    wait = driver.calls.clear if options.host else torch.cuda.synchronize
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(Path(folder) / "parts", limit=1000)
        found, switch = contenders("cpu" if options.host else "cuda", recorder)
        clock = time.thread_time if options.host else time.perf_counter
        rows = {name: measure(contender, switch, clock, wait) for name, contender in found.items()}
        recorder.finish()
        counted = {}
        for launch in join(recorder.folder).launches:
            counted[f"{launch.kernel.name} via {launch.via}"] = {
                "launches": launch.launches,
                "samples": len(launch.times),
                "microseconds": launch.microseconds,
            }
    report = {
        "device": "none" if options.host else torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "launch": rows,
        "recorded": counted,
    }
    print(json.dumps(report, indent=1))
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
