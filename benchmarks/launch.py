"""What the launcher adds to a launch, in microseconds, on both paths: no GPU, both kernels are empty functions.

    python benchmarks/launch.py [--out FILE]

*added* is the time of a launch through the proxy minus that of calling the kernel it ends in directly, as its own
launcher would be called; medians of rounds taken in turns. *first* is a launch with arguments never seen before (here:
new addresses), which asks the guard and builds descriptors; *again* is any later one.
"""

import argparse
import inspect
import json
import platform
import statistics
import sys
import time
import timeit
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import triton
import triton.language as tl

import tlx
from tlx.launch import chip

ROUNDS, CALLS = 25, 400
TILES = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "GROUP_M": 8}


class DType:
    """fp16 as an opaque object, which is what torch's dtypes are."""

    itemsize = 2

    def __str__(self) -> str:
        return "float16"


FP16 = DType()


class Tensor:
    """The least a launch asks of a tensor."""

    __slots__ = ("address", "dtype")

    def __init__(self, address: int) -> None:
        self.address, self.dtype = address, FP16

    def data_ptr(self) -> int:
        return self.address

    def element_size(self) -> int:
        return 2


@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    """The signature of a usual product; the body is never compiled."""


def converted(
    a_desc, b_desc, c_ptr, M, N, K, stride_cm, stride_cn, GRID_0, BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M,
    A_TRANSPOSED, B_TRANSPOSED, STAGES, CONSUMERS, CONSUMER_WARPS, CONSUMER_REGISTERS,
):  # fmt: skip
    """The signature of its conversion."""


class Empty:
    """A kernel that returns at once."""

    def __init__(self, function: Callable[..., None]) -> None:
        self.fn, self.__name__ = function, function.__name__
        self.signature = inspect.signature(function)
        self.arg_names = list(self.signature.parameters)

    def run(self, *args: Any, grid: Any, warmup: bool, **options: Any) -> None:
        if callable(grid):
            grid(TILES)


def guard(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn, **_):
    a = tlx.tma_view("a_ptr", a_ptr, shape=(M, K), strides=(stride_am, stride_ak))
    b = tlx.tma_view("b_ptr", b_ptr, shape=(K, N), strides=(stride_bk, stride_bn))
    tlx.require_dtypes({"a_ptr": a_ptr, "b_ptr": b_ptr}, ("fp16", "bf16"))
    tlx.require_disjoint("c_ptr", c_ptr, shape=(M, N), strides=(stride_cm, stride_cn), reads=(a, b))
    return {"a_desc": a, "b_desc": b, "A_TRANSPOSED": a.transposed, "B_TRANSPOSED": b.transposed}


def boxes(BLOCK_M, BLOCK_N, BLOCK_K, CONSUMERS, **_):
    a = tlx.Box((BLOCK_M // CONSUMERS, BLOCK_K), count=CONSUMERS)
    return {"a_desc": a, "b_desc": tlx.Box((BLOCK_K, BLOCK_N))}


def grid(meta: dict[str, Any]) -> tuple[int]:
    return (-(-4096 // meta["BLOCK_M"]) * -(-4096 // meta["BLOCK_N"]),)


def operands(base: int, K: int) -> tuple[Any, ...]:
    a, b, c = Tensor(base), Tensor(base + (1 << 28)), Tensor(base + (2 << 28))
    return (a, b, c, 4096, 4096, K, K, 1, 4096, 1, 4096, 1)


def seconds(launch: Callable[[tuple[Any, ...]], Any], arguments: Iterator[tuple[Any, ...]]) -> float:
    problems = [next(arguments) for _ in range(CALLS)]
    start = time.process_time()
    for problem in problems:
        launch(problem)
    return (time.process_time() - start) / CALLS


def unseen(K: int) -> Iterator[tuple[Any, ...]]:
    base = 1 << 40
    while True:
        base += 4096
        yield operands(base, K)


def again(K: int) -> Iterator[tuple[Any, ...]]:
    problem = operands(1 << 30, K)
    while True:
        yield problem


def measure() -> dict[str, dict[str, float]]:
    chip.current_device = lambda: 0  # type: ignore[assignment]
    chip.processors = lambda device: 132  # type: ignore[assignment]
    chip.refusal = lambda pointers: None  # type: ignore[assignment]
    source, fast = Empty(matmul.fn), Empty(converted)
    matmul.run = source.run
    schedule = tlx.Schedule(split="BLOCK_M", persistent=True, output=("BLOCK_M", "BLOCK_N"))
    kernel = tlx.specialized(matmul, fast, guard=guard, boxes=boxes, schedule=schedule, fingerprint=None)
    options = {**TILES, "num_warps": 8, "num_stages": 3}

    template = list(kernel.resolve(*operands(1 << 30, 512), grid=grid, **options).kwargs.values())

    def direct_specialized(problem: tuple[Any, ...]) -> None:
        fast.run(*template, grid=grid, warmup=False, num_warps=4)

    def direct_original(problem: tuple[Any, ...]) -> None:
        source.run(*problem, grid=grid, warmup=False, **options)

    def through(problem: tuple[Any, ...]) -> None:
        kernel[grid](*problem, **options)

    # K = 500 leaves the rows of A on no multiple of 16 bytes: the original runs.
    paths = {"specialized": (512, direct_specialized), "original": (500, direct_original)}
    found: dict[str, dict[str, float]] = {}
    for path, (K, direct) in paths.items():
        fresh, seen = unseen(K), again(K)
        rounds = [(seconds(direct, seen), seconds(through, fresh), seconds(through, seen)) for _ in range(ROUNDS)]
        bare, first, later = (statistics.median(column) * 1e6 for column in zip(*rounds, strict=True))
        found[path] = {"kernel_us": bare, "first_added_us": first - bare, "again_added_us": later - bare}
    (counted,) = tlx.stats().values()
    assert counted.fast == counted.launches // 2, "the two paths were not taken in turns"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="also write the result there")
    options = parser.parse_args()
    # How fast this machine is just now: 0.5 to 0.6 us on a current desktop core with nothing else to do.
    spin = min(timeit.repeat(lambda: sum(range(100)), number=10_000, repeat=9, timer=time.process_time)) * 100
    result = {"python": platform.python_version(), "triton": triton.__version__, "spin_us": spin, "added": measure()}
    text = json.dumps(result, indent=2)
    sys.stdout.write(text + "\n")
    if options.out:
        options.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
