"""The rules of TLX and the tests that hold them, read from rules.toml. Neither Triton nor the tests are imported."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TABLE = HERE / "rules.toml"
BEHAVIOUR = HERE / "behaviour"


class UnknownTestError(ValueError):
    """A rule names a test that is not there."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One promise."""

    family: str
    says: str
    #: public names of tlx that it is about
    names: tuple[str, ...]
    #: as rules.toml explains
    tests: tuple[str, ...]

    @property
    def runs(self) -> bool:
        """Whether a kernel whose answer depends on it runs on a Hopper."""
        return any(": " in test for test in self.tests)


def rules() -> tuple[Rule, ...]:
    """All of them, in the table's order."""
    found = tomllib.loads(TABLE.read_text(encoding="utf-8"))["rule"]
    return tuple(Rule(row["family"], row["says"], tuple(row["names"]), tuple(row["tests"])) for row in found)


def text_of(test: str) -> str:
    """The source of a test with all that it uses of the tests' own modules: kernels, helpers, tables.

    Raises:
        UnknownTestError: there is no such test.
    """
    if ": " in test:
        module, name = test.split(": ", 1)
        path, start = BEHAVIOUR / f"{module}.py", _case(BEHAVIOUR / f"{module}.py", name)
    elif "::" in test:
        file, function = test.split("::")
        path, start = HERE / file, {function}
    else:
        path, start = HERE / test, {"test_found"}
    if not path.is_file() or not start <= _definitions(path).keys():
        raise UnknownTestError(f"{test}: no such test")
    return "\n".join(_reached(path, start))


def _case(path: Path, name: str) -> set[str]:
    """What the entry of ``CASES`` with this name refers to."""
    if path.is_file():
        (table,) = (
            node.value
            for node in ast.parse(path.read_text(encoding="utf-8")).body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict) and _bound(node) == ["CASES"]
        )
        for key, value in zip(table.keys, table.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == name:
                return _names(value) & _definitions(path).keys()
    raise UnknownTestError(f"{path.stem}: {name}: no such case")


@cache
def _definitions(path: Path) -> dict[str, ast.stmt]:
    """Names bound at the top of a module, with the statement that binds them last."""
    found = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        for name in _bound(node):
            found[name] = node
    return found


def _bound(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.ImportFrom):
        return [alias.asname or alias.name for alias in node.names]
    return []


def _names(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _arguments(node: ast.stmt) -> set[str]:
    """Parameters of a function: fixtures of the same module are among them."""
    return {argument.arg for argument in node.args.args} if isinstance(node, ast.FunctionDef) else set()


def _reached(path: Path, start: set[str]) -> Iterator[str]:
    seen: set[tuple[Path, str]] = set()
    ahead = [(path, name) for name in sorted(start)]
    while ahead:
        here, name = ahead.pop()
        if (here, name) in seen or (node := _definitions(here).get(name)) is None:
            continue
        seen.add((here, name))
        if isinstance(node, ast.ImportFrom):
            if (module := _imported(here, node)) is not None:
                original = next(alias.name for alias in node.names if (alias.asname or alias.name) == name)
                ahead.append((module, original))
            continue
        yield ast.unparse(node)
        ahead += [(here, used) for used in sorted(_names(node) | _arguments(node))]


def _imported(here: Path, node: ast.ImportFrom) -> Path | None:
    """The file of the tests that an import reads, or None for anything else."""
    if node.level:
        folder = here.parents[node.level - 1]
    elif (node.module or "").split(".")[0] == "tests":
        folder = ROOT
    else:
        return None
    path = folder.joinpath(*(node.module or "").split(".")).with_suffix(".py")
    return path if path.is_file() else None


def unused(rule: Rule) -> list[str]:
    """Names of a rule that none of its tests uses."""
    texts = "\n".join(text_of(test) for test in rule.tests)
    return [name for name in rule.names if not re.search(rf"\b{name}\b", texts) and not _implied(name, texts)]


def _implied(name: str, texts: str) -> bool:
    """``buf[slot]`` is ``local_view``."""
    return name == "local_view" and "[0]" in texts
