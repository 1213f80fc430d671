"""A tutorial as a module on our tlx, held to one configuration, and operands to call it with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

import tlx
from benchmarks.modules import from_file

from .cases import Case


def load(path: Path) -> Any:
    """The unmodified file as a module."""
    tlx.install()
    return from_file(path.stem.replace("-", "_"), path)


def pick(kernel: Any, case: Case) -> None:
    """Leaves one configuration to the kernel's autotuner, which then has nothing to time.

    Raises:
        LookupError: none or several of the tutorial's configurations fit.
    """
    fitting = [
        config
        for config in kernel.configs
        if all({**config.kwargs, "num_warps": config.num_warps}.get(k) == v for k, v in case.config.items())
    ]
    if len(fitting) != 1:
        raise LookupError(f"{case.name}: {len(fitting)} of {len(kernel.configs)} configurations fit {case.config}")
    kernel.configs = fitting


def operands(case: Case, problem: tuple[int, ...], device: Any) -> tuple[torch.Tensor, ...]:
    """fp16 operands: N(0, 1) for products, N(0, 1/4) for attention."""
    if case.kind == "attention":
        return tuple(torch.randn(problem, device=device, dtype=torch.float16) * 0.5 for _ in range(3))
    m, n, k = problem

    def matrix(rows: int, columns: int, which: str) -> torch.Tensor:
        if which in case.column_major:
            return torch.randn((columns, rows), device=device, dtype=torch.float16).T
        return torch.randn((rows, columns), device=device, dtype=torch.float16)

    return matrix(m, k, "A"), matrix(k, n, "B")


def call(module: Any, case: Case, tensors: tuple[torch.Tensor, ...]) -> torch.Tensor:
    """The tutorial's own host function."""
    scale = (tensors[0].shape[-1] ** -0.5,) if case.kind == "attention" else ()
    return getattr(module, case.host)(*tensors, *scale)
