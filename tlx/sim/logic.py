"""``and``, ``or`` and ``not`` as Triton reads them: on tensors they are operators, on constants they decide at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import triton.language as tl

from .unwrap import plain
from .values import FAST, Scalar, scalar_tensor


def _joined(operands: tuple[Callable[[], Any], ...], deciding: bool, method: str) -> Any:
    """Tensors joined by ``method``; a constant equal to ``deciding`` ends the evaluation, any other is left out."""
    tensors: list[Any] = []
    value: Any = None
    for operand in operands:
        value = plain(operand())
        if isinstance(value, tl.tensor):
            tensors.append(value)
        elif bool(value) is deciding:
            return value
    if not tensors:
        return value
    result = tensors[0]
    for tensor in tensors[1:]:
        if type(result.handle) is Scalar and type(tensor.handle) is Scalar and not tensor.type.is_block():
            pair = bool(result.handle.value), bool(tensor.handle.value)
            result = scalar_tensor(any(pair) if deciding else all(pair), FAST["int1"])
        else:
            result = getattr(result, method)(tensor)
    return result


def logical_and(*operands: Callable[[], Any]) -> Any:
    """``a and b and ...``."""
    return _joined(operands, False, "logical_and")


def logical_or(*operands: Callable[[], Any]) -> Any:
    """``a or b or ...``."""
    return _joined(operands, True, "logical_or")


def logical_not(operand: Any) -> Any:
    """``not a``."""
    operand = plain(operand)
    if not isinstance(operand, tl.tensor):
        return not operand
    if type(operand.handle) is Scalar and not operand.type.is_block():
        return scalar_tensor(not operand.handle.value, FAST["int1"])
    return operand == 0
