"""Small trees, and children that misbehave on purpose."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

GEMM = (Path(__file__).parents[2] / "corpus" / "gemm" / "matmul.py").read_text()

NO_DOT = """
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(x_ptr + offsets, x * 2, mask=offsets < n)
"""

#: What a sabotaged child does on the kernel of each name. It replaces the converter's own step, so that the machinery
#: around it is what is tested.
SABOTAGE = """
import os, sys, time
import tlxify.pipeline as pipeline

whole = pipeline._convert_one

def trapped(kernel, *rest, **options):
    if kernel.name == "crashes":
        raise RuntimeError("a fault of ours")
    if kernel.name == "hangs":
        time.sleep(600)
    if kernel.name == "dies":
        os._exit(7)
    if kernel.name == "swells":
        kept = []
        while True:
            kept.append(bytearray(64 << 20))
    return whole(kernel, *rest, **options)

pipeline._convert_one = trapped
"""


@pytest.fixture
def sabotage(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Children fail on kernels with certain names."""
    folder = tmp_path_factory.mktemp("sabotage")
    (folder / "sitecustomize.py").write_text(
        "import sys\n"
        "if 'tlxify.migrate.worker' in ' '.join(sys.orig_argv):\n" + textwrap.indent(SABOTAGE.strip(), "    ") + "\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(folder))


def kernel(name: str) -> str:
    """A file with one kernel without a dot, of that name, beside one that is sound."""
    return NO_DOT + NO_DOT.partition("@triton.jit")[2].join(["\n\n@triton.jit", ""]).replace("scale", name)
