"""Our TLX as Meta's compilers read it: the same text, other imports; and single kernels as modules of their own."""

from __future__ import annotations

import ast
import builtins
import inspect
import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import triton.language as tl
from triton.runtime.jit import JITFunction

FORK = "triton.language.extra.tlx"
#: module of the fork → what it defines
MODULES: dict[str, list[str]] = json.loads(
    (Path(__file__).resolve().parent.parent / "tests/tlx/signatures.json").read_text()
)["modules"]


class Unportable(Exception):
    """A kernel needs something that cannot be written down beside it."""


def swapped(text: str) -> str:
    """A whole file for Meta's compilers."""
    text = re.sub(r"^import tlx$", f"import {FORK} as tlx", text, flags=re.MULTILINE)
    # The guard against other packages called tlx.
    text = re.sub(r"^if not hasattr\(tlx, \"specialized\"\):\n    raise .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^from \.(\w+) import", r"from \1 import", text, flags=re.MULTILINE)
    text = text.replace("@tlx.jit", "@triton.jit")
    added = [] if re.search(r"^import triton$", text, re.MULTILINE) else ["import triton"]
    if "tlx.get_bufidx_phase" in text:
        # A function of a module that Meta's package does not import by itself.
        added.append(f"from {FORK}.warp_spec import get_bufidx_phase")
        text = text.replace("tlx.get_bufidx_phase", "get_bufidx_phase")
    return text.replace("\nimport ", "\n" + "\n".join([*added, "import "]), 1)


def extracted(kernel: JITFunction) -> str:
    """One kernel with all it names, as a file like those that ``swapped`` takes.

    Raises:
        Unportable: it names something else than Triton's and our modules, jit functions and constants.
    """
    lines: dict[str, str] = {}
    _collect(kernel, lines, set())
    imports = sorted(line for line in lines.values() if line.startswith(("import ", "from ")))
    rest = [line for line in lines.values() if line not in imports]
    own = {"import triton", "import triton.language as tl", "import tlx"}
    head = ["", *sorted(own | set(imports), key=lambda line: ("tlx" in line, line)), "", ""]
    return "\n".join([*head, "\n\n\n".join(rest), ""])


def _collect(function: JITFunction, lines: dict[str, str], seen: set[int]) -> None:
    """Adds the text of a function after that of everything it names: name → lines that bind it."""
    seen.add(id(function))
    text, tree = _definition(function)
    scope = {**vars(builtins), **function.fn.__globals__, **inspect.getclosurevars(function.fn).nonlocals}
    for name in _free(tree):
        if name not in scope:
            continue
        value = scope[name]
        if isinstance(value, JITFunction) and not (value.fn.__module__ or "").startswith(("tlx.", "triton.")):
            if id(value) not in seen:
                _collect(value, lines, seen)
            if value.__name__ != name:
                lines[name] = f"{name} = {value.__name__}"
        elif name not in vars(builtins) or value is not vars(builtins)[name]:
            line = _bound(name, value)
            if lines.setdefault(name, line) != line:
                raise Unportable(f"{name} is two things")
    if lines.setdefault(function.__name__, text) != text:
        raise Unportable(f"{function.__name__} is two functions")


def _definition(function: JITFunction) -> tuple[str, ast.FunctionDef]:
    """Source and syntax of a function, under the plain decorator."""
    text = textwrap.dedent(inspect.getsource(function.fn))
    tree = ast.parse(text).body[0]
    assert isinstance(tree, ast.FunctionDef)
    body = "\n".join(text.splitlines()[tree.lineno - 1 :])
    tree.decorator_list = []
    return "@tlx.jit\n" + body, tree


def _free(tree: ast.FunctionDef) -> Iterator[str]:
    """Names that a function reads and that are not its parameters, in order."""
    own = {argument.arg for argument in (*tree.args.args, *tree.args.kwonlyargs)}
    read = (node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
    yield from dict.fromkeys(name for name in read if name not in own)


def _bound(name: str, value: Any) -> str:
    """The line that gives a name of ours to another compiler."""
    if isinstance(value, ModuleType):
        if value.__name__ == "tlx" or value.__name__.startswith("triton"):
            alias = "" if name == value.__name__ else f" as {name}"
            return f"import {value.__name__}{alias}"
        raise Unportable(f"{name} is the module {value.__name__}")
    if getattr(value, "__module__", "").startswith("tlx."):
        home = next((module for module, names in MODULES.items() if getattr(value, "__name__", None) in names), None)
        if home is None:
            raise Unportable(f"{name} is our {value}, which Meta's TLX has not")
        return f"from {FORK}.{home} import {value.__name__} as {name}"
    return f"{name} = {_constant(name, value)}"


def _constant(name: str, value: Any) -> str:
    inner = value.value if isinstance(value, tl.constexpr) else value
    if isinstance(inner, tl.dtype) and re.fullmatch(r"[a-z]+\w*", inner.name):
        shown = next((key for key, known in vars(tl).items() if known is inner), None)
        if shown is not None:
            return f"tl.constexpr(tl.{shown})"
    if isinstance(inner, bool | int | float | str | None):
        return f"tl.constexpr({inner!r})"
    raise Unportable(f"{name} is {value!r}")
