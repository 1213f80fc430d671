"""Cheaper constructors of ``tl.tensor`` and ``tl.block_type``: the same attributes, with what depends on the shape
cached.

Triton builds three tuples and a name for every intermediate value, which takes longer than computing the value.
"""

from __future__ import annotations

from typing import Any

import triton.language as tl

_block_type = tl.block_type.__init__

#: shape → (shape as block types have it, number of elements, its text)
_shapes: dict[tuple[int, ...], tuple[Any, int, str]] = {}
#: shape → (shape as tensors have it, number of elements)
_tensor_shapes: dict[tuple[int, ...], tuple[Any, Any]] = {}


def block_type_init(self: Any, element_ty: Any, shape: Any) -> None:
    """``tl.block_type.__init__``; a shape is validated the first time it is seen."""
    key = tuple([s.value if type(s) is tl.constexpr else s for s in shape])
    known = _shapes.get(key) if all(type(s) is int for s in key) else None
    if known is None:
        _block_type(self, element_ty, shape)
        _shapes[tuple(int(s) for s in self.shape)] = (self.shape, self.numel, str(self.shape))
        return
    self.element_ty = element_ty
    self.shape, self.numel, text = known
    self.name = f"<{text}, {element_ty}>"


def tensor_init(self: Any, handle: Any, type: Any) -> None:
    """``tl.tensor.__init__``."""
    key = tuple(type.shape) if type.is_block() else ()
    known = _tensor_shapes.get(key)
    if known is None:
        count = 1
        for extent in key:
            count *= extent
        known = _tensor_shapes[key] = (tl.core.tuple([tl.constexpr(extent) for extent in key]), tl.constexpr(count))
    self.__dict__.update(handle=handle, shape=known[0], numel=known[1], type=type, dtype=type.scalar)
