"""Do two kernels agree on what they wrote? The rule is the verifier's (`tlxify verify`), computed where the data is.

Bits first. Where they differ, integers have no excuse; for floats NaN and infinities must stand in the same places, and
everywhere |x - s| / (|s| + rms(s)), with s what the source wrote, must stay below a few units in the last place. The
source is the measure: float64 values of its own are not to be had while a program runs. Small rows beside large ones
are not looked at by themselves, as the verifier does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from tlx.launch.pointers import dtype_name

__all__ = ["FLOOR_ULPS", "disagreement"]

#: Units in the last place by dtype, and bits of the mantissa that are stored: the floors of the verifier.
FLOOR_ULPS = {"fp16": 1, "bf16": 1, "fp8e4nv": 1, "fp8e5": 1, "fp32": 32, "fp64": 32}
MANTISSA = {"fp16": 10, "bf16": 7, "fp32": 23, "fp64": 52, "fp8e4nv": 3, "fp8e5": 2}
#: Elements that are compared at a time: what that takes besides, in float64, stays below 256 MiB.
CHUNK = 1 << 22


def disagreement(name: str, converted: Any, source: Any) -> str | None:
    """How the tensor `name` of two launches differs too much, or `None`. Waits for the GPU.

    Both are torch tensors of one layout in allocations of one size; all that lies in these is compared, for a kernel
    may write beside the tensor that it was given.
    """
    torch: Any = sys.modules["torch"]
    with torch.no_grad():  # an output may be a parameter of the user's model
        return _disagreement(torch, name, converted, source)


def _disagreement(torch: Any, name: str, converted: Any, source: Any) -> str | None:
    mine, theirs = _elements(torch, converted), _elements(torch, source)
    differing = [
        (start, a, b)
        for start, a, b in _chunks(mine, theirs)
        if not torch.equal(a.view(torch.uint8), b.view(torch.uint8))
    ]
    if not differing:
        return None
    kind = dtype_name(converted.dtype)
    if kind not in FLOOR_ULPS:
        for start, a, b in differing:
            unequal = (a.view(torch.uint8) != b.view(torch.uint8)).nonzero()
            where = start + int(unequal[0]) // a.element_size()
            return f"{name}[{_at(converted, where)}] is {a[where - start].item()} instead of {b[where - start].item()}"
    size = _rms(torch, source)
    bound = FLOOR_ULPS[kind] * 2.0 ** -MANTISSA[kind]
    for start, a, b in differing:
        got, had = a.double(), b.double()
        same = (got == had) | (got.isnan() & had.isnan())
        errors = (got - had).abs() / (had.abs() + size + torch.finfo(torch.float32).tiny)
        # A difference of infinities is NaN: no bound holds it.
        wrong = ~same & ~(errors <= bound)
        if bool(wrong.any()):
            where = int(wrong.nonzero()[0])
            told = f"{got[where].item():.6g} instead of {had[where].item():.6g}"
            return f"{name}[{_at(converted, start + where)}] is {told}"
    return None


def _elements(torch: Any, tensor: Any) -> Any:
    """The allocation behind a tensor as elements of its dtype, from the first that its own may start at."""
    storage, width = tensor.untyped_storage(), tensor.element_size()
    return torch.empty(0, dtype=tensor.dtype, device=tensor.device).set_(storage, 0, (storage.nbytes() // width,), (1,))


def _chunks(mine: Any, theirs: Any) -> Iterator[tuple[int, Any, Any]]:
    for start in range(0, mine.numel(), CHUNK):
        yield start, mine[start : start + CHUNK], theirs[start : start + CHUNK]


def _rms(torch: Any, tensor: Any) -> float:
    """The root mean square of a tensor's finite elements."""
    total, count = 0.0, 0
    flat = tensor.reshape(-1) if tensor.is_contiguous() else tensor.flatten()
    for start in range(0, flat.numel(), CHUNK):
        part = flat[start : start + CHUNK].double()
        part = part[part.isfinite()]
        total += float(part.square().sum())
        count += part.numel()
    return float((total / count) ** 0.5) if count else 0.0


def _at(tensor: Any, place: int) -> str:
    """The index of the element at `place` of a tensor's allocation; that place itself where it is not the tensor's."""
    rest, index = place - tensor.storage_offset(), [0] * tensor.dim()
    for axis in sorted(range(tensor.dim()), key=lambda axis: -tensor.stride(axis)):
        stride = tensor.stride(axis)
        if stride > 0 and rest >= 0:
            index[axis] = min(rest // stride, max(tensor.size(axis) - 1, 0))
            rest -= index[axis] * stride
    return ", ".join(map(str, index)) if rest == 0 else f"element {place} of its storage"
