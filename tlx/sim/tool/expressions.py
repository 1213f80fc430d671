"""Sizes as people write them: arithmetic over named numbers, and nothing else of Python."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {"cdiv": lambda a, b: -(-a // b), "min": min, "max": max}


def evaluate(text: str, names: Mapping[str, Any]) -> Any:
    """The value of an expression: numbers, strings, True, False, None, names, ``+ - * / // % ** << >>``, ``cdiv``,
    ``min`` and ``max``, and tuples of these.

    Raises:
        ValueError: it is something else, or a name is not known.
    """
    try:
        return _value(ast.parse(text.strip(), mode="eval").body, names)
    except (SyntaxError, ArithmeticError, TypeError) as error:
        raise ValueError(f"{text!r}: {error}") from None
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}") from None


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None as value):
            return value
        case ast.Name(id=name):
            if name not in names:
                raise ValueError(f"{name} is not set; known: {', '.join(sorted(names)) or 'nothing'}")
            return names[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_value(left, names), _value(right, names))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, names)
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return tuple(_value(item, names) for item in items)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(arg, names) for arg in args))
    raise ValueError(f"{ast.unparse(node)} is not arithmetic over sizes")
