"""What imported names mean, found in the files of the same source tree by reading them.

The tree begins above the outermost package that holds the user's file (or at the file's folder, if that is no package).
No file outside of it is read, and none is imported or run.
"""

from __future__ import annotations

import ast
import functools
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ..diagnostics import Decline
from ..model import Alias, Constant, Forms, Helper, Meaning, Module, Unresolved
from ..reach import names_used
from ..source import SourceFile, Span, above_packages
from .bindings import EXTERNAL, Binding, Import, bound_by, of_triton, settled
from .decorating import Decorators
from .forms import choices, told_apart
from .jitted import helper_of, is_jit
from .launches import launched
from .module import CHOSEN, SEVERAL, Parsed, literal_value, parse_alone

#: How many modules a name may be passed on through.
HOPS = 8
#: What kernels ask of their platform, and the answer where a converted kernel can run at all: on an NVIDIA GPU.
#: Elsewhere the answer is a string, which the launcher's fingerprint notices.
PLATFORM: Mapping[str, None] = {"torch.version.hip": None}


@dataclass(frozen=True, slots=True)
class Several:
    """A name with several forms, and the one that is taken."""

    taken: Meaning
    forms: Forms


#: What a name leads to on the way: something of a kernel's, or a module (its file, or a folder without `__init__.py`).
Found = Meaning | Several | Path


