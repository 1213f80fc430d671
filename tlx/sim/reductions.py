"""``tl.reduce`` and ``tl.associative_scan`` over numpy values; the combine function runs on whole slices at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl
from triton.language import standard

from .dtypes import numpy_dtype
from .unwrap import plain
from .values import value


def _tensor(data: np.ndarray, dtype: Any) -> Any:
    if data.ndim == 0:
        return tl.tensor(value(data.reshape(1), dtype), dtype)
    return tl.tensor(value(data, dtype), tl.block_type(dtype, list(data.shape)))


#: combine functions that numpy has whole; min and max skip NaN, as the hardware's do
_WHOLE: dict[int, Callable[..., np.ndarray]] = {
    id(standard._sum_combine): lambda x, axis: _sum(x, axis),
    id(standard._elementwise_max): lambda x, axis: np.fmax.reduce(x, axis=axis),
    id(standard._elementwise_min): lambda x, axis: np.fmin.reduce(x, axis=axis),
}


def _sum(data: np.ndarray, axis: int) -> np.ndarray:
    """The sum, rounded once for 8- and 16-bit floats: adding them one after the other would stop growing early."""
    narrow = data.itemsize <= 2 and data.dtype.kind not in "iub"
    return np.sum(data.astype(np.float32) if narrow else data, axis=axis)  # type: ignore[no-any-return]


def _slices(inputs: tuple[Any, ...], axis: int) -> list[tuple[Any, ...]]:
    arrays = [np.moveaxis(x.handle.data, axis, 0) for x in inputs]
    return [tuple(_tensor(a[i], x.dtype) for a, x in zip(arrays, inputs, strict=True)) for i in range(len(arrays[0]))]


def _combine(fn: Any, left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
    result = fn(*left, *right)
    return tuple(result) if isinstance(result, (tuple, tl.tuple)) else (result,)


def _as_array(x: Any, like: Any) -> np.ndarray:
    return x.handle.data.reshape(like.type.shape if like.type.is_block() else ())  # type: ignore[no-any-return]


def reduce(input: Any, axis: Any, combine_fn: Any, keep_dims: Any = False, **hints: Any) -> Any:
    """``tl.reduce``. ``axis=None`` reduces all elements to a scalar."""
    axis, keep = plain(axis), bool(plain(keep_dims))
    single = isinstance(input, tl.tensor)
    inputs = (input,) if single else tuple(input)
    rank = len(inputs[0].type.shape)
    if axis is None:
        flat = tuple(_tensor(x.handle.data.reshape(-1), x.dtype) for x in inputs)
        results = _reduce(flat, 0, combine_fn)
        results = [r.reshape((1,) * rank) if keep else r for r in results]
    else:
        results = _reduce(inputs, axis % rank, combine_fn)
        results = [np.expand_dims(r, axis % rank) if keep else r for r in results]
    outputs = tuple(_tensor(r, x.dtype) for r, x in zip(results, inputs, strict=True))
    return outputs[0] if single else outputs


def _reduce(inputs: tuple[Any, ...], axis: int, combine_fn: Any) -> list[np.ndarray]:
    whole = _WHOLE.get(id(combine_fn))
    if whole is not None and len(inputs) == 1:
        data = inputs[0].handle.data
        return [np.asarray(whole(data, axis=axis)).astype(data.dtype, copy=False)]
    arrays = [np.moveaxis(x.handle.data, axis, 0) for x in inputs]
    while len(arrays[0]) > 1:
        # Neighbours are combined, all pairs at once: a tree, as on a GPU, and in order.
        left, right = (tuple(_tensor(a[i::2], x.dtype) for a, x in zip(arrays, inputs, strict=True)) for i in (0, 1))
        arrays = [_as_array(r, p) for r, p in zip(_combine(combine_fn, left, right), left, strict=True)]
    return [array[0] for array in arrays]


def scan(input: Any, axis: Any, combine_fn: Any, reverse: Any = False, **hints: Any) -> Any:
    """``tl.associative_scan``."""
    single = isinstance(input, tl.tensor)
    inputs = (input,) if single else tuple(input)
    axis = plain(axis) % len(inputs[0].type.shape)
    parts = _slices(inputs, axis)
    if plain(reverse):
        parts.reverse()
    sums = [parts[0]]
    for part in parts[1:]:
        sums.append(_combine(combine_fn, sums[-1], part))
    if plain(reverse):
        sums.reverse()
    outputs = []
    for i, x in enumerate(inputs):
        stacked = np.stack([_as_array(s[i], p[i]) for s, p in zip(sums, parts, strict=True)], axis=axis)
        kind = x.handle.data.dtype if x.dtype.is_floating() else numpy_dtype(x.dtype)
        outputs.append(_tensor(stacked.astype(kind, copy=False), x.dtype))
    return outputs[0] if single else tuple(outputs)
