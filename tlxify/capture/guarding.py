"""Which kernel each captured launch would run, by the generated guard; needs no GPU. Runs in a child."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..bench.itemsize import itemsize
from ..bench.tensors import TORCH
from ..verdict import Evidence
from ..verify.child import Job
from ..verify.loading import load
from ..verify.oracle import as_constexpr
from .launches import Launch, Tensor

#: Tensors are put so far apart that none reaches the next.
APART = 1 << 44


def resolve(job: Job, progress: Callable[[str], None]) -> tuple[dict[str, Any], list[Evidence]]:
    """For each of `job.options["launches"]`: path, reason code and sentence of the launcher."""
    bound = load(job.conversion).bound
    told = []
    for launch, config in job.options["launches"]:
        try:
            dispatch = bound.resolve(grid=launch.grid, config=config, **_arguments(launch, config))
            told.append([dispatch.path, dispatch.code, dispatch.text])
        except Exception as error:  # the launcher would let the original run
            told.append(["original", "guard-error", f"{type(error).__name__}: {error}"])
    return {"dispatches": told}, []


def _arguments(launch: Launch, config: Mapping[str, Any]) -> dict[str, Any]:
    memory: dict[str, _Memory] = {}
    under = {second: first for first, second in launch.overlaps}
    for number, tensor in enumerate(launch.tensors, 1):
        shared = memory.get(under.get(tensor.name, ""))
        base = shared.address if shared is not None else number * APART
        memory[tensor.name] = _Memory(tensor, base + tensor.alignment % 16)
    scalars = {name: _scalar(value) for name, value in launch.scalars if name not in config}
    return {**memory, **_described(launch, memory), **scalars}


def _described(launch: Launch, memory: Mapping[str, _Memory]) -> dict[str, Any]:
    """The arguments that were descriptors."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    return {
        tensor.name: TensorDescriptor(memory[tensor.name], list(tensor.shape), list(tensor.strides), list(tensor.block))
        for tensor in launch.tensors
        if tensor.block
    }


def _scalar(value: Any) -> Any:
    return as_constexpr(value["dtype"]) if isinstance(value, Mapping) and "dtype" in value else value


class _DType:
    def __init__(self, name: str) -> None:
        self.name, self.itemsize = TORCH.get(name, name), itemsize(name)

    def __str__(self) -> str:
        return self.name


class _Memory:
    """Stands for a tensor: where it lies and of what, which is all that a guard asks."""

    def __init__(self, tensor: Tensor, address: int) -> None:
        self.address, self.shape, self.dtype = address, tensor.shape, _DType(tensor.dtype)
        reach = sum((extent - 1) * stride for extent, stride in zip(tensor.shape, tensor.strides, strict=True))
        self._bytes = (reach + 1) * self.dtype.itemsize

    def data_ptr(self) -> int:
        """The address."""
        return self.address

    def element_size(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    def untyped_storage(self) -> _Memory:
        """The memory of the tensor: no more is known of what it was cut from."""
        return self

    def nbytes(self) -> int:
        """Bytes from the first element to the last."""
        return self._bytes
