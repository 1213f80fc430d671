"""What makes a plain function a jit function: a decorator, or a call that its result is bound by.

`kernel = triton.jit(_kernel)` and `kernel = triton.autotune(…)(triton.jit(_kernel, noinline=True))` say of `_kernel`
what decorators above it would say; what they bind is the kernel, and `_kernel` stays a plain function.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from ..model import Decorator, Helper, Jitted, Module, Names
from ..source import Span
from .bindings import Binding
from .names import AUTOTUNE, HEURISTICS, JIT, canonical


def is_jit(function: ast.FunctionDef, names: Names) -> bool:
    """Whether a function is decorated with `triton.jit`."""
    return any(decorator_name(item, names) == JIT for item in function.decorator_list)


def decorator_name(node: ast.expr, names: Names) -> str:
    """The canonical name of a decorator, called or not; its own text if it has none."""
    target = node.func if isinstance(node, ast.Call) else node
    return canonical(names, target) or ast.unparse(target)


def jit_call(node: object, names: Names) -> tuple[str, tuple[Decorator, ...]] | None:
    """The function that an expression makes a jit function, and what stands around it, outermost first.

    Only Triton's own decorators may: what others return, a launcher perhaps, nobody knows.
    """
    if not isinstance(node, ast.Call) or len(node.args) != 1:
        return None
    options = None if isinstance(node.func, ast.Call) else node.keywords
    said = node.func if not options else ast.copy_location(ast.Call(node.func, [], options), node.func)
    if isinstance(node.func, ast.Call) and node.keywords:
        return None
    decorator = Decorator(decorator_name(said, names), Span.of(node.func), said)
    match node.args[0]:
        case ast.Name(id=function) if decorator.name == JIT:
            return function, (decorator,)
        case ast.Call() as inner if decorator.name in (AUTOTUNE, HEURISTICS):
            found = jit_call(inner, names)
            return found and (found[0], (decorator, *found[1]))
    return None


def helper_of(binding: Binding, bound: Mapping[str, Sequence[Binding]], module: Module) -> Helper | None:
    """The jit function that a statement binds; None if it binds none, or it is not sure which function that is."""
    if isinstance(binding.what, ast.FunctionDef):
        return Helper(binding.name, binding.what, module) if is_jit(binding.what, module.names) else None
    if (found := jit_call(binding.what, module.names)) is None or not _begins_its_line(binding.statement, module):
        return None
    name, decorators = found
    others = [one for one in bound.get(name, ()) if one.statement is not binding.statement]
    match others:
        case [Binding(what=ast.FunctionDef(decorator_list=[]) as function, chosen=False)] if (
            function.lineno < binding.statement.lineno
        ):
            return Helper(name, function, module, Jitted(binding.name, Span.of(binding.statement), decorators))
    return None


def _begins_its_line(statement: ast.stmt, module: Module) -> bool:
    """Whether nothing but white space stands before a statement: only then may another be put below it."""
    return not module.source.line(statement.lineno).encode()[: statement.col_offset].strip()
