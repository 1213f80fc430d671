"""Files on disk: bytes that must survive, and trees that must not be touched."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tlxify import files

TEXT = "a = 1\nb = 2\n"


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        (b"a = 1\r\nb = 2\r\n", "import t\na = 1\nb = 2\n", b"import t\r\na = 1\r\nb = 2\r\n"),
        (b"a = 1\r\nb = 2\nc = 3\r\n", "a = 1\nb = 2\nx = 0\nc = 3\n", b"a = 1\r\nb = 2\nx = 0\r\nc = 3\r\n"),
        (b"\xef\xbb\xbfa = 1\n", "import t\na = 1\n", b"\xef\xbb\xbfimport t\na = 1\n"),
        (
            b"# coding: latin-1\na = '\xe9'\n",
            "# coding: latin-1\na = 'é'\nb = 2\n",
            b"# coding: latin-1\na = '\xe9'\nb = 2\n",
        ),
        (b"a = 1", "a = 1\nb = 2\n", b"a = 1\nb = 2\n"),
        (b"a = '\x0c\xe2\x80\xa8'\n", "a = '\x0c\u2028'\nb = 2\n", b"a = '\x0c\xe2\x80\xa8'\nb = 2\n"),
    ],
    ids=["crlf", "mixed", "bom", "latin-1", "no-last-newline", "odd-separators"],
)
def test_encoding_and_line_ends_are_kept(before: bytes, text: str, after: bytes) -> None:
    assert files.reencode(text, before) == after


def test_text_that_the_encoding_cannot_hold_is_an_error() -> None:
    with pytest.raises(files.FileError, match="iso-8859-1"):
        files.reencode("# coding: latin-1\na = '→'\n", b"# coding: latin-1\n")


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(["a = 1", "é = 2", ""]), st.sampled_from(["\n", "\r\n", "\r"]))))
def test_an_unchanged_text_keeps_every_byte(lines: list[tuple[str, str]]) -> None:
    data = "".join(map("".join, lines)).encode()
    read = data.decode().replace("\r\n", "\n").replace("\r", "\n")
    # "\r" and "\n" of neighbouring lines join to one end, as they do for Python.
    assert files.reencode(read, data) == data


def test_a_write_keeps_permissions_and_leaves_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text("old")
    path.chmod(0o750)
    files.write_atomic(path, b"new")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", 0o750)
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.py"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "replace", full)
    with pytest.raises(files.FileError, match="No space left"):
        files.write_atomic(path, b"new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_symbolic_link_is_neither_broken_nor_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    real = tmp_path / "elsewhere" / "m.py"
    real.write_text(TEXT)
    link = tmp_path / "m.py"
    link.symlink_to(real)
    with pytest.raises(files.FileError, match="symbolic link"):
        files.write_conversion(link, TEXT, TEXT + "x\n", "side\n")
    assert real.read_text() == TEXT
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["elsewhere", "m.py", "m.py"]


@pytest.mark.parametrize("name", ["m_tlx.py", "m.py.orig"])
def test_files_of_others_are_not_overwritten(tmp_path: Path, name: str) -> None:
    source = tmp_path / "m.py"
    source.write_text(TEXT)
    (tmp_path / name).write_text("mine\n")
    with pytest.raises(files.FileError, match="not written by tlxify"):
        files.write_conversion(source, TEXT, TEXT + "x\n", "side\n")
    assert (source.read_text(), (tmp_path / name).read_text()) == (TEXT, "mine\n")


def test_revert_is_byte_for_byte(tmp_path: Path) -> None:
    source = tmp_path / "m.py"
    original = b"\xef\xbb\xbfa = 1\r\nb = 2\nc = 3"
    source.write_bytes(original)
    files.write_conversion(source, "a = 1\nb = 2\nc = 3", "a = 1\nb = 2\nc = 3\nbind()\n", "side\n")
    assert b"bind()" in source.read_bytes()
    files.revert(source)
    assert source.read_bytes() == original
    assert list(tmp_path.iterdir()) == [source]


def test_revert_does_not_throw_edits_away_unless_forced(tmp_path: Path) -> None:
    source = tmp_path / "m.py"
    source.write_text(TEXT)
    files.write_conversion(source, TEXT, TEXT + "bind()\n", "side\n")
    source.write_text(TEXT + "edit = 1\nbind()\n")
    with pytest.raises(files.FileError, match="edited since"):
        files.revert(source)
    assert "edit" in source.read_text()
    files.revert(source, force=True)
    assert source.read_text() == TEXT


def test_revert_refuses_a_backup_that_is_not_the_original(tmp_path: Path) -> None:
    source = tmp_path / "m.py"
    source.write_text(TEXT)
    written = files.write_conversion(source, TEXT, TEXT + "bind()\n", "side\n")
    written.backup.write_text("other\n")
    with pytest.raises(files.FileError, match="not the original any more"):
        files.revert(source, force=True)
    assert source.read_text() == TEXT + "bind()\n"


@pytest.mark.parametrize(
    ("source", "sidecar"),
    [
        ("matmul.py", "matmul_tlx.py"),
        ("__init__.py", "__init___tlx.py"),
        ("größe.py", "größe_tlx.py"),
        ("03-matrix-multiplication.py", "_03_matrix_multiplication_tlx.py"),
        ("with space.py", "_with_space_tlx.py"),
        ("1num.py", "_1num_tlx.py"),
        ("k.v2.py", "_k_v2_tlx.py"),
        ("\ufb01t.py", "_fit_tlx.py"),  # Python would look for `fit_tlx`
    ],
)
def test_a_sidecar_can_be_imported_whatever_its_source_is_called(tmp_path: Path, source: str, sidecar: str) -> None:
    assert files.sidecar_of(tmp_path / source) == tmp_path / sidecar


def test_sources_whose_sidecars_share_a_name_do_not_take_each_others(tmp_path: Path) -> None:
    first, second = tmp_path / "fused-attn.py", tmp_path / "fused attn.py"
    for source in (first, second):
        source.write_text(TEXT)
    side = f"# Generated by tlxify, format 1: edit {first.name} and convert it again, not this file.\n"
    written = files.write_conversion(first, TEXT, TEXT + "bind()\n", side)
    with pytest.raises(files.FileError, match=r"not written by tlxify for fused attn\.py"):
        files.write_conversion(second, TEXT, TEXT + "bind()\n", side)
    with pytest.raises(files.FileError, match="no conversion to revert"):
        files.revert(second)
    assert written.sidecar.read_text().startswith(side)
    first.rename(tmp_path / "fused+attn.py")
    written.backup.rename(tmp_path / "fused+attn.py.orig")
    files.revert(tmp_path / "fused+attn.py")  # renamed since, it is its conversion all the same
