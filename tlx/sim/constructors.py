"""Cheaper constructors of ``tl.tensor`` and ``tl.block_type``: the same attributes, with what depends on the shape
cached.

Triton builds three tuples and a name for every intermediate value, which takes longer than computing the value.
"""

from __future__ import annotations

import math
from typing import Any

import triton.language as tl

_block_type = tl.block_type.__init__

#: shape → (shape as block types have it, number of elements, its text)
_shapes: dict[tuple[int, ...], tuple[Any, int, str]] = {}
#: the same by the identity of the shape that block types have: `_shapes` keeps each, so no other gets its identity
_known: dict[int, tuple[Any, int, str]] = {}
#: identity of such a shape → (shape as tensors have it, number of elements)
_of_tensors: dict[int, tuple[Any, Any]] = {}
_OF_SCALARS = (tl.core.tuple([]), tl.constexpr(1))


def block_type_init(self: Any, element_ty: Any, shape: Any) -> None:
    """``tl.block_type.__init__``; a shape is validated the first time it is seen, and equal ones become one object."""
    known = _known.get(id(shape)) or _seen(shape)
    if known is None:
        _block_type(self, element_ty, shape)
        self.shape = _kept(self.shape, self.numel)
        return
    self.element_ty = element_ty
    self.shape, self.numel, text = known
    self.name = f"<{text}, {element_ty}>"


def _seen(shape: Any) -> tuple[Any, int, str] | None:
    key = tuple([s.value if type(s) is tl.constexpr else s for s in shape])
    return _shapes.get(key) if all(type(s) is int for s in key) else None


def _kept(shape: Any, count: int) -> Any:
    """The shape that stands for all shapes like it."""
    known = _shapes.setdefault(tuple(int(s) for s in shape), (shape, count, str(shape)))
    _known[id(known[0])] = known
    return known[0]


def tensor_init(self: Any, handle: Any, type: Any) -> None:
    """``tl.tensor.__init__``."""
    shape, count = _OF_SCALARS
    if type.is_block():
        shape, count = _of_tensors.get(id(type.shape)) or _as_tensors_have_it(type)
    self.__dict__.update(handle=handle, shape=shape, numel=count, type=type, dtype=type.scalar)


def _as_tensors_have_it(type: Any) -> tuple[Any, Any]:
    extents = tuple(type.shape)
    made = tl.core.tuple([tl.constexpr(extent) for extent in extents]), tl.constexpr(math.prod(extents))
    if id(type.shape) not in _known:
        return made  # a block type that was made before the simulator was there
    return _of_tensors.setdefault(id(type.shape), made)
