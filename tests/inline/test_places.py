"""Places of written-out text: indented kernels, other line ends, wide characters, lines of the role map."""

from __future__ import annotations

import pytest

from tlxify import convert
from tlxify.diagnostics import render
from tlxify.source import Origin, SourceFile, Span

KERNEL = """import triton
import triton.language as tl

if triton is not None:  # é
    @triton.jit
    def multiply(acc, a_ptr, b_ptr, rows, cols, K, BLOCK_K: tl.constexpr):
        depth = tl.arange(0, BLOCK_K)
        for k in range(0, K, BLOCK_K):
            a = tl.load(a_ptr + rows[:, None] * K + depth[None, :] + k, mask=depth[None, :] + k < K, other=0.0)
            b = tl.load(b_ptr + cols[:, None] * K + depth[None, :] + k, mask=depth[None, :] + k < K, other=0.0)
            acc = tl.dot(a, b.T, acc)
        return acc

    @triton.jit
    def kernel(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
        rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
        cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        "größer"; acc = multiply(acc, a_ptr, b_ptr, rows % M, cols % N, K, BLOCK_K)
        tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc.to(tl.float16), mask=(rows[:, None] < M) & (cols[None, :] < N))
"""  # noqa: E501


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "# the end"])
def test_an_indented_kernel_keeps_its_lines(end, last):
    source = SourceFile("kernel.py", (KERNEL + last).replace("\n", end))
    conversion = convert(source)
    (kernel,) = conversion.kernels
    assert kernel.verdict_word == "converted", [render(d, source) for d in kernel.diagnostics]
    assert (kernel.span.line, kernel.span.column) == (14, 4)
    lines = KERNEL.splitlines()
    for line in kernel.roles:
        assert line.file is None
        if line.text.strip().startswith(("a = ", "b = ", "acc = tl", "for", "tl.store", "cols = ")):
            assert lines[line.line - 1].split("=")[0].strip() == line.text.split("=")[0].strip().rstrip("_1")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_refusal_has_the_column_of_the_helper(end):
    source = SourceFile(
        "kernel.py", KERNEL.replace("other=0.0)\n            b", "other=2.0)\n            b").replace("\n", end)
    )
    conversion = convert(source)
    (found,) = conversion.kernels[0].diagnostics
    assert (found.code, found.span.line, found.span.column, found.file) == ("TLX205", 9, 16, None)
    assert render(found, source).startswith("kernel.py:9:17: unprofitable: TLX205")


def test_text_of_no_file_has_the_place_of_the_innermost_part_around_it():
    user = SourceFile("user.py", "a\nb\n")
    outer, inner = Origin(user, Span(1, 0, 1, 1)), Origin(user, Span(2, 0, 2, 1))
    made = SourceFile("user.py", "a\nb\n\nab\n", {Span(4, 0, 4, 2): outer, Span(4, 1, 4, 2): inner})
    assert made.origin(Span(4, 0, 4, 2)) == outer
    assert made.origin(Span(4, 1, 4, 1)) == inner
    assert made.origin_of_line(4) == outer
    assert made.origin(Span(1, 0, 1, 1)) == Origin(made, Span(1, 0, 1, 1))
