"""The plan's tables say what the plan says, with the bytes of each config."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from tlxify.contract import LaunchConfig
from tlxify.outcome import KernelOutcome
from tlxify.pipeline import convert
from tlxify.render.plan import plan_tables, stage_bytes
from tlxify.source import SourceFile

CORPUS = Path(__file__).parents[2] / "corpus" / "gemm" / "matmul.py"


@pytest.fixture(scope="module")
def gemm() -> KernelOutcome:
    (kernel,) = convert(SourceFile.read(CORPUS)).kernels
    assert kernel.plan is not None
    return kernel


def text(plan, contract) -> list[str]:
    stream = io.StringIO()
    console = Console(file=stream, width=300)
    for part in plan_tables(plan, contract):
        console.print(part)
    return [" ".join(line.split()) for line in stream.getvalue().splitlines()]


def test_tables_hold_every_task_buffer_and_barrier(gemm):
    lines = text(gemm.plan, gemm.contract)
    for name in [task.name for task in gemm.plan.tasks] + [barrier.name for barrier in gemm.plan.barriers]:
        assert [line for line in lines if line.startswith(f"{name} ")], name
    for ring, _, fill in gemm.plan.fills():
        buffer = ring.buffer(fill.buffer)
        (line,) = (line for line in lines if line.startswith(f"{buffer.name} "))
        assert " × ".join(buffer.tile) in line
        assert f"{buffer.view.parameter}[" in line
        assert line.endswith(", ".join(fill.coordinates))


def test_bytes_follow_from_each_config(gemm):
    lines = text(gemm.plan, gemm.contract)
    assert "BLOCK_M=128 BLOCK_N=256 BLOCK_K=64 GROUP_M=8 8 3 49,152 147,456" in lines
    assert "BLOCK_M=128 BLOCK_N=64 BLOCK_K=32 GROUP_M=8 4 4 12,288 49,152" in lines
    assert stage_bytes(gemm.plan, gemm.contract.configs[0]) == 2 * (128 * 64 + 64 * 256)


def test_a_config_that_does_not_fix_the_tiles_has_no_bytes(gemm):
    contract = replace(gemm.contract, configs=(LaunchConfig((("GROUP_M", 8),)),), configs_known=False)
    lines = text(gemm.plan, contract)
    assert "GROUP_M=8 4 3 – –" in lines
    assert any("the source's are not known" in line for line in lines)


def test_brackets_are_text_not_markup(gemm):
    barriers = tuple(replace(barrier, meaning="a [bold] word") for barrier in gemm.plan.barriers)
    assert any(line.endswith("a [bold] word") for line in text(replace(gemm.plan, barriers=barriers), None))
