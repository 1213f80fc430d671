"""The numbers of one launch: its grid, and where each tensor's elements lie. No memory is touched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..contract import Contract, TensorSpec, complete, evaluate
from ..verify.cases import Case
from ..verify.grids import settle_grid
from ..verify.layouts import extents_of, settle_unused, settled_strides, wanted_strides
from .itemsize import itemsize


@dataclass(frozen=True, slots=True)
class TensorSizes:
    """One tensor; extents and strides in elements."""

    spec: TensorSpec
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    #: What integer elements are drawn from; empty where the contract says nothing.
    values: tuple[int, ...] = ()
    #: Begins one element past an aligned address.
    odd: bool = False

    @property
    def span(self) -> int:
        """Elements from the first to the last."""
        if not all(self.shape):
            return 0
        return 1 + sum((extent - 1) * stride for extent, stride in zip(self.shape, self.strides, strict=True))


@dataclass(frozen=True, slots=True)
class Sizes:
    """A launch of the source kernel in numbers."""

    grid: tuple[int, ...]
    tensors: tuple[TensorSizes, ...]
    #: Arguments that are no tensors and not set by the config.
    scalars: Mapping[str, object]
    #: Everything that has a value by name, constexprs of the config included.
    known: Mapping[str, object]

    def dtype_of(self, pointer: str) -> str | None:
        """The element type of a tensor."""
        return next((tensor.dtype for tensor in self.tensors if tensor.spec.name == pointer), None)


def sizes_of(contract: Contract, case: Case) -> Sizes:
    """The launch that a case asks for, as verification would make it.

    Raises:
        ContractFault: an expression of the contract has no value.
    """
    constants = case.constants(contract)
    scalars: dict[str, object] = dict(case.values)
    known: dict[str, object] = {**scalars, **constants}
    complete(contract, known)
    scalars.update((name, known[name]) for name, _ in contract.computed if name in known)
    scalars.update(dict.fromkeys(contract.absent))
    grid = settle_grid(contract, known)
    stride_names = {scalar.name for scalar in contract.scalars if scalar.kind == "stride"}
    tensors = []
    for spec in contract.tensors:
        dtype = contract.dtype_of(spec, case.dtype)
        shape = extents_of(spec, known)
        layout = case.layout(spec.name)
        wanted = wanted_strides(spec, layout, shape, itemsize(dtype), known)
        strides = settled_strides(spec, wanted, known, stride_names)
        values = tuple(evaluate(expression, known) for expression in spec.values)
        tensors.append(TensorSizes(spec, dtype, shape, strides, values, layout == "odd"))
    settle_unused(known, stride_names)
    scalars.update((name, known[name]) for name in stride_names)
    for spec_ in contract.constexprs:
        if spec_.kind == "dtype" and spec_.dtype_of is not None and spec_.name not in known:
            scalars[spec_.name] = next(t.dtype for t in tensors if t.spec.name == spec_.dtype_of)
    parameters = set(contract.parameters)
    scalars = {name: value for name, value in scalars.items() if name in parameters and name not in constants}
    return Sizes(grid, tuple(tensors), scalars, known)
