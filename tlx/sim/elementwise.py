"""``tl.map_elementwise``: a scalar function for every element of its arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import triton.language as tl

from .report import SimulationError
from .sites import here
from .unwrap import plain
from .values import value


def _results(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, (tuple, tl.tuple)) else (result,)


def _one_by_one(scalar_fn: Any, arrays: list[np.ndarray], dtypes: list[Any]) -> list[Any]:
    columns: list[list[Any]] = []
    for at in np.ndindex(arrays[0].shape):
        scalars = [
            tl.tensor(value(array[at].reshape(1), dtype), dtype) for array, dtype in zip(arrays, dtypes, strict=True)
        ]
        results = _results(scalar_fn(*scalars))
        columns = columns or [[] for _ in results]
        for column, result in zip(columns, results, strict=True):
            column.append(result)
    return [
        tl.tensor(
            value(np.concatenate([r.handle.data for r in column]).reshape(arrays[0].shape), column[0].dtype),
            tl.block_type(column[0].dtype, list(arrays[0].shape)),
        )
        for column in columns
    ]


def map_elementwise(scalar_fn: Any, *args: Any, pack: Any = 1, _semantic: Any = None, **hints: Any) -> Any:
    """``tl.map_elementwise``; all elements at once unless the function branches on one.

    Raises:
        SimulationError: the function takes several elements at a time.
    """
    if plain(pack) != 1:
        raise SimulationError("map_elementwise is simulated with pack=1 only", here())
    arrays = [np.ascontiguousarray(x) for x in np.broadcast_arrays(*(arg.handle.data for arg in args))]
    dtypes = [arg.dtype for arg in args]
    shape = list(arrays[0].shape)
    blocks = [tl.tensor(value(x, d), tl.block_type(d, shape)) for x, d in zip(arrays, dtypes, strict=True)]
    try:
        results: Any = _results(scalar_fn(*blocks))
    except SimulationError:  # a block has no single truth value
        results = _one_by_one(scalar_fn, arrays, dtypes)
    return results[0] if len(results) == 1 else tuple(results)
