"""Converted GEMMs against their sources and torch.matmul on a GPU: correctness first, then interleaved times.

    python benchmarks/gemm.py --json benchmarks/results/gemm-h200.json

Every contender runs in this process, in turn, over inputs that together exceed the L2. A ratio is taken per round;
reported are its median and 90 % bootstrap interval. The dispatch record says which kernel ran.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import torch
import triton
import triton.language as tl

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import tlx  # noqa: E402
from benchmarks.modules import from_text  # noqa: E402
from tlxify import convert  # noqa: E402
from tlxify.bench.clock import interleave  # noqa: E402
from tlxify.bench.cuda import CudaClock  # noqa: E402
from tlxify.bench.figures import ratios  # noqa: E402
from tlxify.source import SourceFile  # noqa: E402

SHAPES = ((4096, 4096, 4096), (8192, 8192, 8192), (8192, 8192, 512), (65536, 1024, 1024))
ROUNDS = 15
L2_BYTES = 60 * 2**20


def inputs(shape, dtype, column_major_b):
    """Enough random operands that no round finds its own in the L2."""
    m, n, k = shape
    size = (m * k + k * n + m * n) * 2
    sets = max(2, min(6, 2 * L2_BYTES // size + 1))
    result = []
    for _ in range(sets):
        a = torch.randn((m, k), device="cuda", dtype=dtype)
        b = (
            torch.randn((n, k), device="cuda", dtype=dtype).T
            if column_major_b
            else torch.randn((k, n), device="cuda", dtype=dtype)
        )
        result.append((a, b))
    return result


def relative_error(out, a, b):
    """‖out − a·b‖ / ‖a·b‖ in float64, over a band of rows."""
    rows = slice(0, min(512, a.shape[0]))
    reference = a[rows].double() @ b.double()
    return ((out[rows].double() - reference).norm() / reference.norm()).item()


def interleaved(contenders, sets, flops):
    """Milliseconds per launch of each contender, one entry per round."""
    launches = max(3, int(20e-3 / (flops / 600e12)))
    calls = {name: lambda number, call=call: call(*sets[number]) for name, call in contenders.items()}
    return interleave(calls, CudaClock(torch), rounds=ROUNDS, launches=launches, inputs=len(sets))


def summary(times, flops):
    """Medians, TFLOP/s and the ratio per round of every contender to the converted kernel."""
    row = {
        "ms": {name: round(statistics.median(t), 5) for name, t in times.items()},
        "tflops": {name: round(flops / statistics.median(t) / 1e9, 1) for name, t in times.items()},
    }
    for other in times:
        if other != "converted":
            found = ratios(times[other], times["converted"])
            interval = [round(found.low, 4), round(found.high, 4)]
            row[f"speedup over {other}"] = {"median": round(found.median, 4), "interval90": interval}
    return row


def measure(shape, dtype, column_major_b, contenders):
    m, n, k = shape
    sets = inputs(shape, dtype, column_major_b)
    errors = {}
    for name, call in contenders.items():
        out = call(*sets[0])
        torch.cuda.synchronize()
        assert torch.isfinite(out).all(), name
        errors[name] = relative_error(out, *sets[0])
    flops = 2.0 * m * n * k
    row = {
        "shape": list(shape),
        "dtype": str(dtype).split(".")[1],
        "b": "column-major" if column_major_b else "row-major",
    }
    return {**row, "error": errors, **summary(interleaved(contenders, sets, flops), flops)}


def measure_grouped(shape, dtype):
    """The public batched GEMM of grouped-mm-bf16 with the tiles of its own wrapper (64 x 64 x 32, 4 warps)."""
    path = ROOT / ".corpus/grouped-mm-bf16-0.1.7/grouped_mm_bf16/kernels.py"
    if not path.exists():
        return {"skipped": "run corpus/fetch.py first"}
    name = "_grouped_mm_3d3d_kernel"
    module = from_text(
        "grouped_pair", convert(SourceFile.read(path), kernels=(name,)).kernels[0].conversion.module_text
    )
    converted = getattr(module, name)
    g, m, n, k = shape
    short = {torch.float16: tl.float16, torch.bfloat16: tl.bfloat16}[dtype]
    sets = [
        (torch.randn((g, m, k), device="cuda", dtype=dtype), torch.randn((g, k, n), device="cuda", dtype=dtype))
        for _ in range(3)
    ]

    def product(kernel):
        def call(a, b):
            c = torch.empty((g, m, n), device="cuda", dtype=dtype)
            strides = (*a.stride(), *b.stride(), *c.stride())
            names = [f"stride_{x}{y}" for x, axes in (("a", "gmk"), ("b", "gkn"), ("c", "gmn")) for y in axes]
            options = {
                "OUT_DTYPE": short,
                "ALLOW_TF32": False,
                "BLOCK_M": 64,
                "BLOCK_N": 64,
                "BLOCK_K": 32,
                "num_warps": 4,
            }
            kernel[(triton.cdiv(m, 64), triton.cdiv(n, 64), g)](
                a, b, c, M=m, N=n, K=k, **dict(zip(names, strides, strict=True)), **options
            )
            return c

        return call

    contenders = {"source": product(converted.original), "converted": product(converted), "torch": torch.bmm}
    errors = {}
    for contender, call in contenders.items():
        out = call(*sets[0])
        errors[contender] = relative_error(out[0], sets[0][0][0], sets[0][1][0])
    flops = 2.0 * g * m * n * k
    row = {"shape": list(shape), "dtype": str(dtype).split(".")[1], "kernel": name}
    return {**row, "error": errors, **summary(interleaved(contenders, sets, flops), flops)}


def launch_cost(plain, converted):
    """Microseconds of host time that one launch takes, for the source and through the launcher on both of its paths."""
    result = {}
    for path, k in (("specialized", 256), ("original", 251)):
        a = torch.randn((128, k), device="cuda", dtype=torch.float16)
        b = torch.randn((k, 128), device="cuda", dtype=torch.float16)
        c = torch.empty((128, 128), device="cuda", dtype=torch.float16)

        def launch(kernel, a=a, b=b, c=c, k=k):
            kernel[lambda meta: (triton.cdiv(128, meta["BLOCK_M"]) * triton.cdiv(128, meta["BLOCK_N"]),)](
                a, b, c, 128, 128, k, *a.stride(), *b.stride(), *c.stride(), ACTIVATION=""
            )

        rounds = []
        for _ in range(ROUNDS + 1):
            row = []
            for kernel in (plain.matmul_kernel, converted.matmul_kernel):
                torch.cuda.synchronize()
                start = time.perf_counter()
                for _ in range(200):
                    launch(kernel)
                row.append((time.perf_counter() - start) / 200 * 1e6)
            rounds.append(row)
        source, ours = (statistics.median(column) for column in zip(*rounds[1:], strict=True))
        result[path] = {
            "source_us": round(source, 2),
            "through_launcher_us": round(ours, 2),
            "added_us": round(ours - source, 2),
        }
    return result


def main():
    # The conversion wherever it may run: what is measured here is what the table of `stable` rests on.
    tlx.policy("always")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--dtypes", default="float16,bfloat16")
    parser.add_argument("--schedule", default="auto")
    parser.add_argument("--shapes", default="")
    options = parser.parse_args()
    shapes = [tuple(map(int, s.split("x"))) for s in options.shapes.split(",") if s] or SHAPES
    source = SourceFile.read(ROOT / "corpus/gemm/matmul.py")
    plain = from_text("matmul_source", source.text)
    converted = from_text("matmul_converted", convert(source, schedule=options.schedule).module_text)
    contenders = {"source": plain.matmul, "converted": converted.matmul, "torch": torch.matmul}
    report = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "rounds": ROUNDS,
        "rows": [],
    }
    for dtype in options.dtypes.split(","):
        for shape in shapes:
            for column_major_b in (False, True) if shape[2] <= 1024 else (False,):
                row = measure(shape, getattr(torch, dtype), column_major_b, contenders)
                report["rows"].append(row)
                print(json.dumps(row), flush=True)
    report["grouped"] = [
        measure_grouped(shape, torch.bfloat16) for shape in ((8, 2048, 2048, 2048), (64, 512, 1024, 1024))
    ]
    report["launch"] = launch_cost(plain, converted)
    for row in (*report["grouped"], report["launch"]):
        print(json.dumps(row), flush=True)
    report["dispatch"] = json.loads(json.dumps(tlx.stats(), default=str))
    report["configs"] = {
        "source": {str(key): str(config) for key, config in plain.matmul_kernel.cache.items()},
        "candidates": [str(candidate) for candidate in converted.matmul_kernel.candidates],
    }
    print(json.dumps(report["dispatch"]), flush=True)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
