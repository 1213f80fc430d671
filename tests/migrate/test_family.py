"""The family of a kernel, on the corpus and on kernels of a few lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tlxify.migrate.family import families
from tlxify.source import SourceFile

CORPUS = Path(__file__).parents[2] / "corpus"


def one(path: str) -> set[str]:
    return set(families(SourceFile.read(CORPUS / path)).values())


@pytest.mark.parametrize(
    ("path", "expected"),
    [("gemm/matmul.py", "GEMM"), ("attention/forward.py", "attention"), ("grouped/grouped.py", "grouped GEMM")],
)
def test_kernels_of_the_corpus(path: str, expected: str):
    assert one(path) == {expected}


def text(body: str, parameters: str = "x_ptr, y_ptr") -> str:
    head = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"{head}def kernel({parameters}, B: tl.constexpr):\n{lines}"


LOOP = "acc = tl.zeros((B, B), tl.float32)\nfor i in range(4):\n    a = tl.load(x_ptr)\n    acc = tl.dot(a, {b}, acc)\n"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (text("x = tl.load(x_ptr)\ntl.store(y_ptr, x)"), "no dot"),
        (text("x = tl.load(x_ptr)\ntl.store(y_ptr, tl.dot(x, x))"), "other dot"),
        (text(LOOP.format(b="a")), "GEMM"),
        (text(LOOP.format(b="(a >> 4) & 0xF")), "dequantising GEMM"),
        (text(LOOP.format(b="a"), "x_ptr, expert_ids"), "grouped GEMM"),
        (text(LOOP.format(b="a"), "x_ptr, chunk_offsets"), "linear attention"),
        (text(LOOP.format(b="tl.exp(a - tl.max(a, 1))"), "x_ptr"), "attention"),
        (text(LOOP.format(b="tl.exp(a - tl.max(a, 1))"), "x_ptr, dq"), "attention backward"),
    ],
)
def test_what_tells_a_family(source: str, expected: str):
    assert families(SourceFile("m.py", source)) == {("kernel", 5): expected}
