"""How long lines may be in the user's project, so that generated code follows suit."""

from __future__ import annotations

import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: black's default, where a project says nothing.
DEFAULT = 88


def line_length(path: Path) -> int:
    """The line length that the nearest `pyproject.toml` above `path` sets for black or ruff; 88 where none does."""
    for folder in path.resolve().parents:
        project = folder / "pyproject.toml"
        if not project.is_file():
            continue
        try:
            tools = tomllib.loads(project.read_text(encoding="utf-8")).get("tool", {})
        except (OSError, ValueError):
            return DEFAULT
        for tool in ("black", "ruff"):
            length = tools.get(tool, {}).get("line-length")
            if isinstance(length, int):
                return length
        return DEFAULT
    return DEFAULT
