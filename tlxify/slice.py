"""A kernel with its helpers and constants, cut out of its module: what is simulated, compiled and sent to a GPU.

A slice imports nothing but Triton, so it runs where the kernel's own package cannot even be imported.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from .diagnostics import Decline
from .fingerprint import names_used
from .model import Kernel, Module
from .source import Span

_KNOWN = frozenset("range min max abs len int float bool isinstance print slice sum True False None tuple list".split())


@dataclass(frozen=True, slots=True)
class Slice:
    """The pieces, each as text at the left margin, in source order."""

    imports: tuple[str, ...]
    constants: tuple[str, ...]
    helpers: tuple[str, ...]
    #: The kernel under `@triton.jit` alone: tuners and other decorators stay behind.
    kernel: str
    #: What the module calls `triton.language`.
    tl: str

    def text(self, *more: str) -> str:
        """One module of the given parts behind imports, constants and helpers."""
        head = "\n".join(self.imports)
        blocks = [head, *(["\n".join(self.constants)] if self.constants else []), *self.helpers, *more]
        return "\n\n\n".join(block.strip("\n") for block in blocks if block.strip()) + "\n"


def cut(kernel: Kernel) -> Slice:
    """The slice around a kernel. Raises Decline TLX105 or TLX107 for a name that it cannot bring along."""
    module = kernel.module
    helpers, constants, imports = _needed(kernel)
    called = {name: local for local, name in reversed(list(module.names.aliases.items()))}
    tl = called.get("triton.language") or f"{called.get('triton', 'triton')}.language"
    lines = {_import_line(local, module.names.aliases[local]) for local in imports}
    lines |= {"import triton", f"import triton.language as {tl}" if "." not in tl else "import triton.language"}
    in_order = sorted((module.helpers[name] for name in helpers), key=lambda helper: helper.node.lineno)
    return Slice(
        imports=tuple(sorted(lines)),
        constants=tuple(
            _text(module, module.constant_spans[name])
            for name in sorted(constants, key=lambda n: module.constant_spans[n].line)
        ),
        helpers=tuple(jitted(module, helper.node) for helper in in_order),
        kernel=jitted(module, kernel.node),
        tl=tl,
    )


def jitted(module: Module, node: ast.FunctionDef) -> str:
    """A function's text under `@triton.jit`."""
    lines = [line.rstrip("\r\n") for line in module.source.lines()[node.lineno - 1 : node.end_lineno]]
    indent = node.col_offset
    return "\n".join(["@triton.jit", *(line[indent:] if not line[:indent].strip() else line for line in lines)])


def _needed(kernel: Kernel) -> tuple[set[str], set[str], set[str]]:
    module = kernel.module
    helpers: set[str] = set()
    constants: set[str] = set()
    imports: set[str] = set()
    pending = [kernel.node]
    while pending:
        node = pending.pop()
        for name in names_used(node):
            if name in module.helpers:
                if name not in helpers and name != kernel.name:
                    helpers.add(name)
                    pending.append(module.helpers[name].node)
            elif name in module.constants:
                constants.add(name)
            elif name in module.names.aliases:
                imports.add(name)
            elif name not in _KNOWN:
                raise Decline("TLX107", _place(node, name), name=name)
    return helpers, constants, imports


def _place(node: ast.FunctionDef, name: str) -> Span:
    return next(Span.of(n) for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == name)


def _import_line(local: str, canonical: str) -> str:
    if canonical == local:
        return f"import {local}"
    if canonical == "triton.language":
        return f"import triton.language as {local}"
    package, _, leaf = canonical.rpartition(".")
    return f"from {package} import {leaf}" if leaf == local else f"from {package} import {leaf} as {local}"


def _text(module: Module, span: Span) -> str:
    return module.source.segment(span)
