"""No launch that was measured took less than the least that is reckoned for it."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tlxify.bench.shapes import filling
from tlxify.contract import LaunchConfig
from tlxify.limit import Limit
from tlxify.limits.launch import limit_of
from tlxify.pipeline import Analysis, analyze
from tlxify.source import SourceFile

ROOT = Path(__file__).parents[2]
ROWS = json.loads((ROOT / "benchmarks" / "results" / "corpus-h200.json").read_text())["rows"]
#: Of the whole corpus only these took less: programs of grouped/ leave early, gemm/gram loads one tile as both
#: operands, quantized/fp8_blocks draws more from L2, and the bytes of gemm/transposes and gemm/split_k are counted too
#: high; fused/low_rank and quantized/int8_rows each have one such launch.
KERNELS = ("gemm/matmul", "gemm/persistent", "gemm/batched_heads", "gemm/block_pointers", "attention/forward")
#: Of a time, by which it may fall below: ceilings were measured too.
TOLERANCE = 0.04


@cache
def analysed(kernel: str) -> Analysis:
    return analyze(SourceFile.read(ROOT / "corpus" / f"{kernel}.py"))[0]


def pairs(text: str) -> dict[str, object]:
    """The values of "M=4096, ACTIVATION=''"."""
    parts = (part.partition("=") for part in text.split(", "))
    return {name: ast.literal_eval(value) for name, _, value in parts}


@pytest.mark.parametrize("kernel", KERNELS)
def test_no_measured_launch_took_less(kernel):
    found = analysed(kernel)
    compared = 0
    for row in (row for row in ROWS if row["kernel"] == kernel):
        for who, spread in row["ms"].items():
            config = pairs(row["configs"][who])
            warps, stages = config.pop("num_warps"), config.pop("num_stages")
            assert found.contract is not None
            contract = replace(found.contract, configs=(LaunchConfig(tuple(config.items()), warps, stages),))
            case = filling(contract)[0]
            sizes = {**dict(case.values), **pairs(row["launch"].partition("; ")[0])}
            limit = limit_of(found.kernel, found.facts, contract, [replace(case, values=tuple(sizes.items()))])
            assert isinstance(limit, Limit)
            assert limit.flops == pytest.approx(row["flops"])
            assert limit.shares.least <= (1 + TOLERANCE) * 1000 * spread["median"], f"{who} {row['launch']}"
            compared += 1
    assert compared >= 4
