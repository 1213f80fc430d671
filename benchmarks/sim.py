"""How fast the simulator is, on one core.

    python benchmarks/sim.py [--seconds 5] [--output benchmarks/results/sim.json]

Prints JSON, all in processor time: schedules per second of one CTA of the hand-written GEMM (4 k-tiles, tiny tiles,
3 stages), alone and in one ``tlx.sim.session``; seconds for 64 k-tiles of full-size tiles, simulated and as the plain
kernel that it replaces.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # tiles are too small for threads, which then wait for each other

import numpy as np
import triton
from triton.tools.tensor_descriptor import TensorDescriptor

sys.path.insert(0, str(Path(__file__).parents[1]))

import tlx
from corpus.gemm.matmul import matmul_kernel
from tests.tlx.kernels.gemm_ws import gemm_ws


def descriptor(array, block):
    base = tlx.sim.tensor(array)
    return TensorDescriptor(base, list(base.shape), list(base.stride()), block)


def simulated(tile, k_tiles, stages):
    """A launch of one CTA, as a function of its schedule."""
    m, n, step = tile
    k = k_tiles * step
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((m, k)).astype(np.float16), rng.standard_normal((k, n)).astype(np.float16)
    c = np.zeros((m, n), np.float16)
    args = (descriptor(a, [m // 2, step]), descriptor(b, [step, n]), c, m, n, k, n, 1)
    constants = {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": step, "GROUP_M": 1, "ACTIVATION": "", "STAGES": stages}

    def launch(schedule):
        tlx.sim.run(gemm_ws, (1,), args, constants, schedule=schedule).raise_for_findings()

    return launch


def interpreted(tile, k_tiles):
    """The same product by the plain kernel."""
    m, n, step = tile
    k = k_tiles * step
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((m, k)).astype(np.float16), rng.standard_normal((k, n)).astype(np.float16)
    c = np.zeros((m, n), np.float16)
    constants = {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": step, "GROUP_M": 1, "ACTIVATION": ""}

    def launch(schedule):
        tlx.sim.run(matmul_kernel, (1,), (a, b, c, m, n, k, k, 1, n, 1, n, 1), constants)

    return launch


def rate(launch, seconds):
    """Launches per second of processor time, over different seeds."""
    launch(0)
    start, seed = time.process_time(), 0
    while time.process_time() - start < seconds:
        seed += 1
        launch(seed)
    return seed / (time.process_time() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5.0, help="how long to measure each rate")
    parser.add_argument("--output", type=Path, help="also write the JSON to this file")
    options = parser.parse_args()
    small, full = (32, 16, 16), (128, 128, 64)
    alone = rate(simulated(small, 4, 3), options.seconds)
    with tlx.sim.session():
        together = rate(simulated(small, 4, 3), options.seconds)
    result = {
        "schedules_per_second": round(alone, 1),
        "schedules_per_second_in_a_session": round(together, 1),
        "seconds_64_k_tiles_simulated": round(1 / rate(simulated(full, 64, 3), options.seconds), 3),
        "seconds_64_k_tiles_plain": round(1 / rate(interpreted(full, 64), options.seconds), 3),
        "tile": list(small),
        "full_tile": list(full),
        "triton": triton.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
    text = json.dumps(result, indent=2)
    print(text)
    if options.output:
        options.output.write_text(text + "\n")


if __name__ == "__main__":
    main()
