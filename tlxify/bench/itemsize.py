"""Bytes of an element."""

from __future__ import annotations

import re


def itemsize(dtype: str) -> int:
    """Bytes of an element, by Triton's short name ("bf16", "fp8e4nv", "i64").

    Raises:
        ValueError: it is no such name.
    """
    found = re.fullmatch(r"(?:fp|bf|i|u)(\d+)(?:e\w+)?", dtype)
    if found is None:
        raise ValueError(f"unknown element type {dtype!r}")
    return max(1, int(found[1]) // 8)
