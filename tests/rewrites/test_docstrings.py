"""A rewrite says what it does, why, what the code looks like before and after, and when it is refused."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(path for path in (ROOT / "tlxify" / "rewrites").glob("*.py") if path.name != "__init__.py")
HEADINGS = ["What", "Why", "Before", "After", "When refused"]


def headings(text: str) -> list[str]:
    """The headings of a module's docstring that have words behind them, in order."""
    docstring = ast.get_docstring(ast.parse(text)) or ""
    return re.findall(rf"^({'|'.join(HEADINGS)}): \S", docstring, re.MULTILINE)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_rewrite_has_every_heading_once_and_in_order(path):
    assert headings(path.read_text(encoding="utf-8")) == HEADINGS


EMPTY = '"""What:\nWhy:\nBefore:\nAfter:\nWhen refused:\n"""'


@pytest.mark.parametrize("text", ['"""What: a rewrite."""', "x = 1", EMPTY])
def test_a_missing_heading_is_seen(text):
    assert headings(text) != HEADINGS
