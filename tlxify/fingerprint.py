"""The hash of a source kernel, from text: what the launcher compares with the live kernel to notice a stale conversion.

The rule is the launcher's (`tlx.launch.fingerprint`, written there in full): the parts of a kernel are its own function
text, that of every jit helper it names, directly or through others, and `repr` of every literal constant they name; the
SHA-256 of `name newline text newline`, sorted; 16 digits of it. A test holds both implementations to the same answer.
"""

from __future__ import annotations

import ast
import hashlib
import textwrap
from collections.abc import Iterable

from .model import Kernel, Module

_DIGITS = 16


def fingerprint(kernel: Kernel) -> str:
    """The fingerprint of a kernel in its module."""
    return digest(parts(kernel))


def digest(found: Iterable[tuple[str, str]]) -> str:
    """The recorded digits for (name, text) pairs."""
    written = "".join(f"{name}\n{text}\n" for name, text in sorted(set(found)))
    return hashlib.sha256(written.encode()).hexdigest()[:_DIGITS]


def parts(kernel: Kernel) -> set[tuple[str, str]]:
    """The (name, text) pairs of a kernel: itself, its helpers and its constants."""
    module = kernel.module
    found: set[tuple[str, str]] = set()
    pending, seen = [(kernel.name, kernel.node)], set[str]()
    while pending:
        name, node = pending.pop()
        found.add((name, function_text(module, node)))
        if name in seen:
            continue
        seen.add(name)
        for used in names_used(node):
            if used in module.helpers:
                pending.append((used, module.helpers[used].node))
            elif used in module.constants:
                found.add((used, repr(module.constants[used])))
    return found


def function_text(module: Module, node: ast.FunctionDef) -> str:
    """The lines of a function from `def` on, dedented, without trailing white space and empty lines."""
    lines = module.source.lines()[node.lineno - 1 : node.end_lineno]
    body = textwrap.dedent("\n".join(line.rstrip("\r\n") for line in lines))
    return "\n".join(line.rstrip() for line in body.splitlines() if line.strip())


def names_used(node: ast.FunctionDef) -> list[str]:
    """Global names that a function reads: loaded in its signature or body and never bound in it."""
    inner = [*node.body, node.args, *([node.returns] if node.returns else [])]
    every = [n for part in inner for n in ast.walk(part)]
    bound = {n.arg for n in every if isinstance(n, ast.arg)}
    bound |= {n.id for n in every if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    return sorted({n.id for n in every if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)} - bound)
