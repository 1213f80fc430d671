"""Small breaks of a kernel's source, one at a time."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Edit = Callable[[ast.AST], Any]


def _called(node: ast.AST) -> str | None:
    return node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None


class _Nth(ast.NodeTransformer):
    """Applies an edit to the n-th node that a predicate accepts."""

    def __init__(self, accepts: Callable[[ast.AST], bool], edit: Edit, n: int) -> None:
        self.accepts, self.edit, self.left = accepts, edit, n
        self.line: int | None = None

    def visit(self, node: ast.AST) -> Any:
        node = self.generic_visit(node)
        if self.accepts(node):
            if self.left == 0:
                self.line = node.lineno
                node = self.edit(node)
            self.left -= 1
        return node


def _each(source: str, what: str, accepts: Callable[[ast.AST], bool], edit: Edit) -> Iterator[tuple[str, str]]:
    n = 0
    while True:
        change = _Nth(accepts, edit, n)
        tree = change.visit(ast.parse(source))
        if change.line is None:
            return
        yield f"{what}, line {change.line}", ast.unparse(ast.fix_missing_locations(tree))
        n += 1


def _statement_of(*names: str) -> Callable[[ast.AST], bool]:
    return lambda node: isinstance(node, ast.Expr) and _called(node.value) in names


def _argument(name: str, position: int | str, change: Callable[[ast.expr], ast.expr]) -> Edit:
    def edit(node: Any) -> Any:
        if isinstance(position, int):
            node.args[position] = change(node.args[position])
        else:
            keyword = next(k for k in node.keywords if k.arg == position)
            keyword.value = change(keyword.value)
        return node

    return edit


def _binary(op: type[ast.operator], number: int) -> Callable[[ast.expr], ast.expr]:
    return lambda node: ast.BinOp(node, op(), ast.Constant(number))


#: calls that can go
DELETED = (
    "barrier_wait", "barrier_arrive", "barrier_expect_bytes", "async_descriptor_load", "async_descriptor_store",
    "async_descriptor_store_wait", "fence", "tcgen05_commit", "local_store",
)  # fmt: skip


def mutants(source: str) -> dict[str, str]:
    """Name → source, for every small break of a module with one kernel."""
    found: dict[str, str] = {}
    for name in DELETED:
        found.update(_each(source, f"delete {name}", _statement_of(name), lambda node: ast.Pass()))
    for name, position, what, change in (
        ("barrier_wait", 1, "flip the phase", _binary(ast.BitXor, 1)),
        ("barrier_expect_bytes", 1, "double the bytes", _binary(ast.Mult, 2)),
        ("barrier_expect_bytes", 1, "halve the bytes", _binary(ast.FloorDiv, 2)),
        ("async_descriptor_store_wait", 0, "weaken the wait", _binary(ast.Add, 1)),
        ("async_dot_wait", 0, "weaken the wait", _binary(ast.Add, 1)),
    ):
        accepts: Callable[[ast.AST], bool] = lambda node, name=name: _called(node) == name  # noqa: E731
        found.update(_each(source, f"{what} of {name}", accepts, _argument(name, position, change)))
    for keyword, what, value in (
        ("multicast_targets", "no multicast", ast.List([], ast.Load())),
        ("mBarriers", "no barrier for the product", ast.List([], ast.Load())),
        ("use_acc", "always accumulate", ast.Constant(True)),
        ("use_acc", "never accumulate", ast.Constant(False)),
        ("remote_cta_rank", "arrive at home", ast.Constant(None)),
        ("arrive_count", "one arrival more", ast.Constant(3)),
    ):
        accepts = lambda node, keyword=keyword: (  # noqa: E731
            isinstance(node, ast.Call) and any(k.arg == keyword for k in node.keywords)
        )
        found.update(_each(source, f"{what}", accepts, _argument("", keyword, lambda node, value=value: value)))
    return found


def load(source: str, kernel: str, folder: Path) -> Any:
    """The kernel of a mutated module."""
    path = folder / "mutant.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location("mutant", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, kernel)
