"""torch programs: on the CPU through Triton's interpreter, on a GPU for real."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tlxify.capture.run import capture

pytestmark = pytest.mark.torch
ROOT = Path(__file__).parents[2]
PROGRAM = """
import os, sys
if sys.argv[1] == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"
import torch, triton, triton.language as tl

@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask)

def launch(x, y, out):
    add[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, out, x.numel(), BLOCK=64)

base = torch.zeros(4096, device=sys.argv[1])
x, y = torch.ones(200, device=sys.argv[1]), base[1:201]
for _ in range(int(sys.argv[2])):
    launch(x, y, base[1024:1224])
launch(x, x, x)
assert x.sum().item() == 400 and base.sum().item() == 200
if sys.argv[1] == "cuda":
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(9):
            launch(y, y, base[1024:1224])
    graph.replay()
    torch.cuda.synchronize()
"""


def run(tmp_path, monkeypatch, *words):
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", ""))))
    status, found = capture([sys.executable, str(tmp_path / "program.py"), *words], tmp_path / "r.jsonl", limit=50)
    assert (status, found.troubles) == (0, ())
    return found.launches


def test_the_interpreter_is_recorded(tmp_path, monkeypatch):
    apart, in_place = run(tmp_path, monkeypatch, "cpu", "3")
    assert (apart.launches, apart.via, apart.grid) == (3, "interpreter", (4,))
    assert apart.tensor("y").alignment == 4, "a view that begins one element past an aligned address"
    assert apart.tensor("out").alignment == 16
    assert in_place.overlaps == (("x", "y"), ("x", "out"), ("y", "out"))
    assert in_place.launches == 1


@pytest.mark.gpu
def test_a_gpu_tells_times_and_graphs_are_left_alone(tmp_path, monkeypatch):
    launches = run(tmp_path, monkeypatch, "cuda", "500")
    assert sum(launch.launches for launch in launches) == 510
    times = launches[0].times
    assert 5 <= len(times) <= 24
    assert 0.5 < launches[0].microseconds < 50, "the kernel's time, not that of launching it"
