"""One construct per case: what it is converted to, or the refusal it ends in."""

from __future__ import annotations

import ast
import functools

import pytest

from tests.golden import CASES, Case, read, write
from tlxify import convert
from tlxify.rewrites.blocks import without_generated
from tlxify.source import SourceFile

ALL = [read(path) for path in sorted(CASES.rglob("*.py"))]
CONVERTED = [case for case in ALL if case.output is not None]
DECLINED = [case for case in ALL if case.output is None]


def name(case: Case) -> str:
    return str(case.path.relative_to(CASES).with_suffix(""))


@functools.cache
def outcome(case: Case):
    conversion = convert(SourceFile(case.path.name, case.source), **options(case))
    return conversion, conversion.kernels[0]


def options(case: Case) -> dict[str, object]:
    """What the flags of a case ask of the converter."""
    words = [word for word in case.flags.split() if word != "--ungated"]
    valued = {flag.removeprefix("--"): value for flag, value in zip(words[::2], words[1::2], strict=True)}
    return {**valued, "profitable": "--ungated" not in case.flags.split()}


def output(conversion) -> str:
    """The converted functions, as the sidecar has them."""
    text, converted = conversion.sidecar_text, conversion.kernels[0].plan.converted
    return text[text.rindex("\n@", 0, text.index(f"def {converted}(")) + 1 :]


@pytest.mark.parametrize("case", CONVERTED, ids=name)
def test_converted(case, request):
    conversion, kernel = outcome(case)
    assert kernel.verdict_word == "converted", [d.message for d in kernel.diagnostics]
    text = output(conversion)
    if request.config.getoption("--update-golden"):
        write(case, text)
    assert text == read(case.path).output, "run pytest tests/test_cases.py --update-golden and read the diff"


@pytest.mark.parametrize("case", CONVERTED, ids=name)
def test_comments_survive(case):
    conversion, kernel = outcome(case)
    text = output(conversion)
    for number in range(kernel.span.line, kernel.span.end_line + 1):
        _, mark, comment = conversion.source.line(number).partition("#")
        if mark:
            assert comment.strip() in text


@pytest.mark.parametrize("case", CONVERTED, ids=name)
def test_converting_again_changes_nothing(case):
    conversion, _ = outcome(case)
    for text in (conversion.module_text, conversion.patched_source_text):
        ast.parse(text)
        assert without_generated(text) == conversion.source.text


@pytest.mark.parametrize("case", CONVERTED[::6], ids=name)
def test_one_source_is_always_converted_to_one_text(case):
    """The other half of that: what the source is converted to depends on nothing else."""
    conversion, _ = outcome(case)
    again = convert(SourceFile(case.path.name, conversion.module_text), **options(case))
    assert again.module_text == conversion.module_text
    assert again.patched_source_text == conversion.patched_source_text
    assert again.sidecar_text == conversion.sidecar_text


@pytest.mark.parametrize("case", DECLINED, ids=name)
def test_declined(case):
    conversion, kernel = outcome(case)
    assert kernel.verdict_word in ("declined", "no-dot", "unprofitable")
    (diagnostic,) = kernel.diagnostics
    assert diagnostic.code == case.code, diagnostic.message
    assert (diagnostic.span.line if diagnostic.span else 0) == case.line
    assert conversion.module_text == ""


#: Descriptors alone know no gate.
GATED = [case for case in DECLINED if options(case)["profitable"] and "tier" not in options(case)]


@pytest.mark.parametrize("case", GATED, ids=name)
def test_unprofitable_is_what_converts_without_the_gate_alone(case):
    """And nothing else: the word is a promise that `--no-profit-gate` keeps."""
    _, kernel = outcome(case)
    ungated = convert(SourceFile(case.path.name, case.source), **options(case) | {"profitable": False})
    assert (kernel.verdict_word == "unprofitable") == bool(ungated.converted)
