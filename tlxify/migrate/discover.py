"""Which files of a tree are worth reading: Python sources that a person wrote and that mention Triton."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..files import SIDECAR

#: Folders that hold what tools made. Hidden ones (`.git`, `.venv`, `.tox`) are left out as well.
NOISE = frozenset({"__pycache__", "build", "node_modules", "site-packages"})
#: A folder with this file is a virtual environment.
ENVIRONMENT = "pyvenv.cfg"
#: Without this word in its text a file has no kernel (measured: reading costs a hundredth of parsing).
WORD = b"triton"


@dataclass(frozen=True, slots=True)
class Found:
    """A file to convert, and the PATH of the command line under which it was found."""

    path: Path
    root: Path


def discover(paths: Iterable[Path], word: bytes = WORD) -> tuple[Found, ...]:
    """Candidates below `paths` in a stable order, each once. In folders those that have the `word` in their text.

    Symbolic links are not followed: what they point to is in the tree already, is not part of it, or is a loop.
    Whatever is no regular file is left out, since reading a pipe never ends. A file that cannot be opened is kept, so
    that it is reported. A PATH that names a file is taken as it is.
    """
    found: dict[str, Found] = {}
    for root in paths:
        for path in [root] if not root.is_dir() else _sources(root, word):
            found.setdefault(os.path.realpath(path), Found(path, root))
    return tuple(found.values())


def _sources(folder: Path, word: bytes) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        here = Path(parent)
        folders[:] = sorted(name for name in folders if not _noise(here / name))
        for name in sorted(names):
            if name.endswith(".py") and not name.endswith(SIDECAR) and not name.startswith("."):
                path = here / name
                if stat.S_ISREG(path.lstat().st_mode) and _mentions(path, word):
                    yield path


def _noise(folder: Path) -> bool:
    return folder.name.startswith(".") or folder.name in NOISE or (folder / ENVIRONMENT).exists()


def _mentions(path: Path, word: bytes) -> bool:
    try:
        return not word or word in path.read_bytes()
    except OSError:
        return True
