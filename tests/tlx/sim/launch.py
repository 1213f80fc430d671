"""Arguments and launches that the simulator's tests share."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from triton.tools.tensor_descriptor import TensorDescriptor

import tlx

SCHEDULES = ("late", "eager", 0, 1, 2, 3)


def descriptor(array: Any, block: list[int]) -> TensorDescriptor:
    """A host descriptor over an array."""
    base = tlx.sim.tensor(array)
    return TensorDescriptor(base, list(base.shape), list(base.stride()), block)


def padded(rng: np.random.Generator, rows: int, cols: int, dtype: Any = np.float16) -> np.ndarray:
    """Random values whose row stride is a multiple of 16 bytes, as descriptors need."""
    per_16_bytes = 16 // np.dtype(dtype).itemsize
    width = -(-cols // per_16_bytes) * per_16_bytes
    return rng.standard_normal((rows, width)).astype(dtype)[:, :cols]


def line_of(kernel: Any, mark: str = "# BUG") -> int:
    """The line of a kernel's source that carries a mark."""
    lines, first = inspect.getsourcelines(kernel.fn)
    (index,) = [i for i, line in enumerate(lines) if mark in line]
    return first + index


def assert_found(report: tlx.sim.Report, kernel: Any, *codes: str) -> None:
    """One of ``codes`` was found at the marked line, and says how to see it again."""
    line = line_of(kernel)
    text = "\n\n".join(map(str, report.findings)) or "nothing"
    at_line = [f for f in report.findings if line in (f.site.line, f.other.line if f.other else 0)]
    assert any(f.code in codes for f in at_line), f"expected {codes} at line {line}, found {text}"
    for finding in at_line:
        assert finding.site.file == kernel.fn.__code__.co_filename
        assert finding.schedule == report.schedule
        assert finding.remedy
        assert finding.what
