"""Our own plain kernels: what `convert --write` puts beside each is kept under `golden/` and read as code."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from tests.golden import ROOT
from tlxify import convert
from tlxify.source import SourceFile

KERNELS = [path for path in sorted((ROOT / "corpus").glob("*/*.py")) if path.parent.name != "golden"]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT / "corpus").with_suffix(""))


@functools.cache
def converted(path: Path):
    return convert(SourceFile(str(path.relative_to(ROOT)), path.read_text()))


@pytest.mark.parametrize("path", KERNELS, ids=name)
def test_golden(path, request):
    golden = path.parent / "golden" / f"{path.stem}_tlx.py"
    text = converted(path).sidecar_text
    if request.config.getoption("--update-golden"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text)
    assert text == golden.read_text(), "run pytest tests/test_corpus.py --update-golden and read the diff"


@pytest.mark.parametrize("path", KERNELS, ids=name)
def test_generated_lines_are_laid_out_as_black_does(path):
    import black

    text = converted(path).sidecar_text
    functions = text[text.index("@tlx.jit") :]
    assert (
        black.format_str(functions, mode=black.Mode(line_length=120, target_versions={black.TargetVersion.PY310}))
        == functions
    )


@pytest.mark.parametrize("path", KERNELS, ids=name)
def test_every_comment_is_kept(path):
    conversion = converted(path)
    text = conversion.sidecar_text
    for kernel in conversion.kernels:
        for number in range(kernel.span.line, kernel.span.end_line + 1):
            _, _, comment = conversion.source.line(number).partition("  # ")
            line = conversion.source.line(number).strip()
            comment = line.removeprefix("# ") if line.startswith("#") else comment
            assert not comment or comment.strip() in text