class SourceTree:
    """The files around one source file, each parsed once when it is needed."""

    def __init__(self, path: str, taken: Mapping[tuple[str, str], int]) -> None:
        """`taken` says which form of a name to take, by file and name; the first one of all others."""
        self.taken = taken
        self.path = Path(os.path.abspath(path))
        self.root = above_packages(path)
        self._files: dict[Path, Parsed] = {}
        self._followed: set[int] = set()
        importable = functools.partial(functools.partial, self._importable)
        self._decorators = Decorators(self.source_of, self._place, importable)
        #: What star imports bring in, by module and name. Modules may import each other in many ways.
        self._starred: dict[tuple[Path, str], Found | None] = {}

    def user_module(self, source: SourceFile, inside: int | None = None) -> Module:
        """The module of the user's file, whose text is given, or as a function in it sees it. Raises Decline TLX101."""
        module = self._parse(self.path, source, inside).module
        for helper in module.helpers.values():
            self._follow(helper)
        return module

    def launched(self, source: SourceFile) -> Iterator[Helper]:
        """The jit functions of any file that the user's file launches, also where a function imports them.

        Raises Decline TLX101.
        """
        known = self._parse(self.path, source)
        local: dict[str, list[Binding]] = {}
        for statement in ast.walk(known.module.tree):
            if isinstance(statement, ast.Import | ast.ImportFrom):
                for name, what in bound_by(statement):
                    local.setdefault(name, []).append(Binding(name, statement, what, True, False))
        for chain in sorted(launched(known.module.tree)):
            head = chain.partition(".")[0]
            for one in [replace(known, bound={head: [binding]}) for binding in local.get(head, ())] or [known]:
                _, found = self._chain(self.path, one, chain, HOPS)
                found = found.taken if isinstance(found, Several) else found
                if isinstance(found, Helper):
                    yield found

    def _module(self, path: Path) -> Parsed | None:
        """The module in a file of the tree; None if that cannot be read."""
        if path in self._files:
            return self._files[path]
        try:
            return self._parse(path, SourceFile.read(path))
        except (OSError, UnicodeDecodeError, SyntaxError, Decline):
            return None

    def _parse(self, path: Path, source: SourceFile, inside: int | None = None) -> Parsed:
        followed = functools.partial(self._decorators.aliases, path)
        known = parse_alone(source, functools.partial(self._importable, path), followed, inside)
        self._files[path] = known
        return known

    def _follow(self, helper: Helper) -> None:
        """Notes what the names mean that a jit function reads, and so on for the helpers among them."""
        if id(helper.node) in self._followed:
            return
        self._followed.add(id(helper.node))
        path = Path(os.path.abspath(helper.module.source.path))
        known = self._files[path]
        for chain in names_used(helper.node):
            there = known.module.meaning(chain)
            if there is None or there[1] == Unresolved(SEVERAL):
                self._note(path, known, chain)
                there = known.module.meaning(chain)
            if there is not None and isinstance(there[1], Helper):
                self._follow(there[1])

    def _note(self, path: Path, known: Parsed, chain: str) -> None:
        """Notes what a chain means that begins with an imported or computed name."""
        prefix, meaning = self._chain(path, known, chain, HOPS)
        if isinstance(meaning, Several):
            known.forms[prefix] = meaning.forms
            meaning = meaning.taken
        if isinstance(meaning, Alias):
            known.aliases[prefix] = meaning.canonical
        if meaning is not None and not isinstance(meaning, Path):
            known.imported[prefix] = meaning

    def _chain(self, path: Path, known: Parsed, chain: str, hops: int) -> tuple[str, Found | None]:
        """Follows a chain past modules: how much of it that took, and what is there; None for an unbound name."""
        if (platform := _platform(known, chain)) is not None:
            return chain, platform
        prefix, *rest = chain.split(".")
        found = self._member(path, known, prefix, hops)
        while isinstance(found, Path) and rest:
            attribute = rest.pop(0)
            prefix = f"{prefix}.{attribute}"
            found = self._attribute(found, attribute, hops) or Unresolved(f"{self._named(found)} does not define it")
        return prefix, found

    def _attribute(self, place: Path, name: str, hops: int) -> Found | None:
        """What `from place import name` gives: a name of the module, else a module inside the package."""
        if place.suffix == ".py":
            known = self._module(place)
            if known is None:
                return Unresolved(f"{self._named(place)} cannot be read")
            if (found := self._member(place, known, name, hops)) is not None:
                return found
            if place.name != "__init__.py":
                return None
            place = place.parent
        return self._place(place, [name])

    def _member(self, path: Path, known: Parsed, name: str, hops: int) -> Found | None:
        """What a global name of a module means; None if the module does not bind it."""
        if hops == 0:
            return Unresolved(f"it is passed on through more than {HOPS} modules")
        own = known.module.meaning(name)
        if own is not None and own[1] != Unresolved(SEVERAL):
            return own[1]
        bound = known.bound.get(name, [])
        if not bound:
            return self._from_stars(path, known, name, hops)
        if len(bound) > 1:
            return self._several(path, known, name, bound, hops) or Unresolved(SEVERAL)
        found = self._several(path, known, name, bound, hops) or self._bound(path, known, bound[0], hops)
        return Unresolved(CHOSEN) if bound[0].chosen and isinstance(found, Alias | Path) else found

    def _several(self, path: Path, known: Parsed, name: str, bound: list[Binding], hops: int) -> Found | None:
        """The form to take of a name that several statements bind, or one that chooses; None if there is none."""
        found: list[Meaning | None] = []
        for binding in bound:
            options = choices(binding.what)
            if len(bound) == len(options) == 1:
                return None
            found += [self._form(path, known, replace(binding, what=option), hops) for option in options]
            found += [None] if binding.chosen else []
        forms = told_apart(found)
        if not forms:
            return None
        named = Forms(str(path), name, len(forms))
        return Several(forms[min(self.taken.get((named.path, name), 0), len(forms) - 1)], named)

    def _form(self, path: Path, known: Parsed, binding: Binding, hops: int) -> Meaning | None:
        """What a name means in one of its forms; None for what cannot be told."""
        what, names = binding.what, known.module.names
        if (helper := helper_of(binding, known.bound, known.module)) is not None:
            return helper
        if isinstance(what, ast.expr) and (value := literal_value(what, names)) is not None:
            return Constant(binding.name, value, Span.of(binding.statement), known.module, True)
        if isinstance(what, ast.Attribute) and (canonical := names.canonical(what) or "").startswith("triton."):
            return Alias(canonical)
        found = self._bound(path, known, binding, hops)
        return found if isinstance(found, Helper | Constant | Alias) else None

    def _bound(self, path: Path, known: Parsed, binding: Binding, hops: int) -> Found | None:
        match binding.what:
            case Import(module=module, level=level, leaf=leaf):
                return self._imported(path, module, level, leaf, hops)
            case ast.FunctionDef() as function if not is_jit(function, known.module.names):
                return Unresolved("it is a plain Python function")
            case ast.Name() | ast.Attribute() as other:
                prefix, found = self._chain(path, known, ast.unparse(other), hops - 1)
                if found is not None and prefix == ast.unparse(other):
                    return found
            case ast.expr() as value if (truth := settled(value, known.module.names)) is not None and binding.certain:
                return Constant(binding.name, truth, Span.of(binding.statement), known.module, True)
            case ast.expr() as value if literal_value(value, known.module.names) is not None:
                return Unresolved("it is bound only under a condition")
        return Unresolved("its value is computed")

    def _imported(self, path: Path, module: str, level: int, leaf: str | None, hops: int) -> Found:
        written = "." * level + module
        if level == 0 and module.split(".")[0] in EXTERNAL:
            return Alias(module if leaf is None else f"{module}.{leaf}")
        place = self.source_of(path, module, level)
        if place is None:
            return Unresolved(f"`{written}` is not in this source tree")
        if leaf is None:
            return place
        found = self._attribute(place, leaf, hops - 1)
        return Unresolved(f"{self._named(place)} does not define `{leaf}`") if found is None else found

    def _from_stars(self, path: Path, known: Parsed, name: str, hops: int) -> Found | None:
        """The same for a name that may come in through `from module import *`."""
        if name.startswith("_") or (path, name) in self._starred:
            return self._starred.get((path, name))
        self._starred[path, name] = None
        found = []
        for statement in known.module.tree.body:
            match statement:
                case ast.ImportFrom(module=module, level=level, names=[ast.alias(name="*")]):
                    place = self.source_of(path, module or "", level)
                    one = self._attribute(place, name, hops - 1) if place is not None else None
                    if one is not None:
                        found.append(one)
        result = Unresolved(SEVERAL) if len(found) > 1 else found[0] if found else None
        self._starred[path, name] = result
        return result

    # ---- files

    def _importable(self, path: Path, statement: ast.Import | ast.ImportFrom) -> bool:
        if of_triton(statement):
            return True
        if isinstance(statement, ast.Import):
            return all(self.source_of(path, alias.name, 0) is not None for alias in statement.names)
        return self.source_of(path, statement.module or "", statement.level) is not None

    def source_of(self, importer: Path, module: str, level: int) -> Path | None:
        """Where the module of an import statement lies in the tree."""
        base = self.root
        if level:
            base = importer.parent
            for _ in range(level - 1):
                base = base.parent
        return self._place(base, module.split(".") if module else [])

    def _place(self, base: Path, parts: list[str]) -> Path | None:
        place = base.joinpath(*parts)
        candidates = [place / "__init__.py", *([place.with_name(f"{place.name}.py")] if parts else []), place]
        for found in candidates:
            exists = found.is_dir() if found is place else found.is_file()
            if exists and found.resolve().is_relative_to(self.root.resolve()):
                return found
        return None

    def _named(self, place: Path) -> str:
        return f"`{place.relative_to(self.root).as_posix()}`"


def _platform(known: Parsed, chain: str) -> Constant | None:
    """The answer to a question that a module asks of its platform; None for any other chain."""
    head, *rest = chain.split(".")
    match known.bound.get(head, []):
        case [Binding(what=Import(module=module, level=0, leaf=leaf), statement=statement)]:
            canonical = ".".join(part for part in (module, leaf, *rest) if part)
            if canonical in PLATFORM:
                name = canonical.rpartition(".")[2]
                return Constant(name, PLATFORM[canonical], Span.of(statement), known.module, True)
    return None
