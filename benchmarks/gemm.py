"""Converted GEMMs against their sources and torch.matmul on a GPU: correctness first, then interleaved times.

    python benchmarks/gemm.py --json benchmarks/results/gemm-h200.json

Every contender runs in this process, in turn, over inputs that together exceed the L2. A ratio is taken per round; reported are
its median and 90 % bootstrap interval. The dispatch record says which kernel ran.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import sys
import tempfile
from pathlib import Path

import torch
import triton

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import tlx  # noqa: E402
from tlxify import convert  # noqa: E402
from tlxify.source import SourceFile  # noqa: E402

SHAPES = ((4096, 4096, 4096), (8192, 8192, 8192), (8192, 8192, 512), (65536, 1024, 1024))
ROUNDS = 15
L2_BYTES = 60 * 2**20


def load(name: str, text: str):
    """A module from text."""
    path = Path(tempfile.mkdtemp()) / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def inputs(shape, dtype, column_major_b):
    """Enough random operands that no round finds its own in the L2."""
    m, n, k = shape
    size = (m * k + k * n + m * n) * 2
    sets = max(2, min(6, 2 * L2_BYTES // size + 1))
    result = []
    for _ in range(sets):
        a = torch.randn((m, k), device="cuda", dtype=dtype)
        b = torch.randn((n, k), device="cuda", dtype=dtype).T if column_major_b else torch.randn((k, n), device="cuda", dtype=dtype)
        result.append((a, b))
    return result


def relative_error(out, a, b):
    """‖out − a·b‖ / ‖a·b‖ in float64, over a band of rows."""
    rows = slice(0, min(512, a.shape[0]))
    reference = a[rows].double() @ b.double()
    return ((out[rows].double() - reference).norm() / reference.norm()).item()


def time_call(call, sets, launches):
    """Milliseconds per launch."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for i in range(launches):
        call(*sets[i % len(sets)])
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / launches


def interval(values, seed=0):
    """90 % bootstrap interval of the median."""
    generator = torch.Generator().manual_seed(seed)
    data = torch.tensor(values, dtype=torch.float64)
    draws = torch.randint(len(values), (2000, len(values)), generator=generator)
    medians = data[draws].median(dim=1).values.sort().values
    return [round(medians[100].item(), 4), round(medians[1899].item(), 4)]


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
    launches = max(3, int(20e-3 / (flops / 600e12)))
    times = {name: [] for name in contenders}
    for _ in range(ROUNDS):
        for name, call in contenders.items():
            times[name].append(time_call(call, sets, launches))
    row = {"shape": list(shape), "dtype": str(dtype).split(".")[1], "b": "column-major" if column_major_b else "row-major"}
    row["error"] = errors
    row["ms"] = {name: round(statistics.median(t), 5) for name, t in times.items()}
    row["tflops"] = {name: round(flops / statistics.median(t) / 1e9, 1) for name, t in times.items()}
    for other in ("source", "torch"):
        ratios = [a / b for a, b in zip(times[other], times["converted"], strict=True)]
        row[f"speedup over {other}"] = {"median": round(statistics.median(ratios), 4), "interval90": interval(ratios)}
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--dtypes", default="float16,bfloat16")
    parser.add_argument("--schedule", default="auto")
    parser.add_argument("--shapes", default="")
    options = parser.parse_args()
    shapes = [tuple(map(int, s.split("x"))) for s in options.shapes.split(",") if s] or SHAPES
    source = SourceFile.read(ROOT / "corpus/gemm/matmul.py")
    plain = load("matmul_source", source.text)
    converted = load("matmul_converted", convert(source, schedule=options.schedule).module_text)
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
    report["stats"] = json.loads(json.dumps(tlx.stats(), default=str))
    print(json.dumps(report["stats"])[:3000])
    for module in (plain, converted):
        kernel = module.matmul_kernel
        cache = getattr(kernel, "cache", None)
        print({str(k)[:90]: str(v) for k, v in (cache or {}).items()})
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
