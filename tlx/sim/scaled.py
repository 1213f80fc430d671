"""Block-scaled operands: one E8M0 factor for every 32 elements along K (the MX formats)."""

from __future__ import annotations

import ml_dtypes
import numpy as np

#: elements that share one factor
BLOCK = 32


def factors(scale: np.ndarray, rows: int, blocks: int) -> np.ndarray:
    """E8M0 bytes as powers of two, [rows, blocks].

    They come as a plain [rows, blocks] matrix, or as the hardware wants them: 128 rows by 4 blocks make a packed group
    in which byte ``(r % 32) * 16 + (r // 32) * 4 + b`` belongs to row ``r`` and block ``b``; groups follow each other
    along K, then along the rows. This is the layout that cuBLAS and PTX document for ``tcgen05.mma.block_scale``.

    Raises:
        ValueError: there are not as many bytes as factors.
    """
    codes = np.ascontiguousarray(scale).view(np.uint8)
    if codes.size != rows * blocks:
        raise ValueError(f"{codes.size} scale bytes for {rows} rows of {blocks} blocks")
    if codes.shape != (rows, blocks):
        groups = codes.reshape(rows // 128, blocks // 4, 32, 4, 4)
        codes = groups.transpose(0, 3, 2, 1, 4).reshape(rows, blocks)
    powers = np.exp2(codes.astype(np.float32) - 127).astype(np.float32)
    result: np.ndarray = np.where(codes == 255, np.float32(np.nan), powers)
    return result


def _values(data: np.ndarray, name: str) -> np.ndarray:
    """Elements along the last axis as fp32; e2m1 packs two to a byte, the lower half first."""
    if name != "e2m1":
        kind = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}[name]
        exact: np.ndarray = np.ascontiguousarray(data).view(kind).astype(np.float32)
        return exact
    codes = np.ascontiguousarray(data).view(np.uint8)
    pairs = np.stack([codes & 15, codes >> 4], axis=-1).reshape(*codes.shape[:-1], -1)
    table = np.arange(16, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float32)
    values: np.ndarray = table[pairs]
    return values


def rows(data: np.ndarray, scale: np.ndarray, name: str) -> np.ndarray:
    """Operand A, [M, K], times its factors."""
    values = _values(data, name)
    blocks = values.shape[1] // BLOCK
    product: np.ndarray = values * np.repeat(factors(scale, values.shape[0], blocks), BLOCK, axis=1)
    return product


def columns(data: np.ndarray, scale: np.ndarray, name: str) -> np.ndarray:
    """Operand B, [K, N], times its factors, which belong to columns."""
    product: np.ndarray = rows(data.T, scale, name).T
    return product
