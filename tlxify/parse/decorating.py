"""What decorators stand for that do not come from Triton by an import of the file: `from .compat import jit`.

A name is followed through the files of the source tree, which are read and never imported. It may be imported, also as
part of a module, assigned, or defined as a function that does nothing but hand its argument to `triton.jit`. Of several
bindings all must come to the same, but for what stands in where Triton is missing: no kernel runs there.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from ..model import Names
from ..source import SourceFile
from .bindings import EXTERNAL, Binding, Import, Importable, bound_by, by_name
from .names import AUTOTUNE, HEURISTICS, JIT, canonical, collect_names

#: How many bindings a name is followed through.
HOPS = 16
PARTIAL = "functools.partial"


class Made(Enum):
    """What a name of the user's does with a function that it decorates."""

    #: It makes a jit function of it: `def kernel(f): return triton.jit(f)`.
    JIT = "jit"
    #: Called with options, it gives what does: `def kernel(**options): return triton.jit(**options)`.
    MAKES_JIT = "makes jit"
    #: It stands in for what is missing: the function stays as it is.
    STANDS_IN = "stands in"
    #: Nobody knows.
    UNKNOWN = "unknown"


#: Where following a name ends: something of another package (by its canonical name), a module, or what it does.
End = str | Path | Made


@dataclass(frozen=True, slots=True)
class Read:
    """A file as far as following names needs it."""

    path: Path
    tree: ast.Module
    names: Names
    bound: Mapping[str, Sequence[Binding]]


class Decorators:
    """Follows the decorators of the files of one source tree."""

    def __init__(
        self,
        source: Callable[[Path, str, int], Path | None],
        place: Callable[[Path, list[str]], Path | None],
        importable: Callable[[Path], Importable],
    ) -> None:
        """`source` finds the file of a module that one imports, `place` that of a path below a folder."""
        self.source = source
        self.place = place
        self.importable = importable
        self._files: dict[Path, Read | None] = {}

    def aliases(
        self, path: Path, tree: ast.Module, names: Names, bound: Mapping[str, Sequence[Binding]]
    ) -> dict[str, str]:
        """What the file's decorators of kernels are called, and what of Triton's each of them is."""
        here = Read(path, tree, names, bound)
        found: dict[str, str] = {}
        for node in decorators(tree, names):
            target = node.func if isinstance(node, ast.Call) else node
            if (written := chain_of(target)) is None or _of_triton(canonical(names, target)):
                continue
            end = self._end(here, target, HOPS)
            if end in (AUTOTUNE, HEURISTICS):
                found[written] = str(end)
            elif end == JIT or end is (Made.MAKES_JIT if isinstance(node, ast.Call) else Made.JIT):
                found[written] = JIT
        return found

    def _end(self, file: Read, node: ast.expr, hops: int, local: Mapping[str, ast.FunctionDef] | None = None) -> End:
        """Where an expression leads that decorates or is called."""
        if hops == 0:
            return Made.UNKNOWN
        match node:
            case ast.Constant(value=None):
                return Made.STANDS_IN
            case ast.Name(id=name) if local is not None and name in local:
                return self._function(file, local[name], hops - 1)
            case ast.Name() | ast.Attribute():
                return self._chain(file, node, hops)
            case ast.Lambda(args=arguments, body=body):
                return self._given(file, arguments, body, {}, hops)
            case ast.IfExp(body=body, orelse=orelse):
                return _agreed([self._end(file, body, hops - 1, local), self._end(file, orelse, hops - 1, local)])
            case ast.Call(func=func, args=args):
                called = self._end(file, func, hops - 1, local)
                if called == PARTIAL and len(args) == 1:
                    return JIT if self._end(file, args[0], hops - 1, local) == JIT else Made.UNKNOWN
                if not args and (called == JIT or called is Made.MAKES_JIT):
                    return Made.JIT
        return Made.UNKNOWN

    def _chain(self, file: Read, node: ast.expr, hops: int) -> End:
        if _of_triton(known := canonical(file.names, node)):
            return str(known)
        head, *rest = (chain_of(node) or "").split(".")
        found = self._name(file, head, hops - 1)
        for attribute in rest:
            match found:
                case str():
                    found = f"{found}.{attribute}"
                case Path():
                    found = self._attribute(found, attribute, hops - 1)
                case _:
                    return Made.UNKNOWN
        # Triton's names have homes of their own, which another file may have taken them from.
        return canonical(Names({}), _expression(found)) or found if isinstance(found, str) else found

    def _name(self, file: Read, name: str, hops: int) -> End:
        if hops <= 0:
            return Made.UNKNOWN
        bound = file.bound.get(name, ())
        if not bound:
            inner = list(_imports(file.tree, name))
            if inner:
                return _agreed([self._imported(file, one, hops) for one in inner])
            return _agreed([self._attribute(place, name, hops - 1) for place in self._stars(file)])
        return _agreed([self._bound(file, one, hops) for one in bound])

    def _bound(self, file: Read, binding: Binding, hops: int) -> End:
        match binding.what:
            case Import() as what:
                return self._imported(file, what, hops)
            case ast.FunctionDef() as function:
                return self._function(file, function, hops)
            case ast.expr() as value:
                return self._end(file, value, hops - 1)
        return Made.UNKNOWN

    def _imported(self, file: Read, what: Import, hops: int) -> End:
        outside = what.module if what.leaf is None else f"{what.module}.{what.leaf}"
        if what.level == 0 and what.module.partition(".")[0] in EXTERNAL:
            return outside
        place = self.source(file.path, what.module, what.level)
        if place is None:
            return outside if what.level == 0 else Made.UNKNOWN
        return place if what.leaf is None else self._attribute(place, what.leaf, hops - 1)

    def _attribute(self, place: Path, name: str, hops: int) -> End:
        if place.suffix == ".py":
            file = self._read(place)
            if file is not None and (found := self._name(file, name, hops)) is not Made.UNKNOWN:
                return found
            if place.name != "__init__.py":
                return Made.UNKNOWN
            place = place.parent
        return self.place(place, [name]) or Made.UNKNOWN

    def _function(self, file: Read, function: ast.FunctionDef, hops: int) -> End:
        """What a function does with its argument, if that can be read off one `return`."""
        if function.decorator_list:
            return Made.UNKNOWN
        local = {inner.name: inner for inner in function.body if isinstance(inner, ast.FunctionDef)}
        match [one for one in function.body if not isinstance(one, ast.FunctionDef) and not _is_text(one)]:
            case [ast.Return(value=ast.expr() as value)]:
                return self._given(file, function.args, value, local, hops)
        return Made.UNKNOWN

    def _given(
        self, file: Read, arguments: ast.arguments, value: ast.expr, local: Mapping[str, ast.FunctionDef], hops: int
    ) -> End:
        """What a function does that returns `value`."""
        first = [one.arg for one in (*arguments.posonlyargs, *arguments.args)][:1]
        match value:
            case ast.Name(id=name) if [name] == first:
                return Made.STANDS_IN
            case ast.Call(func=func, args=[ast.Name(id=name)]) if [name] == first:
                end = self._end(file, func, hops - 1, local)
                return Made.JIT if end == JIT or end is Made.JIT else Made.UNKNOWN
        end = self._end(file, value, hops - 1, local)
        return Made.MAKES_JIT if end == JIT or end is Made.JIT else Made.UNKNOWN

    def _stars(self, file: Read) -> Iterator[Path]:
        for statement in file.tree.body:
            match statement:
                case ast.ImportFrom(module=module, level=level, names=[ast.alias(name="*")]):
                    place = self.source(file.path, module or "", level)
                    if place is not None:
                        yield place

    def _read(self, path: Path) -> Read | None:
        if path not in self._files:
            self._files[path] = None
            try:
                tree = ast.parse(SourceFile.read(path).text)
                self._files[path] = Read(path, tree, collect_names(tree), by_name(tree, self.importable(path)))
            except (OSError, UnicodeDecodeError, SyntaxError, ValueError, RecursionError, MemoryError):
                pass
        return self._files[path]


