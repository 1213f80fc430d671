"""Evaluates the literal part of Python that configs are written in.

That is: lists, dicts, arithmetic, comprehensions and `triton.Config(…)`. Nothing of the user's is run: names stand for
literal constants or for functions whose body is one `return`.
"""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ..model import Module

_OPERATORS: Mapping[type[ast.AST], Callable[..., object]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift, ast.Eq: operator.eq,
    ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
_MOST = 10_000
_EXPONENT = 64


class NotLiteral(Exception):
    """The expression depends on something that only running the program would tell."""


@dataclass(frozen=True, slots=True)
class ConfigLiteral:
    """A `triton.Config(…)` call."""

    values: tuple[tuple[str, object], ...]
    num_warps: int
    num_stages: int


def evaluate(node: ast.expr, module: Module, scope: Mapping[str, object] | None = None) -> object:
    """The value of an expression. Raises NotLiteral."""
    return _Evaluator(module, dict(scope or {})).value(node)


class _Evaluator:
    def __init__(self, module: Module, scope: dict[str, object], depth: int = 0) -> None:
        self.module, self.scope, self.depth = module, scope, depth

    def value(self, node: ast.expr) -> object:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name) if name in self.scope:
                return self.scope[name]
            case ast.Name(id=name):
                return self._global(name)
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return self._items(items)
            case ast.Dict(keys=keys, values=values):
                return self._dict(keys, values)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return self._apply(op, self.value(left), self.value(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPERATORS:
                return self._apply(op, self.value(left), self.value(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._apply(ast.Sub(), 0, self.value(operand))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.value(body if self.value(test) else orelse)
            case ast.ListComp(elt=element, generators=generators):
                return [_Evaluator(self.module, scope, self.depth).value(element) for scope in self._scopes(generators)]
            case ast.Call():
                return self._call(node)
            case _:
                raise NotLiteral

    def _items(self, items: list[ast.expr]) -> list[object]:
        result: list[object] = []
        for item in items:
            if isinstance(item, ast.Starred):
                result += _sequence(self.value(item.value))
            else:
                result.append(self.value(item))
        return result

    def _dict(self, keys: list[ast.expr | None], values: list[ast.expr]) -> dict[object, object]:
        result: dict[object, object] = {}
        for key, value in zip(keys, values, strict=True):
            known = None if key is None else self.value(key)
            if known is None or isinstance(known, list | dict):
                raise NotLiteral
            result[known] = self.value(value)
        return result

    def _apply(self, op: ast.AST, left: object, right: object) -> object:
        # Sizes of tiles are small: whatever would take long or much memory is no config.
        if isinstance(op, ast.Pow | ast.LShift) and not (isinstance(right, int) and right <= _EXPONENT):
            raise NotLiteral
        if isinstance(op, ast.Mult) and not all(isinstance(side, int | float) for side in (left, right)):
            raise NotLiteral
        try:
            return _OPERATORS[type(op)](left, right)
        except (TypeError, ArithmeticError, ValueError):
            raise NotLiteral from None

    def _scopes(self, generators: list[ast.comprehension]) -> Iterator[dict[str, object]]:
        def over(position: int, scope: dict[str, object]) -> Iterator[dict[str, object]]:
            if position == len(generators):
                yield scope
                return
            generator = generators[position]
            inner = _Evaluator(self.module, scope, self.depth)
            for item in _sequence(inner.value(generator.iter)):
                bound = {**scope, **_bind(generator.target, item)}
                if all(_Evaluator(self.module, bound, self.depth).value(test) for test in generator.ifs):
                    yield from over(position + 1, bound)

        return itertools.islice(over(0, self.scope), _MOST)

    def _global(self, name: str) -> object:
        if name in self.module.constants:
            return self.module.constants[name]
        found = [
            s.value
            for s in self.module.tree.body
            if isinstance(s, ast.Assign)
            and len(s.targets) == 1
            and isinstance(s.targets[0], ast.Name)
            and s.targets[0].id == name
        ]
        if len(found) != 1 or self.depth > 8:
            raise NotLiteral
        return _Evaluator(self.module, {}, self.depth + 1).value(found[0])

    def _call(self, node: ast.Call) -> object:
        name = self.module.names.canonical(node.func)
        if name in ("triton.Config", "triton.runtime.autotuner.Config"):
            return self._config(node)
        if name == "range":
            return self._range(node)
        if name == "itertools.product" or name == "product":
            lists = [_sequence(self.value(argument)) for argument in node.args]
            return [list(items) for items in itertools.islice(itertools.product(*lists), _MOST)]
        if name == "dict" and not node.args:
            return {keyword.arg: self.value(keyword.value) for keyword in node.keywords}
        functions = [s for s in self.module.tree.body if isinstance(s, ast.FunctionDef) and s.name == name]
        if len(functions) == 1 and not node.args and not node.keywords and self.depth <= 8:
            statements = [
                s for s in functions[0].body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
            ]
            match statements:
                case [ast.Return(value=ast.expr() as result)]:
                    return _Evaluator(self.module, {}, self.depth + 1).value(result)
        raise NotLiteral

    def _range(self, node: ast.Call) -> list[object]:
        arguments = [_integer(self.value(argument)) for argument in node.args]
        try:
            numbers = range(*arguments)
        except (TypeError, ValueError):
            raise NotLiteral from None
        if len(numbers) > _MOST:
            raise NotLiteral
        return list(numbers)

    def _config(self, node: ast.Call) -> ConfigLiteral:
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        values_node = node.args[0] if node.args else keywords.get("kwargs")
        if values_node is None:
            raise NotLiteral
        values = self.value(values_node)
        if not isinstance(values, dict):
            raise NotLiteral
        warps = (
            self.value(keywords["num_warps"])
            if "num_warps" in keywords
            else self.value(node.args[1])
            if len(node.args) > 1
            else 4
        )
        stages = (
            self.value(keywords["num_stages"])
            if "num_stages" in keywords
            else self.value(node.args[2])
            if len(node.args) > 2
            else 3
        )
        return ConfigLiteral(tuple((str(k), v) for k, v in values.items()), _integer(warps), _integer(stages))


def _integer(value: object) -> int:
    if not isinstance(value, int):
        raise NotLiteral
    return value


def _sequence(value: object) -> list[object]:
    if not isinstance(value, list):
        raise NotLiteral
    return value


def _bind(target: ast.expr, value: object) -> dict[str, object]:
    match target:
        case ast.Name(id=name):
            return {name: value}
        case ast.Tuple(elts=elements) if isinstance(value, list) and len(value) == len(elements):
            return {
                k: v for element, item in zip(elements, value, strict=True) for k, v in _bind(element, item).items()
            }
        case _:
            raise NotLiteral
