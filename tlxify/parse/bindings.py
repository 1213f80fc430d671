"""What binds each global name of a module, with the arms of conditions that can be settled by reading.

Settled are literal tests, `TYPE_CHECKING`, and comparisons of `os.environ.get(…)` or `os.getenv(…)` with a literal: the
variable counts as unset. So are questions whether `triton.language` has a name, where every supported release answers
alike. Of `try: import …` with `except ImportError`, the `try` holds if it imports what is there.
Everything else leaves both arms possible.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ..model import Names
from .names import collect_names

_FAILED_IMPORTS = frozenset(("ImportError", "ModuleNotFoundError"))
_MISSING = object()
#: Packages whose names are known; their files are never read.
EXTERNAL = ("triton", "tlx")
#: Names that programs ask `triton.language` for, and whether it has them: the same in every supported release.
IN_LANGUAGE = {
    "make_tensor_descriptor": True,
    "gather": True,
    "dot_scaled": True,
    "_experimental_make_tensor_descriptor": False,
    "_experimental_descriptor_load": False,
}


@dataclass(frozen=True, slots=True)
class Import:
    """`from module import leaf`, or `import module` where `leaf` is None; `level` counts leading dots."""

    module: str
    level: int
    leaf: str | None


#: What is bound; None for everything that is not followed.
What = ast.FunctionDef | ast.expr | Import | None


@dataclass(frozen=True, slots=True)
class Binding:
    """One statement that binds a global name."""

    name: str
    statement: ast.stmt
    #: The function, the assigned expression or the import.
    what: What
    #: Whether the statement is reached whenever the module is imported.
    certain: bool
    #: Whether another run of the program may bind the name in another way.
    chosen: bool


#: Whether an import statement finds its module.
Importable = Callable[[ast.Import | ast.ImportFrom], bool]


def bindings(tree: ast.Module, importable: Importable) -> Iterator[Binding]:
    """The bindings of global names in source order. An arm that does not hold binds only what nothing else does."""
    others: list[ast.stmt] = []
    known = collect_names(tree)
    held = list(_reached(tree.body, importable, known, others, True))
    # Arms inside of these are added to the list while it is walked.
    left_out = [statement for statement, _ in _reached(others, importable, known, others, False)]
    elsewhere = {name for statement in left_out for name, what in bound_by(statement) if _means_something(what)}
    names = set()
    for statement, certain in held:
        for name, what in bound_by(statement):
            names.add(name)
            yield Binding(name, statement, what, certain, name in elsewhere)
    for statement in left_out:
        for name, what in bound_by(statement):
            if name not in names:
                yield Binding(name, statement, what, False, True)


def by_name(tree: ast.Module, importable: Importable) -> dict[str, list[Binding]]:
    """The bindings of each global name, in source order."""
    found: dict[str, list[Binding]] = {}
    for binding in bindings(tree, importable):
        found.setdefault(binding.name, []).append(binding)
    return found


def _reached(
    body: Iterable[ast.stmt], importable: Importable, names: Names, others: list[ast.stmt], certain: bool
) -> Iterator[tuple[ast.stmt, bool]]:
    """The simple statements and definitions that run at import, each with whether it surely does.

    What may run in place of them goes to `others`.
    """
    for statement in body:
        match statement:
            case ast.If(test=test, body=first, orelse=second):
                if (known := settled(test, names)) is not None:
                    yield from _reached(first if known else second, importable, names, others, certain)
                elif (known := unset(test)) is not None:
                    others += second if known else first
                    yield from _reached(first if known else second, importable, names, others, certain)
                else:
                    yield from _reached([*first, *second], importable, names, others, False)
            case ast.Try(body=first, handlers=handlers, orelse=second, finalbody=last):
                caught = [inner for handler in handlers for inner in handler.body]
                if _guards_imports(statement) and _imports_all(first, importable):
                    # Without Triton no kernel runs at all: what stands in for it is no other meaning.
                    others += [] if _imports_all(first, of_triton) else caught
                    yield from _reached([*first, *second], importable, names, others, certain)
                else:
                    yield from _reached([*first, *caught, *second], importable, names, others, certain and not handlers)
                yield from _reached(last, importable, names, others, certain)
            case ast.With(body=inner):
                yield from _reached(inner, importable, names, others, False)
            case _:
                yield statement, certain


def settled(test: ast.expr, names: Names) -> bool | None:
    """The truth of a test that is the same in every run."""
    match test:
        case ast.Call(func=ast.Name(id="hasattr"), args=[module, ast.Constant(value=str() as name)], keywords=[]):
            return IN_LANGUAGE.get(name) if names.canonical(module) == "triton.language" else None
        case ast.Constant(value=value):
            return bool(value)
        case ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"):
            return False
    return None


def unset(test: ast.expr) -> bool | None:
    """The truth of a comparison with an environment variable where that is not set."""
    match test:
        case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=right)]):
            value = _asked(left)
            if value is _MISSING:
                return None
            match op:
                case ast.Eq():
                    return bool(value == right)
                case ast.NotEq():
                    return bool(value != right)
                case ast.Is() if right is None:
                    return value is None
                case ast.IsNot() if right is None:
                    return value is not None
    return None


def _asked(node: ast.expr) -> object:
    """What asking for an environment variable gives where it is not set."""
    match node:
        case ast.Call(func=ast.Attribute() as function, args=[ast.Constant(value=str())], keywords=[]):
            default: object = None
        case ast.Call(
            func=ast.Attribute() as function,
            args=[ast.Constant(value=str()), ast.Constant(value=str() | None as given)],
            keywords=[],
        ):
            default = given
        case _:
            return _MISSING
    return default if ast.unparse(function) in ("os.environ.get", "os.getenv") else _MISSING


def _guards_imports(statement: ast.Try) -> bool:
    names: set[str] = set()
    for handler in statement.handlers:
        caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        names |= {item.id if isinstance(item, ast.Name) else "" for item in caught}
    return bool(names) and names <= _FAILED_IMPORTS


def _imports_all(body: list[ast.stmt], importable: Importable) -> bool:
    return all(isinstance(s, ast.Import | ast.ImportFrom) and importable(s) for s in body)


def of_triton(statement: ast.Import | ast.ImportFrom) -> bool:
    """Whether an import statement is of Triton's modules alone."""
    if isinstance(statement, ast.Import):
        modules = [alias.name for alias in statement.names]
    else:
        modules = [statement.module or ""] if statement.level == 0 else [""]
    return all(module.partition(".")[0] in EXTERNAL for module in modules)


def _means_something(what: What) -> bool:
    """Whether a kernel could read it: `tl = None`, where Triton is missing, is not meant to be used."""
    return what is not None and not (isinstance(what, ast.Constant) and what.value is None)


def bound_by(statement: ast.stmt) -> Iterator[tuple[str, What]]:
    """The names that one statement binds, and to what."""
    match statement:
        case ast.FunctionDef(name=name):
            yield name, statement
        case ast.ClassDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name, None
        case ast.Import(names=names):
            for alias in names:
                target = alias.name if alias.asname else alias.name.partition(".")[0]
                yield alias.asname or target, Import(target, 0, None)
        case ast.ImportFrom(names=names, module=module, level=level):
            for alias in names:
                if alias.name != "*":
                    yield alias.asname or alias.name, Import(module or "", level, alias.name)
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=value):
            if value is not None:
                yield name, value
        case _:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                    yield node.id, None
