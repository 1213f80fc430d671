"""Whether an output is right, by our own measure: several tutorials compare theirs and drop the result."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from .cases import Case

#: of ‖out − ref‖ / ‖ref‖; rounding to fp16 alone makes 3e-4
RELATIVE = 2e-3
#: of max |out − ref| / rms(ref); rounding alone makes 3e-3 at the largest elements
WORST = 3e-2


@dataclass(frozen=True, slots=True)
class Error:
    """How far an output is off."""

    relative: float
    worst: float

    @property
    def right(self) -> bool:
        """Within rounding. NaN is not."""
        return self.relative <= RELATIVE and self.worst <= WORST


@contextlib.contextmanager
def poisoned() -> Iterator[None]:
    """torch.empty inside gives NaN, so that an element nobody writes shows."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def reference(case: Case, tensors: tuple[torch.Tensor, ...]) -> torch.Tensor:
    """The result in float32 arithmetic (no tf32)."""
    if case.kind == "gemm":
        a, b = tensors
        return a.float() @ b.float()
    q, k, v = tensors
    rows = []
    for one in range(q.shape[0]):
        scores = q[one].float() @ k[one].float().transpose(-1, -2) * q.shape[-1] ** -0.5
        rows.append(torch.softmax(scores, dim=-1) @ v[one].float())
    return torch.stack(rows)


def error(out: torch.Tensor, expected: torch.Tensor) -> Error:
    """Compares in float32."""
    off = out.float() - expected
    rms = expected.square().mean(dtype=torch.float64).sqrt().item()
    relative = off.square().mean(dtype=torch.float64).sqrt().item() / rms
    return Error(relative=relative, worst=off.abs().max().item() / rms)
