"""One namespace for a kernel and the helpers that are written out in it.

The local names of a helper must not touch the kernel's, and its global names must mean here what they mean in the file
that it is from. Where a name is free it stays; else it gets a number.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Mapping

from ..model import Alias, Constant, Helper, Kernel, Meaning, Module, Names, Unresolved
from ..reach import names_used
from ..source import SourceFile


class Shadowed(Exception):
    """A builtin that a helper reads is another thing in the kernel."""


class Namespace:
    """The names of one kernel, and those that were added to them."""

    def __init__(self, kernel: Kernel) -> None:
        self._home = kernel.module
        own = [node for node in ast.walk(kernel.node) if isinstance(node, ast.Name | ast.arg)]
        #: Names that are bound in the kernel as it is written.
        self.locals = {n.arg for n in own if isinstance(n, ast.arg)}
        self.locals |= {n.id for n in own if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        #: The same with what was written out.
        self.taken_locally = set(self.locals)
        self.taken = self.locals | {n.id for n in own if isinstance(n, ast.Name)}
        #: Names that text outside of functions binds or reads: an added global may not be called like them.
        self._outside = {node.id for node in ast.walk(kernel.module.tree) if isinstance(node, ast.Name)}
        self._outside |= {alias.asname or alias.name for alias in _aliases(kernel.module.tree)}
        self._outside |= {node.name for node in ast.walk(kernel.module.tree) if isinstance(node, ast.FunctionDef)}
        self._called: dict[tuple[str, str], str] = {}
        #: What was added to the names of the user's module.
        self.added: dict[str, Meaning] = {}

    def reserve(self, helpers: Iterable[Helper]) -> None:
        """Keeps local names away from the globals of helpers that will be written out."""
        for helper in helpers:
            self.taken |= {chain.partition(".")[0] for chain in names_used(helper.node)}

    def suffix(self, names: Iterable[str], avoid: Iterable[str]) -> str:
        """The ending, a number, under which none of the `names` is taken or one of those to `avoid`."""
        names, used = list(names), self.taken | set(avoid)
        return next(f"_{n}" for n in itertools.count(1) if not any(f"{name}_{n}" in used for name in names))

    def fresh(self, name: str) -> str:
        """A local name that nothing has, and that is taken now."""
        chosen = name if name not in self.taken else f"{name}{self.suffix([name], ())}"
        self.bind(chosen)
        return chosen

    def bind(self, name: str) -> None:
        """Says that text which was written out binds a local name."""
        self.taken.add(name)
        self.taken_locally.add(name)

    def globals_of(self, helper: Helper) -> Mapping[str, str]:
        """How to say here what a helper reads from its module, by the chain that says it there; without what stays.

        Raises Shadowed.
        """
        changed = {}
        for chain in names_used(helper.node):
            prefix, meaning = helper.module.meaning(chain) or (chain.partition(".")[0], None)
            if (called := self._global(helper.module, prefix, meaning)) != prefix:
                changed[prefix] = called
        return changed

    def _global(self, home: Module, prefix: str, meaning: Meaning | None) -> str:
        key = home.source.path, prefix
        if key not in self._called:
            self._called[key] = self._find(prefix, meaning)
        return self._called[key]

    def _find(self, prefix: str, meaning: Meaning | None) -> str:
        head, _, member = prefix.partition(".")
        here = self.meaning(prefix)
        if head not in self.locals and _same(here, meaning):
            return prefix
        if isinstance(meaning, Alias) and (known := self._alias(meaning.canonical)) is not None:
            return known
        free = head not in self.locals | self._outside and here is None
        if meaning is not None and free and (not member or isinstance(meaning, Unresolved)):
            self.added[prefix] = meaning
            return prefix
        if meaning is None:
            raise Shadowed(prefix)
        leaf = prefix.rpartition(".")[2]
        called = next(
            name
            for name in itertools.chain([leaf], (f"{leaf}_{n}" for n in itertools.count(1)))
            if name not in self._outside | self.taken and self.meaning(name) is None
        )
        self.taken.add(called)
        self.added[called] = meaning
        return called

    def _alias(self, canonical: str) -> str | None:
        """What the user's module calls something of Triton's, by itself or as a member of its package."""
        known = {name: local for local, name in self._home.names.aliases.items() if "." not in local}
        parts = canonical.split(".")
        for length in range(len(parts), 0, -1):
            local = known.get(".".join(parts[:length]))
            if local is not None and local not in self.locals:
                return ".".join([local, *parts[length:]])
        return None

    def meaning(self, chain: str) -> Meaning | None:
        """What a whole chain means in the kernel's text."""
        if chain in self.added:
            return self.added[chain]
        prefix, meaning = self._home.meaning(chain) or (chain, None)
        return meaning if prefix == chain else self._member(prefix, meaning, chain)

    def _member(self, prefix: str, meaning: Meaning | None, chain: str) -> Meaning | None:
        if isinstance(meaning, Alias):
            return Alias(meaning.canonical + chain.removeprefix(prefix))
        return meaning

    def module(self, source: SourceFile, source_module: Module) -> Module:
        """`source_module` with the added names, read from a longer text."""
        aliases = {name: m.canonical for name, m in self.added.items() if isinstance(m, Alias)}
        helpers: dict[str, Helper] = {}
        module = Module(
            source,
            Names({**source_module.names.aliases, **aliases}),
            helpers,
            source_module.constants,
            source_module.constant_spans,
            source_module.tree,
            {**source_module.imported, **self.added},
        )
        helpers.update({name: Helper(name, helper.node, module) for name, helper in source_module.helpers.items()})
        return module


def _same(here: Meaning | None, there: Meaning | None) -> bool:
    match here, there:
        case Alias(canonical=one), Alias(canonical=other):
            return one == other
        case Helper(node=one_node), Helper(node=other_node):
            return one_node is other_node
        case Constant(name=one, module=home), Constant(name=other, module=away):
            return one == other and home.source.path == away.source.path
        case Unresolved(), Unresolved():
            return True
        case None, None:
            return True
    return False


def _aliases(tree: ast.Module) -> Iterable[ast.alias]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from node.names
