"""Writes the generated pages under docs/: `python docs/generate.py`, or `make docs`."""

from __future__ import annotations

from pathlib import Path

from tlxify.catalogue import CATALOGUE
from tlxify.render.page import index, page

DIAGNOSTICS = Path(__file__).parent / "diagnostics"


def pages() -> dict[Path, str]:
    """Path → text of every generated page."""
    texts = {DIAGNOSTICS / f"{code}.md": page(rule) for code, rule in CATALOGUE.items()}
    return {DIAGNOSTICS / "README.md": index(CATALOGUE.values()), **texts}


def write() -> None:
    """Writes all pages and removes those of codes that are gone."""
    DIAGNOSTICS.mkdir(exist_ok=True)
    current = pages()
    for stale in set(DIAGNOSTICS.glob("*.md")) - current.keys():
        stale.unlink()
    for path, text in current.items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
