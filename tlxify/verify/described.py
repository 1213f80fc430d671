"""Tensors as a kernel is passed them: by themselves, or behind a descriptor that the caller makes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..contract import TensorSpec, evaluate

#: Bytes that bases and strides of a descriptor are multiples of.
UNIT = 16


def passed(specs: Iterable[TensorSpec], tensors: Mapping[str, Any], known: Mapping[str, object]) -> dict[str, Any]:
    """`tensors` by parameter, with descriptors in place of those that have blocks; `known` says how long tiles are.

    A tensor has `shape` and `stride()`, in elements.
    """
    from triton.tools.tensor_descriptor import TensorDescriptor

    found = dict(tensors)
    for spec in specs:
        if spec.block and spec.name in found:
            tensor = found[spec.name]
            block = [evaluate(length, known) for length in spec.block]
            found[spec.name] = TensorDescriptor(tensor, list(tensor.shape), list(tensor.stride()), block)
    return found


def describable(shape: Sequence[int], strides: Sequence[int], first: int, itemsize: int) -> bool:
    """Whether a descriptor may describe such a tensor, `first` elements past an aligned address (as Triton's asks)."""
    aligned = all(step * itemsize % UNIT == 0 for step in (*strides[:-1], first))
    return aligned and strides[-1] == 1 and all(extent > 0 for extent in shape)
