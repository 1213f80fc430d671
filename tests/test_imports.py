"""The import rules of the architecture, read off the syntax trees: also imports inside functions count."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

#: Values that travel between the stages, one file each. They may see each other.
NOUNS = frozenset(
    f"tlxify.{name}"
    for name in (
        *("source", "contract", "model", "facts", "limit", "plan", "poly", "starts", "verdict"),
        *("conversion", "outcome", "diagnostics", "catalogue", "suppress", "slice", "fingerprint", "reach"),
    )
)

#: Folder → what it may import from the two packages. A prefix covers everything below it.
ALLOWED = {
    "tlxify.catalogue": frozenset(),
    "tlxify.parse": NOUNS,
    "tlxify.inline": NOUNS | {"tlxify.parse"},
    "tlxify.analyses": NOUNS | {"tlxify.parse"},
    "tlxify.targets": NOUNS,
    "tlxify.schedules": (NOUNS - {"tlxify.model"}) | {"tlxify.targets"},
    "tlxify.rewrites": NOUNS,
    "tlxify.verify": NOUNS | {"tlx"},
    # It runs in other people's environments, where there may be no tlxify.
    "tlxify.capture.inside": frozenset(),
    "tlxify.render": NOUNS
    | {"tlxify.doctor", "tlxify.migrate.record", "tlxify.migrate.report"}
    | {"tlxify.bench.figures", "tlxify.bench.report", "tlxify.capture.launches", "tlxify.capture.profile"},
    "tlx.lowering": frozenset({"tlx"}),
    "tlx.sim": frozenset({"tlx"}),
    "tlx": frozenset({"tlx"}),
}
#: What a folder may not import although its row above covers it.
FORBIDDEN = {"tlx.lowering": ("tlx.sim",), "tlx.sim": ("tlx.lowering",)}
#: Schedules decide on facts; they see no syntax.
SYNTAX = ("ast", "libcst")
#: Heavy or optional packages: never at module level in tlxify, so that converting needs none of them.
HEAVY = ("triton", "torch", "numpy", "ml_dtypes", "greenlet", "hypothesis", "tlx")
#: What must be importable without them; whatever else of verify these do not import runs in a child process.
ENTRIES = ("tlxify.verify", "tlxify.verify.protocol")


@dataclass(frozen=True)
class Import:
    """One imported module, and whether importing the file imports it."""

    importer: str
    imported: str
    line: int
    at_import: bool

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.imported}"


def within(module: str, prefix: str) -> bool:
    return module == prefix or module.startswith(prefix + ".")


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(name: str, is_package: bool, text: str, known: frozenset[str] = frozenset()) -> Iterator[Import]:
    """Every import of a module, relative ones resolved; `from package import module` counts as the module."""

    def visit(node: ast.AST, at_import: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            inner = at_import and not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                yield from (Import(i.importer, i.imported, i.line, False) for i in visit(child, at_import))
                continue
            if isinstance(child, ast.Import):
                yield from (Import(name, alias.name, child.lineno, at_import) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                base = child.module or ""
                if child.level:
                    parts = name.split(".")
                    parts = parts[: len(parts) - child.level + is_package]
                    base = ".".join([*parts, *filter(None, [child.module])])
                for alias in child.names:
                    full = f"{base}.{alias.name}"
                    yield Import(name, full if full in known else base, child.lineno, at_import)
            yield from visit(child, inner)

    yield from visit(ast.parse(text), True)


FILES = {module_name(path): path for package in ("tlx", "tlxify") for path in (ROOT / package).rglob("*.py")}
IMPORTS = [
    found
    for name, path in sorted(FILES.items())
    for found in imports_of(name, path.name == "__init__.py", path.read_text(encoding="utf-8"), frozenset(FILES))
]


def loaded_by(entries: Iterable[str]) -> frozenset[str]:
    """The modules of tlxify that importing `entries` imports, packages above them included."""
    seen: set[str] = set()
    waiting = list(entries)
    while waiting:
        module = waiting.pop()
        if module in FILES and module not in seen:
            seen.add(module)
            waiting += [
                module.rpartition(".")[0],
                *(i.imported for i in IMPORTS if i.importer == module and i.at_import),
            ]
    return frozenset(seen)


#: Modules of verify that run only in a child process, in an environment that has everything.
CHILD_SIDE = {name for name in FILES if within(name, "tlxify.verify")} - loaded_by(ENTRIES)


def violations(found: Import) -> Iterator[str]:
    """The rules that one import breaks."""
    folder = next((folder for folder in ALLOWED if within(found.importer, folder)), None)
    ours = within(found.imported, "tlx") or within(found.imported, "tlxify")
    if found.importer in NOUNS and ours and not any(within(found.imported, noun) for noun in NOUNS | {found.importer}):
        yield f"{found}: the values between stages import nothing from the folders"
    if folder and ours and not within(found.imported, folder):
        allowed = any(within(found.imported, prefix) for prefix in ALLOWED[folder])
        if not allowed or any(within(found.imported, prefix) for prefix in FORBIDDEN.get(folder, ())):
            yield f"{found}: {folder} may import {sorted(ALLOWED[folder])} but {FORBIDDEN.get(folder, ())}"
    if folder == "tlxify.schedules" and any(within(found.imported, module) for module in SYNTAX):
        yield f"{found}: schedules see no syntax"
    heavy = found.at_import and any(within(found.imported, package) for package in HEAVY)
    if heavy and within(found.importer, "tlxify") and found.importer not in CHILD_SIDE:
        yield f"{found} when it is imported itself: import it where it is used"


def test_the_rules_of_the_architecture_hold() -> None:
    assert len(IMPORTS) > 100, "hardly any import was found: this test looks at the wrong files"
    broken = [text for found in IMPORTS for text in violations(found)]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize(
    ("importer", "text"),
    [
        ("tlxify.plan", "from .rewrites import emit"),
        ("tlxify.facts", "from tlxify.analyses.axes import Axes"),
        ("tlxify.analyses.axes", "def f():\n    from ..schedules import cooperative"),
        ("tlxify.schedules.persistent", "import ast"),
        ("tlxify.schedules.persistent", "from tlxify.model import Kernel"),
        ("tlxify.rewrites.emit", "from tlxify import analyses"),
        ("tlxify.verify.protocol", "def f():\n    import tlxify.rewrites.emit"),
        ("tlxify.verify", "import numpy as np"),
        ("tlxify.verify.protocol", "import triton"),
        ("tlxify.source", "try:\n    import torch\nexcept ImportError:\n    pass"),
        ("tlxify.render.roles", "from tlxify.pipeline import convert"),
        ("tlx.launch.proxy", "from tlxify.source import Span"),
        ("tlx.sim.memory", "from tlx.lowering import jit"),
        ("tlx.lowering.jit", "from .. import sim"),
    ],
)
def test_a_breach_is_seen(importer: str, text: str) -> None:
    known = frozenset(FILES) | {"tlxify.analyses", "tlxify.schedules", "tlx.sim"}
    assert [message for found in imports_of(importer, False, text, known) for message in violations(found)]


@pytest.mark.parametrize(
    ("importer", "text"),
    [
        ("tlxify.verify.inputs", "def f():\n    import numpy, tlx.sim"),
        ("tlxify.outcome", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .plan import Plan"),
        ("tlxify.schedules.persistent", "from ..targets import hopper"),
        ("tlx.sim.memory", "import numpy\nfrom ..types import mbarrier"),
    ],
)
def test_what_is_allowed_passes(importer: str, text: str) -> None:
    assert not [message for found in imports_of(importer, False, text) for message in violations(found)]


def test_only_the_command_line_prints_or_exits() -> None:
    found = []
    for name, path in FILES.items():
        if within(name, "tlxify") and name != "tlxify.cli" and name not in CHILD_SIDE:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and ast.unparse(node.func) in ("print", "exit", "sys.exit", "os._exit"):
                    found.append(f"{name}:{node.lineno} calls {ast.unparse(node.func)}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("module", ["tlxify", "tlxify.cli", "tlxify.doctor", "tlxify.verify", "tlxify.limits.launch"])
def test_importing_needs_neither_triton_nor_torch_nor_numpy(module: str) -> None:
    code = f"import sys, {module}\nprint(*sorted({set(HEAVY)!r} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert result.stdout.split() == []
