"""``python -m tlx sim`` on files as authors have them: what it prints, and how it exits."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tlx.__main__ import COMMANDS, main
from tlx.sim.tool.child import Job, run_job

KERNEL = """
import sys
import numpy as np
import triton
import triton.language as tl
import tlx


@tlx.jit
def total(x_desc, out, TILES, STAGES: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    ring = tlx.local_alloc((ROWS, COLS), tl.float16, STAGES)
    full = tlx.alloc_barriers(STAGES)
    empty = tlx.alloc_barriers(STAGES)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for k in range(TILES):
                slot, phase = tlx.get_bufidx_phase(k, STAGES)
                tlx.barrier_wait(empty[slot], phase ^ 1)
                tlx.barrier_expect_bytes(full[slot], ROWS * COLS * 2)
                tlx.async_descriptor_load(x_desc, ring[slot], [k * ROWS, 0], full[slot])
        with tlx.async_task(num_warps=4):
            acc = tl.zeros((ROWS, COLS), tl.float32)
            for k in range(TILES):
                slot, phase = tlx.get_bufidx_phase(k, STAGES)
                tlx.barrier_wait(full[slot], phase)
                acc += tlx.local_load(ring[slot]).to(tl.float32)
                tlx.fence("async_shared")
                tlx.barrier_arrive(empty[slot])
            at = tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :]
            tl.store(out + at, acc)
"""
LAUNCH = """

def launch(tiles):
    from triton.tools.tensor_descriptor import TensorDescriptor
    x, out = np.ones((16 * tiles, 16), np.float16), np.zeros((16, 16), np.float32)
    base = tlx.sim.tensor(x)
    x_desc = TensorDescriptor(base, list(base.shape), list(base.stride()), [16, 16])
    total[lambda meta: (1,)](x_desc, out, tiles, 2, 16, 16)
    assert (out == tiles).all()
    print("the sum is right")
"""
MAIN = (
    LAUNCH
    + """

