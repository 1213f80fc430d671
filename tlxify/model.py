"""KERNEL: a Triton kernel as parsing hands it on, before anything is concluded from it.

Statements keep their `ast` node: the analyses interpret it, nobody changes it. A statement is identified by its span.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from .source import SourceFile, Span


@dataclass(frozen=True, slots=True)
class Param:
    """A kernel parameter."""

    name: str
    span: Span
    constexpr: bool
    #: Source text of the default value.
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement without a body: an assignment, a call, `return`, `pass`, a docstring."""

    span: Span
    node: ast.stmt = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Loop:
    """A `for` or `while`."""

    span: Span
    node: ast.For | ast.While = field(repr=False, compare=False)
    body: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """An `if` with both of its arms."""

    span: Span
    node: ast.If = field(repr=False, compare=False)
    body: tuple[Node, ...]
    orelse: tuple[Node, ...]


Node = Statement | Loop | Branch


def walk(nodes: tuple[Node, ...]) -> Iterator[Node]:
    """Every node in source order, bodies after their heads."""
    for node in nodes:
        yield node
        match node:
            case Loop(body=body):
                yield from walk(body)
            case Branch(body=body, orelse=orelse):
                yield from walk(body)
                yield from walk(orelse)


@dataclass(frozen=True, slots=True)
class Decorator:
    """One decorator, by its canonical name ("triton.jit", "triton.autotune", or as written if unknown)."""

    name: str
    span: Span
    node: ast.expr = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Jitted:
    """The statement that makes a plain function a jit function: `kernel = triton.jit(_kernel)`."""

    #: The name that it binds.
    name: str
    span: Span
    #: What decorators above the function would say, outermost first.
    decorators: tuple[Decorator, ...]


@dataclass(frozen=True, slots=True)
class Helper:
    """A jit function that a kernel calls."""

    #: The name that it is defined under; it may be imported under another.
    name: str
    node: ast.FunctionDef = field(repr=False, compare=False)
    #: Where its own names mean something.
    module: Module = field(repr=False, compare=False)
    #: None for one that decorators make a jit function.
    jitted: Jitted | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Constant:
    """A global name bound once to a literal or `tl.constexpr(literal)`."""

    #: The name that it is defined under.
    name: str
    value: object
    #: The statement that binds it, in its module.
    span: Span
    module: Module = field(repr=False, compare=False)
    #: The statement chooses the value among others: it is written as the value instead.
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name of something of Triton's."""

    canonical: str


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A name whose meaning cannot be told without running the program, and why."""

    why: str


Meaning = Helper | Constant | Alias | Unresolved


@dataclass(frozen=True, slots=True)
class Forms:
    """A name that a program binds in one of several forms when it is imported: to tell it from others, file and name.

    The launcher's fingerprint tells the forms apart, so each may be converted as if it were the only one.
    """

    path: str
    name: str
    count: int


@dataclass(frozen=True, slots=True)
class Names:
    """How a module writes Triton's names: local dotted prefix → canonical prefix ("tl" → "triton.language")."""

    aliases: Mapping[str, str]

    def canonical(self, node: ast.expr) -> str | None:
        """The canonical dotted name of a Name or Attribute chain; None for any other expression."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        written = [node.id, *reversed(parts)]
        for length in range(len(written), 0, -1):
            if (known := self.aliases.get(".".join(written[:length]))) is not None:
                return ".".join([known, *written[length:]])
        return ".".join(written)


@dataclass(frozen=True, slots=True)
class Module:
    """One source file: its jit functions, literal constants and the names it gives to Triton's modules."""

    source: SourceFile
    names: Names
    #: Every top-level (or conditionally nested) jit function, by the name that is bound to it.
    helpers: Mapping[str, Helper]
    #: Global names bound once to a literal or `tl.constexpr(literal)`.
    constants: Mapping[str, object]
    #: The statement that binds each constant.
    constant_spans: Mapping[str, Span]
    tree: ast.Module = field(repr=False, compare=False)
    #: What the jit functions read through imports, by the chain that leaves modules behind: `exp`, `ops.exp`. Own names
    #: that are defined in several ways are here as well, unresolved.
    imported: Mapping[str, Meaning] = field(default_factory=dict, repr=False, compare=False)
    #: Which of those names the program binds in one of several forms when it is imported, and how many forms there are.
    forms: Mapping[str, Forms] = field(default_factory=dict, repr=False, compare=False)
    #: The function that is read as if its body stood at the end of the file, for the kernels in it.
    inside: Span | None = None
    #: Jit functions whose names others of the file take further down, or in another arm of a condition.
    shadowed: Sequence[Helper] = ()

    def meaning(self, chain: str) -> tuple[str, Meaning] | None:
        """What a dotted chain means and how much of it says so: of `ops.SCALE.value` that is `ops.SCALE`.

        None for a name that the module does not bind, a builtin for example.
        """
        parts = chain.split(".")
        for length in range(len(parts), 0, -1):
            if (found := self.imported.get(prefix := ".".join(parts[:length]))) is not None:
                return prefix, found
        head = parts[0]
        if head in self.helpers:
            return head, self.helpers[head]
        if head in self.constants:
            return head, Constant(head, self.constants[head], self.constant_spans[head], self)
        if head in self.names.aliases:
            return head, Alias(self.names.aliases[head])
        return None


@dataclass(frozen=True, slots=True)
class Kernel:
    """A jit function that is launched."""

    name: str
    #: From the first decorator to the end of the body.
    span: Span
    module: Module = field(repr=False)
    params: tuple[Param, ...]
    #: Structured: what follows an `if` that returns is its other arm (parse/returns.py). `node` is as written.
    body: tuple[Node, ...]
    decorators: tuple[Decorator, ...]
    node: ast.FunctionDef = field(repr=False, compare=False)
    #: The kernel in the user's file, where this one has helpers written out.
    written: Kernel | None = field(default=None, repr=False, compare=False)
    #: The statement that makes the function a kernel; None for one under decorators.
    jitted: Jitted | None = field(default=None, repr=False, compare=False)

    @property
    def bound(self) -> str:
        """The name that the program launches it by."""
        return self.jitted.name if self.jitted is not None else self.name

    @property
    def made(self) -> Span:
        """What binds that name: the function with its decorators, or a statement behind it."""
        return self.jitted.span if self.jitted is not None else self.span

    @property
    def original(self) -> Kernel:
        """The kernel as the user wrote it."""
        return self.written or self

    def param(self, name: str) -> Param | None:
        """The parameter of that name."""
        return next((param for param in self.params if param.name == name), None)
