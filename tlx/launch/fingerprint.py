"""The fingerprint that tells whether a converted kernel is still that of its source.

Two programs compute it: the converter from text, without importing anything, and the launcher from live objects. So
the rule speaks of text only.

The *parts* of a kernel are pairs of a name and a text:

1. the kernel: its own name, and its function text;
2. for each name that a part's function loads and does not bind, if it is a jit function: the name as it is written
   there, and the function text; such a function's own names are followed in the same way, each function once;
3. for each such name, if it is an `int`, `float`, `bool` or `str`, or a `tl.constexpr` of one: the name as it is
   written there, and `repr` of the plain value.

A name is an identifier, or a dotted chain of them, as in `helpers.scale`. Of a chain counts what it takes to get past
modules: with `helpers` a module, `helpers.scale`, also where `helpers.scale.value` is written. What a function
*binds* are its parameters and whatever its body assigns, at any depth; those names never count. Decorators are no part
of the function. Names that belong to the packages `triton` and `tlx` or to Python's `math` do not count, however they
were imported; nor does anything else (modules, plain functions, classes, dtypes).

The *function text* is the source lines from the one with `def` to the last of the body (comments after it excluded),
dedented, with trailing white space removed from each line and empty lines left out, joined by newlines.

The fingerprint is the SHA-256, in hexadecimal, of the parts: written as name, newline, text, newline; repeats left
out; sorted by name, then text; encoded as UTF-8. Its first 16 digits are recorded.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import textwrap
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

from triton.language import constexpr
from triton.runtime.jit import JITFunction

__all__ = ["digest", "fingerprint_of", "function_text", "names_used", "parts_of"]

DIGITS = 16
FOREIGN = ("triton", "tlx", "math")


def fingerprint_of(original: Any) -> str:
    """The recorded form of the fingerprint of a live kernel: a jit function in any stack of decorators."""
    return digest(parts_of(original))[:DIGITS]


def digest(parts: Iterable[tuple[str, str]]) -> str:
    """The SHA-256 of (name, text) pairs, in hexadecimal. Order and repeats do not matter."""
    written = "".join(f"{name}\n{text}\n" for name, text in sorted(set(parts)))
    return hashlib.sha256(written.encode()).hexdigest()


@functools.lru_cache(maxsize=1024)
def function_text(source: str) -> str:
    """The text of the first function in `source` that counts (module docstring); decorators may precede it."""
    lines = textwrap.dedent(source)
    function = _first_function(lines)
    body = textwrap.dedent("\n".join(lines.splitlines()[function.lineno - 1 : function.end_lineno]))
    return "\n".join(line.rstrip() for line in body.splitlines() if line.strip())


@functools.lru_cache(maxsize=1024)
def names_used(text: str) -> tuple[str, ...]:
    """The identifiers and dotted chains that the function in `text` loads and does not bind, sorted."""
    function = _first_function(text)
    function.decorator_list = []
    bound = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    bound |= {
        node.id for node in ast.walk(function) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }
    found: set[str] = set()
    pending: list[ast.AST] = [function]
    while pending:
        node = pending.pop()
        chain = _chain(node)
        if chain is None:
            pending.extend(ast.iter_child_nodes(node))
        elif chain.partition(".")[0] not in bound:
            found.add(chain)
    return tuple(sorted(found))


def parts_of(original: Any) -> set[tuple[str, str]]:
    """The parts of a live kernel: a jit function in any stack of decorators."""
    kernel = _jit_function(original)
    parts: set[tuple[str, str]] = set()
    pending, seen = [(kernel.fn.__name__, kernel)], set()
    while pending:
        name, function = pending.pop()
        text = function_text(function.src)
        parts.add((name, text))
        if id(function) in seen:
            continue
        seen.add(id(function))
        scope = _scope(function.fn)
        for used in names_used(text):
            name, value = _past_modules(used, scope)
            value = value.value if isinstance(value, constexpr) else value
            if isinstance(value, bool | int | float | str):
                parts.add((name, repr(value)))
            elif isinstance(value, JITFunction) and not _foreign(value.__module__):
                pending.append((name, value))
    return parts


def _first_function(text: str) -> ast.FunctionDef:
    return next(node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))


def _chain(node: ast.AST) -> str | None:
    """`a`, `a.b`, `a.b.c` for a name or attributes of one; `None` for any other expression."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (head := _chain(node.value)) is not None:
        return f"{head}.{node.attr}"
    return None


def _jit_function(value: Any) -> Any:
    """The jit function inside decorators."""
    while not isinstance(value, JITFunction):
        value = value.fn
    return value


def _scope(function: Any) -> Mapping[str, Any]:
    """What a free name of `function` means: its closure first, then the module, as in Python."""
    return {**function.__globals__, **inspect.getclosurevars(function).nonlocals}


def _past_modules(chain: str, scope: Mapping[str, Any]) -> tuple[str, Any]:
    """How far `chain` must be followed to leave modules behind, and what is there; `None` if nothing that counts."""
    name, *attributes = chain.split(".")
    value = scope.get(name)
    while isinstance(value, ModuleType) and attributes and not _foreign(value.__name__):
        attribute = attributes.pop(0)
        name, value = f"{name}.{attribute}", getattr(value, attribute, None)
    return name, value


def _foreign(module: str) -> bool:
    return module.partition(".")[0] in FOREIGN
