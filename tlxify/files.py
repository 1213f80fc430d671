"""Files on disk: atomic writes, `--write` with its backup, and `revert`, which undoes it byte for byte.

`--write` leaves three files: FILE with the binding lines, FILE's stem + `_tlx.py` with the specialized kernels, and
FILE.orig with the original bytes. The last line of the sidecar records the hashes of FILE before and after, so `revert`
knows whether FILE was edited since and whether FILE.orig is still the original.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import os
import re
import stat
import tempfile
import tokenize
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from .source import LINE

RECORD = re.compile(r"^# tlxify: source sha256 before ([0-9a-f]{64}) after ([0-9a-f]{64})\n?\Z", re.MULTILINE)


class FileError(Exception):
    """The tree is not as tlxify left it, or a file cannot be written. The text says which and what to do."""


@dataclass(frozen=True, slots=True)
class Written:
    """The three files of one `--write`."""

    source: Path

    @property
    def sidecar(self) -> Path:
        """Where the specialized kernels live."""
        return self.source.with_name(f"{self.source.stem}_tlx.py")

    @property
    def backup(self) -> Path:
        """Where the original bytes are kept."""
        return self.source.with_name(f"{self.source.name}.orig")

    @property
    def proofs(self) -> Path:
        """Where it is recorded that the specialized kernels give the source's bits."""
        return proofs_beside(self.sidecar)

    def record(self) -> tuple[str, str] | None:
        """Hashes of the source before and after the last `--write`; None if the sidecar is not ours."""
        try:
            found = RECORD.search(self.sidecar.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            return None
        return (found[1], found[2]) if found else None


def proofs_beside(module: Path) -> Path:
    """Where proofs of bit-equality about a module's kernels lie: the launcher looks there (tlx/launch/proofs.py)."""
    return module.with_name(f"{module.stem}.bitwise.json")


def digest(data: bytes) -> str:
    """The SHA-256 of `data` in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def write_atomic(path: Path, data: bytes) -> None:
    """Replaces `path` by `data` in one step, keeping its permissions. Raises FileError and leaves the old file.

    A symbolic link is refused: replacing it would break it, and following it would write in a folder nobody named.
    """
    if path.is_symlink():
        raise FileError(f"{path} is a symbolic link; name the file it points to")
    if path.exists() and not path.is_file():
        # A device or a pipe is written to; replacing it would take it away from everybody else.
        _write_through(path, data)
        return
    try:
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666 & ~umask()
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(name, mode)
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}") from error


def _write_through(path: Path, data: bytes) -> None:
    try:
        with path.open("wb") as stream:
            stream.write(data)
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}") from error


def umask() -> int:
    """The process's file mode mask, which can be read only by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def reencode(text: str, original: bytes) -> bytes:
    r"""`text` (lines end in \n) as bytes in the encoding of `original`; unchanged lines keep their bytes and ends."""
    encoding, _ = tokenize.detect_encoding(BytesIO(original).readline)
    mark = b"\xef\xbb\xbf" if encoding == "utf-8-sig" else b""
    codec = "utf-8" if encoding == "utf-8-sig" else encoding
    old = LINE.findall(original[len(mark) :].decode(codec))
    ends = [line[len(line.rstrip("\r\n")) :] for line in old]
    usual = max(("\n", "\r\n", "\r"), key=ends.count)
    new = LINE.findall(text)
    plain = [line.rstrip("\r\n") + ("\n" if end else "") for line, end in zip(old, ends, strict=True)]
    lines: list[str] = []
    for kind, i, j, k, m in difflib.SequenceMatcher(None, plain, new, autojunk=False).get_opcodes():
        lines += old[i:j] if kind == "equal" else [line.replace("\n", usual) for line in new[k:m]]
    try:
        return mark + "".join(lines).encode(codec)
    except UnicodeEncodeError as error:
        raise FileError(f"the result cannot be written as {encoding}: {error.reason}") from error


def write_conversion(source: Path, original: str, patched: str, sidecar: str) -> Written:
    """Puts a conversion into the tree: backup first, then the sidecar, then the source.

    `original` is the text of the source without any conversion, which an earlier one on disk may have added to. Raises
    FileError if files that tlxify did not write are in the way; then nothing was changed.
    """
    files = Written(source)
    before = source.read_bytes()
    record = files.record()
    if record is None:
        for path in (files.sidecar, files.backup):
            if path.exists() or path.is_symlink():
                raise FileError(f"{path} exists and was not written by tlxify; move it away")
    for path in (source, files.sidecar, files.backup):
        if path.is_symlink():
            raise FileError(f"{path} is a symbolic link; name the file it points to")
    after = reencode(patched, before)
    if record and record[1] == digest(before) and files.backup.exists():
        kept = files.backup.read_bytes()  # written before and not edited since: the backup is still the original
    else:
        kept = reencode(original, before)
    note = f"# tlxify: source sha256 before {digest(kept)} after {digest(after)}\n"
    for path, data in ((files.backup, kept), (files.sidecar, (sidecar + note).encode()), (source, after)):
        if not path.exists() or path.read_bytes() != data:
            write_atomic(path, data)
    return files


def revert(source: Path, *, force: bool = False) -> Written:
    """Undoes `write_conversion`: the source has its original bytes again, sidecar and backup are gone.

    Raises FileError if there is nothing to undo, or if the source was edited since (unless `force`).
    """
    files = Written(source)
    record = files.record()
    if record is None:
        raise FileError(f"{source} has no conversion to revert: {files.sidecar.name} is missing or not ours")
    try:
        original, current = files.backup.read_bytes(), source.read_bytes()
    except OSError as error:
        raise FileError(f"cannot revert: {error.strerror}: {error.filename}") from error
    if digest(original) != record[0]:
        raise FileError(f"{files.backup} was changed since; it is not the original any more")
    if digest(current) not in record and not force:
        raise FileError(f"{source} was edited since it was converted; --force loses those edits")
    write_atomic(source, original)
    files.sidecar.unlink()
    files.backup.unlink()
    files.proofs.unlink(missing_ok=True)
    return files
