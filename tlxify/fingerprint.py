"""The hash of a source kernel, from text: what the launcher compares with the live kernel to notice a stale conversion.

The rule is the launcher's (`tlx.launch.fingerprint`, written there in full): the parts of a kernel are its own function
text, that of every jit helper it names, directly or through others, also in other files, and `repr` of every literal
constant they name; the SHA-256 of `name newline text newline`, sorted; 16 digits of it. A test holds both
implementations to the same answer.
"""

from __future__ import annotations

import ast
import hashlib
import textwrap
from collections.abc import Iterable

from .model import Constant, Helper, Kernel, Module
from .reach import reach

_DIGITS = 16


def fingerprint(kernel: Kernel) -> str:
    """The fingerprint of a kernel in its module."""
    return digest(parts(kernel))


def digest(found: Iterable[tuple[str, str]]) -> str:
    """The recorded digits for (name, text) pairs."""
    written = "".join(f"{name}\n{text}\n" for name, text in sorted(set(found)))
    return hashlib.sha256(written.encode()).hexdigest()[:_DIGITS]


def parts(kernel: Kernel) -> set[tuple[str, str]]:
    """The (name, text) pairs of a kernel: itself, its helpers and its constants, by the names they are used under.

    Those of the user's kernel, also where helpers are written out: that is what is live when the launcher compares.
    """
    kernel = kernel.original
    found = {(kernel.name, function_text(kernel.module, kernel.node))}
    for use in reach(kernel):
        match use.meaning:
            case Helper(node=node, module=module):
                found.add((use.name, function_text(module, node)))
            case Constant(value=bool() | int() | float() | str() as value):
                found.add((use.name, repr(value)))
    return found


def function_text(module: Module, node: ast.FunctionDef) -> str:
    """The lines of a function from `def` on, dedented, without trailing white space and empty lines."""
    lines = module.source.lines()[node.lineno - 1 : node.end_lineno]
    body = textwrap.dedent("\n".join(line.rstrip("\r\n") for line in lines))
    return "\n".join(line.rstrip() for line in body.splitlines() if line.strip())
