"""One source file → Module: its jit functions and constants, found by parsing alone.

The user's code is never imported or run; what only running it could tell (a constant computed at import) stays unknown.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..diagnostics import Decline
from ..model import Forms, Helper, Meaning, Module, Names, Unresolved
from ..source import SourceFile, Span
from .bindings import Binding, Importable, by_name
from .enclosed import ARGUMENT, Chain, arguments, makers, opened
from .jitted import helper_of
from .names import collect_names

#: Why a name that several statements bind has no meaning.
SEVERAL = "it is defined in several ways"
#: What neither Python's parser nor a walk over its trees can follow.
NESTED = "an expression, or statements, of hundreds of levels"
#: A tree of so many levels may end Python's recursion: several calls go with each, of a thousand that it allows.
LEVELS = 100
#: The launcher notices another helper or constant by its text; functions of Triton's are no part of that.
CHOSEN = "which function of Triton it is, the program chooses when it runs"


def parse_module(
    source: SourceFile, taken: Mapping[tuple[str, str], int] | None = None, inside: int | None = None
) -> Module:
    """The module behind a text, with what its jit functions import. Raises Decline TLX101 if it does not parse.

    `taken` says which form of a name to take that has several (`forms`), by file and name; else it is the first one.
    `inside` is the number of one of its functions that make kernels (`enclosed.makers`): the module as they see it.
    """
    from .imports import SourceTree

    return SourceTree(source.path, taken or {}).user_module(source, inside)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A module whose imports are not followed yet, with the mappings that following them fills."""

    module: Module
    #: Every binding of each global name, in source order.
    bound: Mapping[str, list[Binding]]
    aliases: dict[str, str]
    imported: dict[str, Meaning]
    forms: dict[str, Forms]


#: What the decorators of a module are, by the way they are written there, given its tree, names and bindings.
Decorating = Callable[[ast.Module, Names, Mapping[str, list[Binding]]], Mapping[str, str]]


def parse_alone(
    source: SourceFile, importable: Importable, decorating: Decorating, inside: int | None = None
) -> Parsed:
    """The module, or what a function in it sees, without imports but for those of decorators.

    Raises Decline TLX101 if it does not parse.
    """
    try:
        tree = ast.parse(source.text, filename=source.path)
    except (RecursionError, MemoryError):
        raise Decline("TLX101", None, why=f"{NESTED}, deeper than Python's parser goes") from None
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        column = max(0, (getattr(error, "offset", None) or 1) - 1)
        raise Decline("TLX101", Span(line, column, line, column + 1), why=getattr(error, "msg", str(error))) from None
    chain: Chain = ()
    bound, names = _named(tree, importable)
    decorators = decorating(tree, names, bound)
    if inside is not None:
        chain = makers(tree, Names({**names.aliases, **decorators}))[inside]
        tree = opened(tree, chain)
        bound, names = _named(tree, importable)
    aliases = dict(names.aliases)
    names = Names(aliases)
    constants: dict[str, object] = {}
    spans: dict[str, Span] = {}
    helpers: dict[str, Helper] = {}
    imported: dict[str, Meaning] = {}
    forms: dict[str, Forms] = {}
    inner = Span.of(chain[-1]) if chain else None
    shadowed: list[Helper] = []
    module = Module(source, names, helpers, constants, spans, tree, imported, forms, inner, shadowed)
    for name in [name for name, found in bound.items() if found[0].chosen and name in aliases]:
        del aliases[name]
        imported[name] = Unresolved(CHOSEN)
    aliases.update(decorators)
    for name, found in bound.items():
        functions = [helper for one in found if (helper := helper_of(one, bound, module)) is not None]
        if functions:
            helpers[name] = functions[-1]
            shadowed += functions[:-1]
            if not _defined_once(found):
                imported[name] = Unresolved(SEVERAL)
        elif (literal := _only_literal(found, names)) is not None:
            constants[name] = literal
            spans[name] = Span.of(found[0].statement)
    imported.update((name, Unresolved(ARGUMENT)) for function in chain for name in arguments(function))
    return Parsed(module, bound, aliases, imported, forms)


def _named(tree: ast.Module, importable: Importable) -> tuple[dict[str, list[Binding]], Names]:
    """What binds each global name of a module, and what it calls Triton's."""
    bound, names = by_name(tree, importable), collect_names(tree)
    return bound, Names({**names.aliases, **_own_aliases(names, bound)})


def nested(tree: ast.AST) -> bool:
    """Whether a tree is so deep that walking it ends Python's recursion, for which no fault of ours is needed."""
    layer: list[ast.AST] = [tree]
    for _ in range(LEVELS):
        layer = [child for node in layer for child in ast.iter_child_nodes(node)]
    return bool(layer)


def literal_value(node: ast.expr | None, names: Names) -> object:
    """A literal int, float, bool or str, also wrapped in `tl.constexpr(…)`; None for anything else."""
    match node:
        case ast.Constant(value=int() | float() | bool() | str() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.Call(func=func, args=[inner], keywords=[]) if names.canonical(func) == "triton.language.constexpr":
            return literal_value(inner, names)
        case _:
            return None


def _only_literal(found: list[Binding], names: Names) -> object:
    """The literal that a name is surely and only bound to; None if there is none."""
    only = found[0]
    return (
        literal_value(only.what, names)
        if len(found) == 1 and only.certain and isinstance(only.what, ast.expr)
        else None
    )


def _defined_once(found: list[Binding]) -> bool:
    """Whether one statement binds the name. One that then wraps it, `f = cached(f)`, is no definition of its own."""
    return all(
        isinstance(one.what, ast.expr) and any(isinstance(n, ast.Name) and n.id == one.name for n in ast.walk(one.what))
        for one in found[1:]
    )


def _own_aliases(names: Names, bound: Mapping[str, list[Binding]]) -> dict[str, str]:
    """`exp = tl.exp` names a function of Triton's just as an import would, if it is the only binding."""
    aliases = {}
    for name, found in bound.items():
        if len(found) == 1 and found[0].certain and isinstance(found[0].what, ast.Attribute | ast.Name):
            known = names.canonical(found[0].what)
            if known is not None and known.startswith("triton.") and name not in names.aliases:
                aliases[name] = known
    return aliases
