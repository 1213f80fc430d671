"""Descriptors that the caller makes, as tensors of a contract: extents and strides are the launch's to choose.

What the kernel masks by is on the descriptor, so no parameter need hold an extent. But the kernel counts its tiles, or
walks them, by numbers that it is passed: those are what a launch describes. Strides are what the layout makes of them.
"""

from __future__ import annotations

from dataclasses import replace

from ...contract import ANY_STRIDE, TensorSpec
from ...facts import Access, Dimension, Facts
from ...poly import ONE, Poly, Symbol


def without_descriptors(facts: Facts) -> Facts:
    """The facts with every access through a caller's descriptor as one to memory that is as long as it is walked."""
    hosted = {descriptor.name for descriptor in facts.hosted}
    if not hosted:
        return facts
    accesses = ((span, _walked(access) if access.pointer in hosted else access) for span, access in facts.accesses)
    return replace(facts, accesses=tuple(accesses))


def _walked(access: Access) -> Access:
    def one(dimension: Dimension) -> Dimension:
        return replace(dimension, extent=None, stride=_stride(access.pointer, dimension.stride))

    return replace(access, dimensions=tuple(map(one, access.dimensions)))


def _stride(pointer: str, stride: Poly) -> Poly:
    axis = next((s.name.removeprefix(f"{pointer}.strides[").rstrip("]") for s in stride.symbols), None)
    return stride if axis is None else Poly.of(Symbol(_name(pointer, int(axis)), launch=True))


def _name(pointer: str, axis: int) -> str:
    return f"stride_{pointer}_{axis}"


def as_descriptor(spec: TensorSpec, facts: Facts) -> TensorSpec | None:
    """The tensor with its axes in the descriptor's order, and the descriptor's blocks.

    As it is where no descriptor stands for it; None where the axes are not all known.
    """
    descriptor = next((descriptor for descriptor in facts.hosted if descriptor.name == spec.name), None)
    if descriptor is None:
        return spec
    rank = len(descriptor.axes)
    order = {**{_name(spec.name, axis): axis for axis in range(rank - 1)}, "1": rank - 1}
    pairs = [(order.get(stride), extent) for extent, stride in zip(spec.shape, spec.strides, strict=True)]
    if sorted(-1 if axis is None else axis for axis, _ in pairs) != list(range(rank)):
        return None
    shape = tuple(extent for _, extent in sorted(pairs, key=lambda pair: pair[0] or 0))
    lengths = (ONE if axis is None else facts.axis(axis).length for axis in descriptor.axes)
    strides = (*[ANY_STRIDE] * (rank - 1), "1")
    deep = pairs[spec.deep][0] if spec.deep is not None else None
    return replace(spec, shape=shape, strides=strides, deep=deep, block=tuple(length.text() for length in lengths))
