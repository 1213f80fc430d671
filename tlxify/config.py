"""`[tool.tlxify]` of the nearest pyproject.toml: what a project says of its kernels."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class ConfigError(Exception):
    """A pyproject.toml says something that tlxify cannot act on. The text names file, key, and what is allowed."""


@dataclass(frozen=True, slots=True)
class Contracts:
    """What the project says of the kernels of one file."""

    #: The pyproject.toml; None where there is none.
    project: Path | None
    #: The file as the project names it: with slashes, counted from the project's folder.
    file: str
    #: Kernel → parameter (or `grid`, `configs` …) → text.
    entries: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    def of(self, kernel: str) -> Mapping[str, object]:
        """The entries of one kernel."""
        return self.entries.get(kernel, {})

    def error(self, kernel: str, why: object) -> ConfigError:
        """What is wrong with an entry of a kernel; where no project says it, a call did."""
        if self.project is None:
            return ConfigError(f"the contract of {self.file}::{kernel}: {why}")
        return ConfigError(f'{self.project}: [tool.tlxify.contracts."{self.file}::{kernel}"] {why}')


#: Whose tiles are tried: the source's alone, or some of ours besides.
TILES = ("own", "user")


def tiles_of(path: Path) -> str:
    """What `tiles` in the nearest pyproject.toml above a file says; "own" where nothing does. Raises ConfigError."""
    project = _project(path.resolve())
    found = _table(project).get("tiles", TILES[0]) if project is not None else TILES[0]
    if found not in TILES:
        raise ConfigError(f"{project}: tool.tlxify.tiles is {found!r}; allowed: {', '.join(map(repr, TILES))}")
    return str(found)


def _project(path: Path) -> Path | None:
    return next((p for folder in path.parents if (p := folder / "pyproject.toml").is_file()), None)


def _table(project: Path) -> Mapping[str, object]:
    """[tool.tlxify] of a pyproject.toml. Raises ConfigError."""
    try:
        text = project.read_text(encoding="utf-8")
        if "tlxify" not in text:
            return {}
        table = tomllib.loads(text).get("tool", {}).get("tlxify", {})
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read {project}: {error}") from error
    return table if isinstance(table, dict) else {}


def contracts_of(path: Path) -> Contracts:
    """What the nearest pyproject.toml above a file says of its kernels. Raises ConfigError."""
    path = path.resolve()
    project = _project(path)
    if project is None:
        return Contracts(None, path.name)
    file = path.relative_to(project.parent).as_posix()
    return Contracts(
        project, file, {kernel: entries for name, kernel, entries in _named(project, file) if name == file}
    )


def _named(project: Path, example: str) -> Iterator[tuple[str, str, Mapping[str, object]]]:
    """The tables of all files: file, kernel and entries. Raises ConfigError, with `example` as the file's name."""
    contracts = _table(project).get("contracts", {})
    if not isinstance(contracts, dict):
        raise ConfigError(
            f'{project}: tool.tlxify.contracts is no table; allowed: [tool.tlxify.contracts."file::kernel"]'
        )
    for key, entries in contracts.items():
        name, separator, kernel = key.rpartition("::")
        if not separator or not isinstance(entries, dict):
            allowed = f'a table by the name of a file and a kernel in it, as in "{example}::kernel"'
            raise ConfigError(f"{project}: tool.tlxify.contracts has {key!r}; allowed: {allowed}")
        yield name, kernel, entries


def unused(path: Path) -> tuple[str, ...]:
    """Tables of the file's project that nobody ever reads, each with why: a name in them is misspelt, or is gone.

    Raises ConfigError.
    """
    path = path.resolve()
    project = _project(path)
    if project is None:
        return ()
    file = path.relative_to(project.parent).as_posix()
    found = []
    for name, kernel, _ in _named(project, file):
        table = f'{project}: [tool.tlxify.contracts."{name}::{kernel}"] says nothing: '
        if name == file and kernel not in (known := _functions(path)):
            found.append(f"{table}{name} has no {kernel}; it has {', '.join(known) or 'no functions'}")
        elif not (project.parent / name).is_file():
            found.append(f"{table}there is no {name} in {project.parent}")
    return tuple(found)


def _functions(path: Path) -> tuple[str, ...]:
    """Names that a file gives to functions, or to what may be one: `kernel = triton.jit(function)`."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):
        return ()
    functions = (node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    bound = (
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        for target in node.targets
        if isinstance(target, ast.Name)
    )
    return tuple(dict.fromkeys((*functions, *bound)))
