"""Kernels inside functions: a function that makes them is read as if its body stood at the end of the file.

What the function binds once to something of Triton's, a literal or a jit function means the same in every run of it;
what it is given or computes does not, and neither does a name that the file and the function both bind.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..model import Names
from .jitted import is_jit, jit_call

#: Why an argument of the function has no meaning.
ARGUMENT = "the function around the kernel is given it"

#: Functions that enclose one another, the outermost first.
Chain = tuple[ast.FunctionDef, ...]


def makers(tree: ast.Module, names: Names) -> list[Chain]:
    """The functions whose own statements make jit functions, each behind those around it; none inside of classes."""

    def jitted(statement: ast.stmt) -> bool:
        match statement:
            case ast.FunctionDef() as function:
                return is_jit(function, names)
            case ast.Assign(value=value) | ast.AnnAssign(value=value):
                return jit_call(value, names) is not None
        return False

    def found(body: list[ast.stmt], around: Chain) -> Iterator[Chain]:
        statements = list(statements_of(body))
        if around and any(map(jitted, statements)):
            yield around
        for function in statements:
            if isinstance(function, ast.FunctionDef) and not jitted(function):
                yield from found(function.body, (*around, function))

    return list(found(tree.body, ()))


def opened(tree: ast.Module, chain: Chain) -> ast.Module:
    """The file with the bodies of some functions behind it, in place of the outermost of them."""
    if not chain:
        return tree
    inner = {id(function) for function in chain}
    bodies = [tree.body, *(function.body for function in chain)]
    body = [statement for one in bodies for statement in one if id(statement) not in inner]
    return ast.Module(body=body, type_ignores=[])


def arguments(function: ast.FunctionDef) -> Iterator[str]:
    """The names of a function's parameters."""
    for node in ast.walk(function.args):
        if isinstance(node, ast.arg):
            yield node.arg


def statements_of(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements with those in the arms of conditions, `try` and `with`."""
    pending: list[ast.AST] = list(reversed(body))
    while pending:  # no recursion: one `elif` lies in the other
        match pending.pop():
            case ast.If() | ast.Try() | ast.With() as statement:
                yield statement
                pending += reversed(list(ast.iter_child_nodes(statement)))
            case ast.ExceptHandler(body=inner):
                pending += reversed(inner)
            case ast.stmt() as statement:
                yield statement
