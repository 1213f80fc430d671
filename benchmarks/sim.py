"""How fast the simulator is, on one core.

    python benchmarks/sim.py [--seconds 5] [--output benchmarks/results/sim.json]

Prints JSON, all in processor time and in one process: schedules per second of one CTA of the hand-written GEMM (4
k-tiles, tiny tiles, 3 stages), alone and in one ``tlx.sim.session``; a 128³ product in 32³ tiles, specialized and
simulated, and as the plain kernel in Triton's own interpreter; 64 k-tiles of full-size tiles, simulated and as the
plain kernel in ours; how long hypothesis takes to shrink a seeded bug; runs per second of the search for orders.
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

from triton.runtime import interpreter as stock
from triton.runtime.jit import JITFunction

import tlx
from corpus.gemm.matmul import matmul_kernel
from tests.tlx.kernels.gemm_ws import gemm_ws
from tests.tlx.sim.bugs.test_missing_empty_wait import kernel as missing_empty_wait
from tests.tlx.sim.test_testing import Counted, smallest, sum_of
from tlx.sim.run import unwrap_kernel
from tlx.sim.testing import launches


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


def operands(m, n, k):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((m, k)).astype(np.float16), rng.standard_normal((k, n)).astype(np.float16)
    return a, b, np.zeros((m, n), np.float16)


def simulated_cube(size, tile):
    """A whole product, specialized and simulated."""
    a, b, c = operands(size, size, size)
    args = (descriptor(a, [tile // 2, tile]), descriptor(b, [tile, tile]), c, size, size, size, size, 1)
    constants = {"BLOCK_M": tile, "BLOCK_N": tile, "BLOCK_K": tile, "GROUP_M": 1, "ACTIVATION": "", "STAGES": 3}
    grid = ((size // tile) ** 2,)

    def launch(schedule):
        tlx.sim.run(gemm_ws, grid, args, constants, schedule="late").raise_for_findings()

    return launch, lambda: (a, b, c)


class HostTensor:
    """What Triton's interpreter asks of a tensor, over numpy memory."""

    def __init__(self, array):
        self.array = array
        self.dtype = array.dtype

    def data_ptr(self):
        return self.array.ctypes.data


class OnHost(stock.GridExecutor):
    """Triton's interpreter without the copies to and from a device, which need torch."""

    def _init_args_hst(self, args_dev, kwargs):
        return list(args_dev), kwargs

    def _restore_args_dev(self, *args):
        pass


class StockInterpreter:
    """Triton's own interpreter, whatever TRITON_INTERPRET said at import; helpers are interpreted as well."""

    def __init__(self):
        self.functions = {}

    def call(self, jit, *args, **kwargs):
        if jit.fn not in self.functions:
            self.functions[jit.fn] = stock.InterpretedFunction(jit.fn)
        return self.functions[jit.fn](*args, **kwargs)

    def __enter__(self):
        self.saved = JITFunction.__call__, stock._patch_lang_tensor

        def patch(tensor, scope):
            self.saved[1](tensor, scope)
            # numpy >= 2.4 makes no number of an array of one element.
            scope.set_attr(tensor, "__index__", lambda value: int(value.handle.data.item()))

        JITFunction.__call__ = lambda jit, *args, **kwargs: self.call(jit, *args, **kwargs)
        stock._patch_lang_tensor = patch
        return self

    def __exit__(self, *error):
        JITFunction.__call__, stock._patch_lang_tensor = self.saved


def interpreted_cube(size, tile, interpreter):
    """The same product by the plain kernel in Triton's interpreter."""
    a, b, c = operands(size, size, size)
    tensors = [HostTensor(x) for x in (a, b, c)]
    constants = {"BLOCK_M": tile, "BLOCK_N": tile, "BLOCK_K": tile, "GROUP_M": 1, "ACTIVATION": ""}
    function = stock.InterpretedFunction(unwrap_kernel(matmul_kernel).fn)
    executor = OnHost(function.rewrite(), function.arg_names, ((size // tile) ** 2,))

    def launch(schedule):
        with interpreter:
            executor(*tensors, size, size, size, size, 1, size, 1, size, 1, **constants)

    return launch, lambda: (a, b, c)


def checked(made):
    """A launch that has computed the right product once."""
    launch, contents = made
    launch(0)
    a, b, c = contents()
    np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-2, atol=1e-2)
    return launch


def shrinking(seeds):
    """Longest time, and most launches, until hypothesis has the smallest launch that shows a missing wait."""
    seconds, runs = [], []
    for seed in range(seeds):
        shows = Counted(lambda launch: "race" in sum_of(missing_empty_wait, launch).codes)
        start = time.process_time()
        least = smallest(launches(stages=(2, 4), k=(0, 40)), shows, seed)
        seconds.append(time.process_time() - start)
        runs.append(shows.runs)
    return max(seconds), max(runs), f"{least.schedule}, {least.stages} stages, {least.sizes['k']} k-tiles"


def searching(seconds):
    """Runs per second of the search for orders, on a kernel with many."""
    x = np.zeros((80, 16), np.float16)
    args = (descriptor(x, [16, 16]), np.zeros((16, 16), np.float32), 5, 2, 16, 16)
    runs, start = 0, time.process_time()
    while time.process_time() - start < seconds:
        found = tlx.sim.explore(missing_empty_wait, (1,), args, limit=100, keep_going=True)
        runs += found.orders + found.cut
    return runs / (time.process_time() - start)


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
    cube = 1 / rate(checked(simulated_cube(128, 32)), options.seconds)
    stock_cube = 1 / rate(checked(interpreted_cube(128, 32, StockInterpreter())), options.seconds)
    shrink_seconds, shrink_runs, shrunk = shrinking(5)
    result = {
        "schedules_per_second": round(alone, 1),
        "schedules_per_second_in_a_session": round(together, 1),
        "seconds_64_k_tiles_simulated": round(1 / rate(simulated(full, 64, 3), options.seconds), 3),
        "seconds_64_k_tiles_plain": round(1 / rate(interpreted(full, 64), options.seconds), 3),
        "seconds_128_cubed_simulated": round(cube, 3),
        "seconds_128_cubed_triton_interpreter": round(stock_cube, 3),
        "ratio_to_triton_interpreter": round(cube / stock_cube, 2),
        "shrink_seconds": round(shrink_seconds, 2),
        "shrink_launches": shrink_runs,
        "shrunk_to": shrunk,
        "orders_per_second": round(searching(options.seconds), 1),
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
