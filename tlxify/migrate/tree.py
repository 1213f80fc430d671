"""Where conversions go: a converted copy of the tree, or the tree itself. No file is ever seen half written."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..files import FileError, converted_from, reencode, sidecar_of, write_atomic, write_conversion
from .discover import Found
from .record import FileRecord, Texts

#: What a copy leaves out: version control, caches.
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".git", ".hg", ".svn", ".mypy_cache", ".ruff_cache", ".pytest_cache")


def destinations(roots: Sequence[Path], output: Path) -> dict[Path, Path]:
    """Where each PATH's copy goes: one folder becomes `output` itself, several (or files) lie in it by name.

    Raises FileError where two would share a name, or where one lies within the other.
    """
    here = output.resolve()
    for root in roots:
        there = root.resolve()
        if here == there or here.is_relative_to(there) or there.is_relative_to(here):
            raise FileError(f"{output} and {root} overlap; choose a folder outside of what is converted")
    if len(roots) == 1 and roots[0].is_dir():
        return {roots[0]: Path()}
    names = [root.resolve().name for root in roots]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise FileError(f"several PATHs are called {', '.join(twice)}; convert them one at a time")
    return {root: Path(name) for root, name in zip(roots, names, strict=True)}


class Copy:
    """A converted copy that is being made in a folder beside its final place."""

    def __init__(self, roots: Sequence[Path], output: Path, folder: Path) -> None:
        self.output = output
        self.folder = folder
        self.places = destinations(roots, output)
        for root, place in self.places.items():
            if root.is_dir():
                shutil.copytree(root, folder / place, symlinks=True, ignore=_without_specials, dirs_exist_ok=True)
            else:
                shutil.copy2(root, folder / place)

    def write(self, found: Found, texts: Texts) -> Path:
        """Replaces the copy of a file by its conversion, and puts the sidecar beside it; where it will lie."""
        place = self.places[found.root]
        relative = place if found.path == found.root else place / found.path.relative_to(found.root)
        target = self.folder / relative
        sidecar = sidecar_of(target)
        if sidecar.exists() and not converted_from(sidecar, target):
            raise FileError(f"{sidecar.name} lies beside it and was not written by tlxify for it; rename one of them")
        write_atomic(sidecar, texts.sidecar.encode())
        write_atomic(target, reencode(texts.patched, found.path.read_bytes()))
        return self.output / relative


@contextmanager
def copied(roots: Sequence[Path], output: Path) -> Iterator[Copy]:
    """A copy of the trees, which appears as `output` when the context ends well, and not at all otherwise.

    Raises FileError if `output` holds anything already, or cannot be written.
    """
    with _writing(output):
        if output.exists() and (not output.is_dir() or any(output.iterdir())):
            raise FileError(f"{output} is not an empty folder; what is in it would be mixed with the conversion")
        destinations(roots, output)
        output.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{output.name[:100]}.", dir=output.parent))
    try:
        with _writing(output):
            copy = Copy(roots, output, folder)
        yield copy
        with _writing(output):
            folder.chmod(0o755)
            if output.exists():
                output.rmdir()
            os.replace(folder, output)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _writing(output: Path) -> Iterator[None]:
    """Turns what the system has against writing there into a FileError with something to do."""
    try:
        yield
    except shutil.Error as error:  # of a whole tree: a triple for each file
        first = error.args[0][0]
        raise FileError(f"cannot copy {first[0]} into {output}: {first[2]}") from error
    except OSError as error:
        why = error.strerror or error
        raise FileError(f"cannot write {output}: {why}; choose a folder that can be written") from error


def write_in_place(record: FileRecord) -> Path:
    """Binds a file's conversion where it is, with a backup, as `convert --write` does. Raises FileError."""
    assert record.texts is not None
    texts = record.texts
    return write_conversion(Path(record.file), texts.original, texts.patched, texts.sidecar).source


def _without_specials(folder: str, names: list[str]) -> set[str]:
    """What a copy leaves out: noise, and pipes and devices, which cannot be copied."""
    left = set(LEFT_OUT(folder, names))
    for name in names:
        path = Path(folder, name)
        if not (path.is_file() or path.is_dir() or path.is_symlink()):
            left.add(name)
    return left
