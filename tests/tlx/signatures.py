"""How Meta's TLX spells its public names: read from an installed fbtriton, and kept in ``signatures.json``.

    python tests/tlx/signatures.py          # by the fork's own Python: 1 if the kept facts are no longer its
    python tests/tlx/signatures.py --write  # keep them anew

What the compiler passes by itself (``_semantic`` ...) is left out.
Nothing of ours is imported: the fork's Python runs this.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

KEPT = Path(__file__).with_name("signatures.json")
FORK = "triton.language.extra.tlx"
#: what the compiler passes
PASSED = ("_semantic", "_generator", "_builder")


def default(value: Any) -> str:
    """A default as text: constants by what they stand for, empty sequences alike."""
    value = value.value if type(value).__name__ == "constexpr" else value
    if isinstance(value, list | tuple) and not value:
        return "()"
    return str(value) if type(value).__module__ != "builtins" else repr(value)


def spelled(function: Callable[..., Any]) -> str | None:
    """The parameters of a function, jit function or class, or None where Python knows none."""
    try:
        listed = inspect.signature(getattr(function, "fn", function)).parameters.values()
    except (TypeError, ValueError):
        return None
    words: list[str] = []
    for p in listed:
        if p.name in PASSED:
            continue
        if p.kind is p.KEYWORD_ONLY and not any(word.startswith("*") for word in words):
            words.append("*")
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        words.append(star + p.name + ("" if p.default is p.empty else f"={default(p.default)}"))
    return ", ".join(words)


def facts() -> dict[str, Any]:
    """The public names and the modules of the TLX that this Python has."""
    package = import_module(FORK)
    public = [name for name in package.__all__ if hasattr(package, name)]
    modules = [path.stem for path in Path(package.__path__[0]).glob("[!_]*.py")]
    return {
        "version": metadata.version("fbtriton"),
        # Some of it is exported and not defined.
        "undefined": sorted(set(package.__all__) - set(public)),
        "names": {
            name: spelled(getattr(package, name)) if callable(getattr(package, name)) else None
            for name in sorted(public)
        },
        # Other ways to make an object of a class than to call it.
        "makers": {
            f"{name}.{key}": spelled(getattr(package, name).__dict__[key].__func__)
            for name in sorted(public)
            if inspect.isclass(getattr(package, name))
            for key, value in sorted(vars(getattr(package, name)).items())
            if isinstance(value, classmethod | staticmethod) and not key.startswith("_")
        },
        "modules": {name: _own(f"{FORK}.{name}") for name in sorted(modules)},
    }


def _own(name: str) -> list[str]:
    """What a module of the fork defines."""
    held = vars(import_module(name)).items()
    return sorted(key for key, value in held if getattr(value, "__module__", None) == name)


def main(words: list[str]) -> int:
    """Returns the exit status."""
    found = facts()
    if words == ["--write"]:
        KEPT.write_text(json.dumps(found, indent=1) + "\n")
        return 0
    kept = json.loads(KEPT.read_text())
    wrong = [
        f"{part}: {name}: {kept[part].get(name)} is kept, {found[part].get(name)} was found"
        for part in ("names", "makers", "modules")
        for name in sorted({*kept[part], *found[part]})
        if kept[part].get(name, ...) != found[part].get(name, ...)
    ]
    print(*wrong, f"fbtriton {found['version']}: {len(found['names'])} names, {len(wrong)} kept wrongly", sep="\n")
    return int(bool(wrong) or kept["version"] != found["version"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
