"""A kernel with its helpers and constants, cut out of its modules: what is simulated, compiled and sent to a GPU.

A slice imports nothing but Triton, so it runs where the kernel's own package cannot even be imported. Texts stay as
they are written: what a file imports under another name, or reads as a member of a module, goes by that name here too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .diagnostics import Decline
from .model import Alias, Constant, Helper, Kernel, Meaning, Module, Unresolved
from .reach import chain_of, reach
from .source import Span

_KNOWN = frozenset("range min max abs len int float bool isinstance print slice sum True False None tuple list".split())
_CLASH = "it means different things in the files that this kernel needs"


@dataclass(frozen=True, slots=True)
class Slice:
    """The pieces, each as text at the left margin, those of other files first, in source order."""

    imports: tuple[str, ...]
    constants: tuple[str, ...]
    helpers: tuple[str, ...]
    #: Lines that give helpers and constants the names that they were imported under.
    bindings: tuple[str, ...]
    #: The kernel under `@triton.jit` alone: tuners and other decorators stay behind.
    kernel: str
    #: What the module calls `triton.language`.
    tl: str
    #: What each global name stands for, so that two slices can be told to agree.
    meanings: tuple[tuple[str, str], ...]

    def text(self, *more: str) -> str:
        """One module of the given parts behind imports, constants, helpers and bindings."""
        parts = ["\n".join(self.imports), "\n".join(self.constants), *self.helpers, "\n".join(self.bindings), *more]
        return "\n\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def cut(kernel: Kernel, beside: Iterable[Slice] = ()) -> Slice:
    """The slice around a kernel, to stand in one file with the slices `beside` it.

    Raises Decline TLX107 for a name that it cannot bring along, or that means different things in different files.
    """
    tl = tl_name(kernel.module)
    pieces = _Pieces(kernel, dict(pair for one in beside for pair in one.meanings))
    for use in reach(kernel):
        pieces.add(use.name, use.meaning, use.module, use.span)
    return Slice(
        imports=tuple(sorted(pieces.imports | {"import triton", _language_import(tl)})),
        constants=tuple(text for _, text in sorted(pieces.constants.values())),
        helpers=tuple(text for _, text in sorted(pieces.helpers.values())),
        bindings=tuple(_binding_lines(pieces.bound)),
        kernel=jitted(kernel.module, kernel.node),
        tl=tl,
        meanings=tuple(sorted(pieces.meanings.items())),
    )


def _language_import(tl: str) -> str:
    return "import triton.language" if "." in tl else f"import triton.language as {tl}"


def tl_name(module: Module) -> str:
    """What a module calls `triton.language`: a name of its own, or the member of what it calls `triton`."""
    called = {name: local for local, name in reversed(list(module.names.aliases.items())) if "." not in local}
    return called.get("triton.language") or f"{called.get('triton', 'triton')}.language"


#: Where a piece stands: those of the kernel's own file last.
_Order = tuple[bool, str, int]


class _Pieces:
    """What a kernel needs, collected name by name. One module holds it all, so a name may have but one meaning."""

    def __init__(self, kernel: Kernel, taken: dict[str, str]) -> None:
        self.kernel = kernel
        self.taken = taken
        #: What every such module holds besides.
        self.meanings = {"triton": "triton", "tlx": "tlx", tl_name(kernel.module): "triton.language"}
        self.imports: set[str] = set()
        self.constants: dict[str, tuple[_Order, str]] = {}
        self.helpers: dict[str, tuple[_Order, str]] = {}
        #: Name as used → name as defined, or canonical name.
        self.bound: dict[str, str] = {}
        own = kernel.original
        self._claim(own.name, _identity(Helper(own.name, own.node, own.module)), Span.of(kernel.node))

    def add(self, name: str, meaning: Meaning | None, module: Module, span: Span) -> None:
        """Brings along what a name means in a module. Raises Decline TLX107."""
        if isinstance(meaning, Unresolved):
            raise Decline("TLX107", span, name=name, why=meaning.why)
        if meaning is None and name not in _KNOWN:
            raise Decline("TLX107", span, name=name)
        self._claim(name, _identity(meaning), span)
        match meaning:
            case Alias(canonical=canonical):
                self._import(name, canonical)
            case Helper(name=defined, node=node, module=home):
                if node is not self.kernel.original.node:
                    self._claim(defined, _identity(meaning), span)
                    self.helpers[defined] = (self._order(home, node.lineno), jitted(home, node))
                self._bind(name, defined, span)
            case Constant(name=defined, value=value, span=place, module=home, chosen=chosen):
                self._claim(defined, _identity(meaning), span)
                tl = tl_name(self.kernel.module)
                text = f"{defined} = {tl}.constexpr({value!r})" if chosen else home.source.segment(place)
                self.constants.setdefault(defined, (self._order(home, place.line), text))
                for used in _names_in(text) if not chosen else ():
                    known = home.meaning(used)
                    if used != defined and known is not None and isinstance(known[1], Alias):
                        self.add(*known, home, span)
                self._bind(name, defined, span)

    def _claim(self, name: str, identity: str, span: Span) -> None:
        if {self.meanings.setdefault(name, identity), self.taken.get(name, identity)} != {identity}:
            raise Decline("TLX107", span, name=name, why=_CLASH)

    def _import(self, name: str, canonical: str) -> None:
        if "." not in name:
            self.imports.add(import_line(name, canonical))
        else:
            self.imports.add(f"import {canonical.rpartition('.')[0] or canonical}")
            self._bind(name, canonical, Span.of(self.kernel.node))

    def _bind(self, name: str, defined: str, span: Span) -> None:
        if name == defined:
            return
        self.bound[name] = defined
        if "." in name:
            self.imports.add("import types")
            self._claim("types", "module types", span)
            for prefix in _prefixes(name):
                self._claim(prefix, "module of helpers", span)

    def _order(self, home: Module, line: int) -> _Order:
        return home.source.path == self.kernel.module.source.path, home.source.path, line


def _identity(meaning: Meaning | None) -> str:
    match meaning:
        case Alias(canonical=canonical):
            return canonical
        case Helper(name=name, node=node, module=module):
            return f"function {name} in line {node.lineno} of {module.source.path}"
        case Constant(value=value):
            return f"constant {value!r}"
        case _:
            return "builtin"


def _names_in(text: str) -> list[str]:
    chains = [chain_of(node) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name | ast.Attribute)]
    return sorted({chain for chain in chains if chain is not None})


def _prefixes(chain: str) -> list[str]:
    """`a` and `a.b` of `a.b.c`."""
    parts = chain.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts))]


def _binding_lines(bound: dict[str, str]) -> Iterator[str]:
    """Assignments; a member of a module is one of a module made here, for that is all that Triton looks into.

    The name of that module is nobody's package: names of Triton's own and of `math` do not count in fingerprints.
    """
    for prefix in dict.fromkeys(prefix for name in sorted(bound) for prefix in _prefixes(name)):
        yield f'{prefix} = types.ModuleType("helpers.{prefix}")'
    for name in sorted(bound):
        yield f"{name} = {bound[name]}"


def jitted(module: Module, node: ast.FunctionDef) -> str:
    """A function's text under `@triton.jit`."""
    lines = [line.rstrip("\r\n") for line in module.source.lines()[node.lineno - 1 : node.end_lineno]]
    indent = node.col_offset
    return "\n".join(["@triton.jit", *(line[indent:] if not line[:indent].strip() else line for line in lines)])


def import_line(local: str, canonical: str) -> str:
    """The import that gives something of a module a local name."""
    if canonical == local:
        return f"import {local}"
    if canonical == "triton.language":
        return f"import triton.language as {local}"
    package, _, leaf = canonical.rpartition(".")
    return f"from {package} import {leaf}" if leaf == local else f"from {package} import {leaf} as {local}"
