"""Triton's semantic layer over numpy values, with the TLX primitives that ``tlx``'s builtins call on it."""

from __future__ import annotations

import functools
from typing import Any

import triton.language as tl
from triton.language.semantic import TritonSemantic

from .builder import SimBuilder
from .observer import Observer
from .task_ops import TaskOps


class SimSemantic(TaskOps, TritonSemantic):  # type: ignore[misc]
    """One per process: builtins are bound to it while a simulation runs."""

    #: told what builtins return
    observer: Observer | None = None

    #: tlx's builtins refuse a semantic layer without this
    is_tlx = True

    def __init__(self) -> None:
        TritonSemantic.__init__(self, SimBuilder())

    def to_tensor(self, value: Any, check_type: bool = True) -> Any:
        """Triton's own, which the mixins cannot see."""
        return TritonSemantic.to_tensor(self, value, check_type)

    def broadcast_impl_value(self, lhs: Any, rhs: Any) -> Any:
        """Triton's own, without comparing extents one by one where both are blocks of as many axes, or neither is."""
        left, right = lhs.type, rhs.type
        if not (left.is_block() and right.is_block()):
            same = left.is_block() == right.is_block()
            return (lhs, rhs) if same else TritonSemantic.broadcast_impl_value(self, lhs, rhs)
        if left.shape is right.shape:  # as all equal shapes are here
            return lhs, rhs
        shape = _common(tuple(left.shape), tuple(right.shape))
        if shape is None:
            return TritonSemantic.broadcast_impl_value(self, lhs, rhs)
        return self._spread(lhs, shape), self._spread(rhs, shape)

    def _spread(self, block: Any, shape: tuple[int, ...]) -> Any:
        if tuple(block.type.shape) == shape:
            return block
        kind = tl.block_type(block.type.scalar, [*shape])
        return tl.tensor(self.builder.create_broadcast(block.handle, shape), kind)

    def _has_native_tma(self) -> bool:
        """The chip that is simulated has a TMA. Triton would ask the driver, and there may be none."""
        return True


@functools.cache
def _common(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape of both where they differ in axes of length one alone."""
    fits = len(left) == len(right) and all(1 in pair or pair[0] == pair[1] for pair in zip(left, right, strict=True))
    return tuple(map(max, left, right)) if fits else None