if __name__ == "__main__":
    launch(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
"""
)
CONTRACT = """
TLX_SIM = [
    {
        "kernel": "total",
        "args": {"x_desc": "fp16[TILES * ROWS, COLS]@[ROWS, COLS]", "out": "fp32[ROWS, COLS]=0"},
        "set": {"TILES": 5, "STAGES": 2, "ROWS": 16, "COLS": 16},
    }
]
"""
NO_WAIT = ("                tlx.barrier_wait(empty[slot], phase ^ 1)\n", "")
ARGS = [
    "--kernel", "total", "--arg", "x_desc=fp16[TILES*ROWS,COLS]@[ROWS,COLS]", "--arg", "out=fp32[ROWS,COLS]=0",
    "--set", "TILES=5", "--set", "STAGES=2", "--set", "ROWS=16", "--set", "COLS=16",
]  # fmt: skip


@pytest.fixture
def file(tmp_path):
    def write(*parts, replace=None):
        text = "".join(parts)
        if replace is not None:
            assert text.count(replace[0]) == 1
            text = text.replace(*replace)
        path = tmp_path / "kernels.py"
        path.write_text(text)
        return str(path)

    return write


def sim(*args):
    return CliRunner().invoke(main, ["sim", *map(str, args)], catch_exceptions=False)


def test_a_right_file_is_clean(file, tmp_path):
    done = sim(file(KERNEL, MAIN), "--timeline", tmp_path / "run.html")
    assert done.exit_code == 0, done.output
    assert "launch 1: total, grid 1, 1 CTA simulated, 6 schedules" in done.output
    assert "no findings" in done.output
    assert "async_descriptor_load" in (tmp_path / "run.html").read_text()


def test_findings_have_two_lines_with_carets(file, tmp_path):
    path = file(KERNEL, MAIN, replace=NO_WAIT)
    kept = tmp_path / "found.json"
    done = sim(path, "--record", kept)
    assert done.exit_code == 1
    lines = done.output.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("race: TMA load of ring[0] is not ordered"))
    text = Path(path).read_text().splitlines()
    number = next(i for i, line in enumerate(text, 1) if "async_descriptor_load" in line)
    assert lines[first + 2] == f"{number} │ {text[number - 1].strip()}"
    assert lines[first + 3].strip(" │") == "^" * len(text[number - 1].strip())
    assert "schedule late and 5 others" in done.output
    assert "replay the first: python -m tlx sim" in done.output
    again = sim(path, "--schedule", kept)
    assert again.exit_code == 1
    assert f"--schedule {kept}" in again.output


def test_json(file):
    done = sim(file(KERNEL, CONTRACT, replace=NO_WAIT), "--json", "--schedules", 1)
    assert done.exit_code == 1
    data = json.loads(done.output)
    assert (data["schema"], data["status"]) == (1, 1)
    assert data["launches"][0]["schedules"] == 3
    codes = {finding["code"] for finding in data["findings"]}
    assert "race" in codes
    for finding in data["findings"]:
        assert finding["site"]["text"]
        assert finding["remedy"].endswith(".")
        assert finding["schedule"]


def test_a_contract_on_the_command_line(file):
    path = file(KERNEL, replace=NO_WAIT)
    done = sim(path, *ARGS, "--schedule", "late")
    assert done.exit_code == 1
    assert "--set TILES=5" in done.output  # a replay launches the same
    assert sim(file(KERNEL), *ARGS, "--exhaustive").output.count("1 order of up to") == 1


def test_arguments_of_the_program(file):
    assert "TILES" not in (done := sim(file(KERNEL, MAIN), "--schedule", "late", "--", "3")).output
    assert done.exit_code == 0


def test_main_is_called_if_nothing_else_launches(file):
    done = sim(file(KERNEL, LAUNCH, "\ndef main():\n    launch(3)\n"), "--schedule", "late")
    assert done.exit_code == 0
    assert "launch 1: total" in done.output


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ((KERNEL,), "the file launched no kernel"),
        ((KERNEL, MAIN.replace("(out == tiles)", "(out == 0)")), "the program raised AssertionError"),
        ((KERNEL, "\nTLX_SIM = [{'kernel': 'totals'}]\n"), "the file has no totals; it has total"),
        (("x = (",), "the program raised SyntaxError"),
        (("import os\nos.abort()\n",), "the process ended with signal SIGABRT"),
        ((KERNEL.replace("acc += ", "acc += nothing + "), CONTRACT), "nothing"),
    ],
    ids=["no-launch", "assertion", "no-kernel", "syntax", "crash", "invalid-kernel"],
)
def test_what_cannot_be_simulated(file, parts, says):
    done = sim(file(*parts), "--schedule", "late")
    assert done.exit_code == 2
    assert says in done.output


def test_a_program_without_end(file):
    result = run_job(Job(file("while True:\n    pass\n"), seconds=6.0), lambda *told: None)
    assert result.status == 2
    assert "no end within 6 seconds" in result.error["message"]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--schedule", "soon"], "schedule must be"),
        (["--timeline", "x.png"], "--timeline writes"),
        (["--arg", "x=1"], "--kernel"),
        (["--kernel", "k", "--set", "3"], "NAME=VALUE"),
        (["--schedule", "missing.json"], "missing.json"),
    ],
)
def test_usage(file, args, says):
    done = sim(file("\n"), *args)
    assert done.exit_code == 2
    assert says in done.output


def test_the_table_of_commands():
    done = CliRunner().invoke(main, ["--help"])
    assert all(
        name in done.output and text.split(";")[0][:30] in done.output for name, (_, _, text) in COMMANDS.items()
    )
    assert CliRunner().invoke(main, ["simulate"]).exit_code == 2


def test_as_a_module(file):
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-m", "tlx", "sim", file(KERNEL, MAIN), "--schedule", "late"],
        cwd=root, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "the sum is right" in done.stderr  # what the program prints is not the tool's output
    assert "no findings" in done.stdout


TORCH = """
import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.autotune(configs=[triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64})], key=["N"])
@triton.jit
def add(x, y, out, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < N) + tl.load(y + at, mask=at < N), mask=at < EDGE)


def test():
    assert torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0)
    x = torch.randn(100, device="cuda", dtype=torch.bfloat16)
    y = torch.ones_like(x).to("cuda").cuda()
    out = torch.empty(100, device=DEVICE, dtype=torch.bfloat16)
    run = lambda: add[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, y, out, 100)
    triton.testing.do_bench(run)
    torch.cuda.synchronize()
    torch.testing.assert_close(out, x + y)


test()
"""


@pytest.mark.torch
def test_a_program_for_a_gpu(file):
    pytest.importorskip("torch")
    right = sim(file("EDGE: int = 1\n", TORCH.replace("EDGE)", "N)")), "--schedule", "late")
    assert right.exit_code == 0, right.output
    assert "launch 1: add, grid 4" in right.output
    wrong = sim(file(TORCH.replace("EDGE)", "N + 1)")), "--schedule", "late")
    assert wrong.exit_code == 1
    assert "global-out-of-bounds" in wrong.output