def decorators(tree: ast.Module, names: Names) -> Iterator[ast.expr]:
    """What decorates the functions of a file that are written in Triton's language, or is called with one of them."""
    nodes = list(ast.walk(tree))
    functions = {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}
    for node in nodes:
        match node:
            case ast.FunctionDef(decorator_list=[_, *_] as found) if speaks_triton(node, names):
                yield from found
            case ast.Assign(value=value) | ast.AnnAssign(value=value):
                yield from _around(value, functions, names)


def _around(value: ast.expr | None, functions: Mapping[str, ast.FunctionDef], names: Names) -> list[ast.expr]:
    """The calls that make `value` of a function, outermost first; none for any other value."""
    match value:
        case ast.Call(func=func, args=[ast.Name(id=name)]) if name in functions:
            return [func] if speaks_triton(functions[name], names) else []
        case ast.Call(func=func, args=[ast.Call() as inner]) if found := _around(inner, functions, names):
            return [func, *found]
    return []


def speaks_triton(function: ast.FunctionDef, names: Names) -> bool:
    """Whether a function names anything of `triton.language`."""
    return any(
        (names.canonical(node) or "").startswith("triton.language.")
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute | ast.Name)
    )


def chain_of(node: ast.expr) -> str | None:
    """A Name or Attribute chain as it is written; None for any other expression."""
    return Names({}).canonical(node)


def _expression(chain: str) -> ast.expr:
    return ast.parse(chain, mode="eval").body


def _of_triton(name: str | None) -> bool:
    return name is not None and name.partition(".")[0] in EXTERNAL


def _agreed(ends: Sequence[End]) -> End:
    """What all bindings of a name come to."""
    rest = {end for end in ends if end is not Made.STANDS_IN}
    # A jit function may be made with options or without.
    if rest == {JIT, Made.JIT}:
        return Made.JIT
    if len(rest) == 1:
        return rest.pop()
    return Made.STANDS_IN if ends and not rest else Made.UNKNOWN


def _imports(tree: ast.Module, name: str) -> Iterator[Import]:
    """The imports inside of functions that bind a name."""
    for statement in ast.walk(tree):
        if isinstance(statement, ast.Import | ast.ImportFrom):
            for bound, what in bound_by(statement):
                if bound == name and isinstance(what, Import):
                    yield what


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
