"""Kernels as ordinary Python: the few places where Triton's reading of the source differs from Python's are rewritten.

* ``x = 1`` makes a tensor, ``x: tl.constexpr = 1`` does not.
* ``and``, ``or`` and ``not`` work on tensors, element by element and without short cuts.
* ``with tlx.async_tasks()`` becomes a region object with one nested function per task, run where the block ends. A task
  takes what it uses from outside by value and nothing comes back: a name that it both reads and binds becomes a default
  argument, a name that it only binds is local.

* Every turn of a ``while`` is counted: one that never ends would keep the simulator, too.

Line numbers are those of the file.
"""

from __future__ import annotations

import ast
import textwrap
from types import CodeType
from typing import Any

from .report import SimulationError
from .sites import Site

BIND = "__tlx_bind"
CONSTANT = "__tlx_constant"
TURN = "__tlx_turn"
OPEN = "__tlx_open_region"
CAPTURE = "__tlx_capture"
AND, OR, NOT = "__tlx_and", "__tlx_or", "__tlx_not"


def _called(node: ast.expr) -> str | None:
    """The last part of the name of what a call calls."""
    if not isinstance(node, ast.Call):
        return None
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)


def _is_with(node: ast.stmt, name: str) -> bool:
    return isinstance(node, ast.With) and len(node.items) == 1 and _called(node.items[0].context_expr) == name


class _Names(ast.NodeVisitor):
    """Names that statements read and bind; functions inside are not entered, nor are other tasks."""

    def __init__(self, skip_tasks: bool) -> None:
        self.read: set[str] = set()
        self.bound: set[str] = set()
        self.skip_tasks = skip_tasks

    def visit_Name(self, node: ast.Name) -> None:
        (self.read if isinstance(node.ctx, ast.Load) else self.bound).add(node.id)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.read.add(node.target.id)
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.bound.add(node.name)

    def visit_With(self, node: ast.With) -> None:
        if not (self.skip_tasks and _is_with(node, "async_tasks")):
            self.generic_visit(node)


def _names(statements: list[ast.stmt], skip_tasks: bool = False) -> _Names:
    names = _Names(skip_tasks)
    for statement in statements:
        names.visit(statement)
    return names


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


def _no_arguments() -> ast.arguments:
    return ast.arguments([], [], None, [], [], None, [])


class _Rewriter(ast.NodeTransformer):
    def __init__(self, file: str, first_line: int, outer: set[str]) -> None:
        self.file = file
        self.first_line = first_line
        #: names of the function that are bound outside its tasks, parameters included
        self.outer = outer
        self.regions = 0
        self.tasks = 0

    def error(self, node: ast.AST, message: str) -> SimulationError:
        return SimulationError(message, Site(self.file, getattr(node, "lineno", 1) + self.first_line - 1))

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        node.value = _call(BIND, node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        self.generic_visit(node)
        if node.value is None:
            return node
        constexpr = "constexpr" in ast.unparse(node.annotation)
        value = _call(CONSTANT if constexpr else BIND, node.value)
        return ast.copy_location(ast.Assign([node.target], value), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        # Operands become functions: a constant on the left still decides whether the right is evaluated.
        operands: list[ast.expr] = [ast.Lambda(_no_arguments(), value) for value in node.values]
        return ast.copy_location(_call(AND if isinstance(node.op, ast.And) else OR, *operands), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        return ast.copy_location(_call(NOT, node.operand), node) if isinstance(node.op, ast.Not) else node

    def visit_While(self, node: ast.While) -> ast.stmt:
        self.generic_visit(node)
        node.body.insert(0, ast.copy_location(ast.Expr(_call(TURN)), node))
        return node

    def visit_With(self, node: ast.With) -> Any:
        if _is_with(node, "async_task"):
            raise self.error(node, "async_task outside async_tasks")
        if not _is_with(node, "async_tasks"):
            return self.generic_visit(node)
        region = f"__tlx_region_{self.regions}"
        self.regions += 1
        target = ast.Name(region, ast.Store())
        start = ast.Assign([target], _call(OPEN, node.items[0].context_expr))
        run = ast.Expr(ast.Call(ast.Attribute(ast.Name(region, ast.Load()), "run", ast.Load()), [], []))
        body: list[ast.stmt] = [start, *self._tasks(node.body, region), run]
        return [ast.copy_location(statement, node) if statement in (start, run) else statement for statement in body]

    def _tasks(self, statements: list[ast.stmt], region: str) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for statement in statements:
            if isinstance(statement, ast.With) and _is_with(statement, "async_task"):
                out.extend(self._task(statement, region))
            elif isinstance(statement, ast.If):
                statement.body = self._tasks(statement.body, region)
                statement.orelse = self._tasks(statement.orelse, region)
                out.append(statement)
            elif isinstance(statement, ast.Pass) or (
                isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            ):
                continue
            else:
                raise self.error(statement, "async_tasks holds async_task blocks only")
        return out

    def _task(self, node: ast.With, region: str) -> list[ast.stmt]:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Return):
                raise self.error(inner, "return inside a task")
        names = _names(node.body)
        taken = sorted(names.read & names.bound & self.outer)
        name = f"__tlx_task_{self.tasks}"
        self.tasks += 1
        values: list[ast.expr] = [_call(CAPTURE, ast.Lambda(_no_arguments(), ast.Name(n, ast.Load()))) for n in taken]
        body = [line for statement in node.body for line in _as_list(self.visit(statement))]
        arguments = ast.arguments([], [ast.arg(n) for n in taken], None, [], [], None, values)
        function = ast.FunctionDef(name=name, args=arguments, body=body, decorator_list=[])
        line = ast.Constant(node.lineno + self.first_line - 1)
        spec = node.items[0].context_expr
        add = ast.Call(
            ast.Attribute(ast.Name(region, ast.Load()), "add", ast.Load()), [spec, ast.Name(name, ast.Load()), line], []
        )
        return [ast.copy_location(function, node), ast.copy_location(ast.Expr(add), node)]


def _as_list(result: Any) -> list[ast.stmt]:
    return result if isinstance(result, list) else [result]


def rewrite(source: str, first_line: int, file: str, name: str) -> CodeType:
    """Code of a module whose execution defines the function ``name``, without decorators, defaults or annotations.

    Args:
        source: the function's text, decorators included, at any indentation.
        first_line: line of the file on which ``source`` starts.

    Raises:
        SimulationError: the text is not a function, or breaks a rule of ``async_tasks``.
    """
    text = textwrap.dedent(source)
    tree = ast.parse(text)
    function = tree.body[0] if tree.body else None
    if not isinstance(function, ast.FunctionDef):
        raise SimulationError(f"{name} is not defined by a def statement", Site(file, first_line))
    arguments = function.args
    parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    for parameter in parameters:
        parameter.annotation = None
    arguments.defaults = []
    arguments.kw_defaults = [None] * len(arguments.kwonlyargs)
    function.decorator_list = []
    function.returns = None
    outer = _names(function.body, skip_tasks=True).bound | {p.arg for p in parameters}
    rewriter = _Rewriter(file, first_line, outer)
    function.body = [line for statement in function.body for line in _as_list(rewriter.visit(statement))]
    ast.fix_missing_locations(tree)
    ast.increment_lineno(tree, first_line - 1)
    return compile(tree, file, "exec")
