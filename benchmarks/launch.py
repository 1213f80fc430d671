"""Microseconds of host time that one launch takes: the source, and the same launch through the launcher on both paths.

    python -m benchmarks.launch --json benchmarks/results/launch-h200.json
    python -m benchmarks.launch --only copy
    python -m benchmarks.launch --host

Kernels of the corpus with two configs each, as `golden/` has them converted, and a copy that is the same under
`triton.jit` and `tlx.jit`. *first* is a launch with addresses never seen before, *again* any later one; the GPU is idle
before each round and the queue never fills. In each round every contender has its turn, in an order that `--seed`
draws anew for it: who comes first or after whom must not decide. Figures are medians over the rounds, with the
quartiles; what one contender takes more than another is the median of the differences within rounds. torch and Triton
are all that is needed beside this checkout.

With `--host` there is no GPU: kernels are compiled, Triton's launch code runs, and only its calls into CUDA return at
once. Figures then are lower bounds: encoding a tensor map and launching cost nothing, for the source as for ours.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import tlx  # noqa: E402
from benchmarks.modules import from_file  # noqa: E402
from tests.tlx.launch.device import Device, install  # noqa: E402

ROUNDS, CALLS, FRESH = 25, 200, 20
#: The copy says whether `tlx.jit` costs anything: that is less than a round's noise, so it takes more of them.
COPY_ROUNDS = 201
#: Time of this thread alone: other programs on the machine do not count.
CLOCK = time.thread_time
Launch = Callable[[Any, Any], Any]


def converted(path: str, name: str) -> Any:
    """A kernel of the corpus with its conversion, and two configs to keep tuning short."""
    source = ROOT / "corpus" / path
    plain = from_file(source.stem, source)
    golden = from_file(f"{source.stem}_tlx", source.parent / "golden" / f"{source.stem}_tlx.py")
    kernel = getattr(golden, f"specialize_{name}")(getattr(plain, name))
    kernel.configs = kernel.configs[:2]
    return kernel


def copy(source, target, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    tl.store(target + offsets, tl.load(source + offsets, mask=mask), mask=mask)


def allocator(device: str) -> Callable[..., Any]:
    """A maker of tensors at addresses that no launch has seen: what it made stays allocated."""
    kept = []

    def make(*shape: int, dtype: torch.dtype = torch.float16) -> Any:
        kept.append(torch.zeros(shape, device=device, dtype=dtype))
        return kept[-1]

    return make


def gemm(make: Callable[..., Any], k: int) -> Any:
    return make(128, k), make(k, 128), make(128, 128)


def launch_gemm(kernel: Any, operands: Any) -> None:
    a, b, c = operands
    (m, k), n = a.shape, b.shape[1]
    kernel[lambda meta: (triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"]),)](
        a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride(), ACTIVATION=""
    )


def attention(make: Callable[..., Any], pad: int) -> Any:
    """Rows of q, k and v are `pad` elements further apart than they are long."""
    q, k, v = (make(1, 2, 128, 64 + pad)[..., :64] for _ in range(3))
    return q, k, v, make(1, 2, 128, 64), make(1, 2, 128, dtype=torch.float32)


def launch_attention(kernel: Any, operands: Any) -> None:
    q, k, v, out, _ = operands
    strides = [step for x in (q, k, v, out) for step in x.stride()[:3]]
    kernel[lambda meta: (triton.cdiv(128, meta["BLOCK_M"]), 2)](*operands, *strides, 2, 128, 128, 0.125, HEAD_DIM=64)


def grouped(make: Callable[..., Any], k: int) -> Any:
    return make(2, 128, k), make(2, k, 128), make(2, 128, 128), make(2, dtype=torch.int32)


def launch_grouped(kernel: Any, operands: Any) -> None:
    x, w, y, _ = operands
    strides = (*x.stride(), *w.stride(), *y.stride())
    kernel[lambda meta: (triton.cdiv(128, meta["BLOCK_M"]), triton.cdiv(128, meta["BLOCK_N"]), 2)](
        *operands, 128, 128, x.shape[2], *strides
    )


def launch_copy(kernel: Any, operands: Any) -> None:
    source, target = operands
    kernel[(1,)](source, target, 128, BLOCK=128)


def per_launch(launch: Launch, kernel: Any, problems: Iterator[Any], count: int, synchronize: Callable[[], None]):
    """Microseconds of one launch, without making its operands."""
    operands = [next(problems) for _ in range(count)]
    synchronize()
    start = CLOCK()
    for problem in operands:
        launch(kernel, problem)
    taken = CLOCK() - start
    synchronize()
    return taken / count * 1e6


#: name → a kernel, a maker of operands, and launches per round
Contenders = dict[str, tuple[Any, Callable[[], Any], int]]


def in_rounds(
    launch: Launch, contenders: Contenders, synchronize: Callable[[], None], drawn: random.Random, rounds: int = ROUNDS
) -> dict[str, list[float]]:
    """What a launch took each contender, round by round. Each round has an order of its own."""
    made = {name: iter(operands, None) for name, (_, operands, _) in contenders.items()}
    for name, (kernel, _, _) in contenders.items():
        per_launch(launch, kernel, made[name], 3, synchronize)
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    # Whoever is at it when the collector runs would pay for everybody.
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name in drawn.sample(sorted(contenders), len(contenders)):
                kernel, _, count = contenders[name]
                taken[name].append(per_launch(launch, kernel, made[name], count, synchronize))
    finally:
        gc.enable()
    return taken


def spread(values: list[float]) -> tuple[float, list[float]]:
    """Median and quartiles."""
    low, middle, high = statistics.quantiles(values, n=4)
    return round(middle, 2), [round(low, 2), round(high, 2)]


def summary(taken: dict[str, list[float]], ours: str, theirs: str) -> dict[str, Any]:
    """The figures of all contenders, and what a launch of `ours` takes more than one of `theirs` in the same round."""
    found: dict[str, Any] = {}
    for name, values in taken.items():
        found[f"{name}_us"], found[f"{name}_quartiles_us"] = spread(values)
    more = [mine - other for mine, other in zip(taken[ours], taken[theirs], strict=True)]
    found["added_us"], found["added_quartiles_us"] = spread(more)
    found["rounds"] = len(more)
    found["rounds_slower"] = sum(difference > 0 for difference in more)
    return found


def check(launch: Launch, kernel: Any, operands: Any, output: int) -> None:
    """The launch that was timed last computes what the source does."""
    for x in operands:
        if x.dtype == torch.int32:
            x.fill_(100)
        else:
            x.normal_()
    target = operands[output]
    target.zero_()
    launch(kernel.original, operands)
    expected = target.clone()
    target.zero_()
    launch(kernel, operands)
    assert expected.any()
    assert torch.allclose(target.float(), expected.float(), atol=5e-2, rtol=1e-2)


#: Which operand of a case is its result.
OUTPUT = {"gemm": 2, "grouped": 2, "attention": 3}


def measure(device: str, synchronize: Callable[[], None], only: str, drawn: random.Random) -> dict[str, Any]:
    """Every kernel whose name has `only` in it on both paths, then the same kernel under both decorators."""
    make = allocator(device)
    cases = (
        (
            "gemm", ("gemm/matmul.py", "matmul_kernel"), launch_gemm, gemm,
            {"specialized": 256, "original": 251},
        ),
        (
            "grouped", ("grouped/grouped.py", "grouped_gemm_kernel"), launch_grouped, grouped,
            {"specialized": 256, "original": 251},
        ),
        (
            "attention", ("attention/forward.py", "attention_kernel"), launch_attention, attention,
            {"specialized": 0, "original": 3},
        ),
    )  # fmt: skip
    found: dict[str, Any] = {}
    for name, place, launch, operands, paths in cases:
        if only not in name:
            continue
        kernel = converted(*place)
        for path, size in paths.items():
            seen = operands(make, size)
            kernel_name = f"{kernel.base_fn.__module__}.{kernel.base_fn.__name__}"
            before = tlx.stats()[kernel_name]
            contenders = {
                "source": (kernel.original, lambda seen=seen: seen, CALLS),
                "first": (kernel, lambda operands=operands, size=size: operands(make, size), FRESH),
                "again": (kernel, lambda seen=seen: seen, CALLS),
            }
            row = summary(in_rounds(launch, contenders, synchronize, drawn), "again", "source")
            after = tlx.stats()[kernel_name]
            fast, all_launches = after.fast - before.fast, after.launches - before.launches
            assert fast == (all_launches if path == "specialized" else 0), (name, path, after)
            if device != "cpu":
                check(launch, kernel, seen, OUTPUT[name])
            found[f"{name} {path}"] = row
            print(json.dumps({f"{name} {path}": row}), flush=True)
    if only in "copy":
        operands = make(128), make(128)
        decorated = {"triton.jit": triton.jit(copy), "tlx.jit": tlx.jit(copy)}
        contenders = {name: (kernel, lambda: operands, CALLS) for name, kernel in decorated.items()}
        taken = in_rounds(launch_copy, contenders, synchronize, drawn, COPY_ROUNDS)
        found["copy"] = summary(taken, "tlx.jit", "triton.jit")
        print(json.dumps({"copy": found["copy"]}), flush=True)
    return found


def main() -> None:
    # The conversion wherever it may run: what is measured here is what the table of `stable` rests on.
    tlx.policy("always")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", action="store_true", help="measure without a GPU")
    parser.add_argument("--only", default="", help="cases with this in their name: gemm, grouped, attention, copy")
    parser.add_argument("--seed", type=int, default=0, help="draws the order of contenders in each round")
    parser.add_argument("--json", type=Path, help="also write the result there")
    options = parser.parse_args()
    began = time.perf_counter()
    drawn = random.Random(options.seed)
    report: dict[str, Any] = {"torch": torch.__version__, "triton": triton.__version__, "seed": options.seed}
    if options.host:
        idle = Device()
        idle.launch = lambda *args: None  # type: ignore[method-assign]
        idle.utils.fill_tma_descriptor = lambda *what: None  # type: ignore[method-assign]
        install(setattr, idle)
        report |= {"device": "none", "launch": measure("cpu", lambda: None, options.only, drawn)}
    else:
        report |= {
            "device": torch.cuda.get_device_name(),
            "launch": measure("cuda", torch.cuda.synchronize, options.only, drawn),
        }
    report["seconds"] = round(time.perf_counter() - began, 1)
    text = json.dumps(report, indent=1)
    print(text)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
