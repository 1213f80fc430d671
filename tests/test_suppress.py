"""Skip comments: which line they cover and what they silence."""

from __future__ import annotations

import pytest

from tlxify.diagnostics import Diagnostic
from tlxify.pipeline import convert
from tlxify.source import SourceFile, Span
from tlxify.suppress import apply, skips, unknown_codes

KERNEL = """\
@triton.jit
def kernel(x_ptr):
    # tlxify: skip[TLX201] measured, stays
    # a comment between

    x = tl.load(x_ptr)
    y = tl.load(x_ptr)  # tlxify: skip[TLX201,TLX204]
    text = "# tlxify: skip[TLX301] only a string"
"""
WHOLE = Span(1, 0, 8, 40)


def test_a_comment_alone_covers_the_next_line_of_code_and_others_their_own() -> None:
    first, second = skips(KERNEL)
    assert (first.codes, first.reason, first.covers) == ({"TLX201"}, "measured, stays", 6)
    assert (second.codes, second.reason, second.covers) == ({"TLX201", "TLX204"}, "", 7)


@pytest.mark.parametrize(("code", "line", "silent"), [("TLX201", 6, True), ("TLX204", 6, False), ("TLX201", 8, False)])
def test_it_silences_its_codes_on_its_line(code: str, line: int, silent: bool) -> None:
    diagnostic = Diagnostic.of(code, Span(line, 4, line, 9), name="x_ptr")
    assert any(skip.silences(diagnostic, WHOLE, 2) for skip in skips(KERNEL)) is silent


@pytest.mark.parametrize(
    "header", ["@triton.jit  # tlxify: skip[TLX301] no\ndef k():\n", "@triton.jit\ndef k():  # tlxify: skip[TLX301]\n"]
)
def test_on_the_header_it_covers_the_whole_kernel_and_no_other(header: str) -> None:
    (skip,) = skips(header + "    pass\n")
    inside, in_a_helper = (Diagnostic.of("TLX301", Span(line, 0, line, 4), name="k") for line in (3, 9))
    assert skip.silences(inside, Span(1, 0, 3, 8), 2)
    assert skip.silences(in_a_helper, Span(1, 0, 3, 8), 2)
    assert not skip.silences(in_a_helper, Span(8, 0, 10, 8), 8)


def test_a_file_that_does_not_parse_has_none() -> None:
    assert skips("def f(:\n  '''") == ()


def test_unknown_codes_are_reported_where_they_stand() -> None:
    (warning,) = unknown_codes(skips("é = 1  # tlxify: skip[TLX999, TLX301] typo\n"))
    assert (warning.code, dict(warning.facts)["name"]) == ("TLX110", "TLX999")
    assert warning.span == Span(1, 8, 1, 43)


@pytest.mark.parametrize("comment", ["# tlxify: skip reviewed", "# tlxify: skip", "# tlxify: skip[] reviewed"])
def test_a_comment_that_names_no_code_silences_nothing_and_is_told(comment: str) -> None:
    (skip,) = skips(f"x = 1  {comment}\n")
    assert not skip.codes
    (warning,) = unknown_codes((skip,))
    assert (warning.code, warning.message) == ("TLX110", "This skip comment names no code of this version.")


def test_other_words_are_no_skip_comments() -> None:
    assert skips("x = 1  # tlxify: skipped by hand\ny = 2  # tlxify: begin kernel\n") == ()


TWICE = """\
import triton
import triton.language as tl


@triton.jit{decorator}
def kernel(x_ptr):{head}
    tl.store(x_ptr, 1){body}


first = kernel


@triton.jit{later}
def kernel(x_ptr):
    tl.store(x_ptr, 2)
"""


@pytest.mark.parametrize(("place", "silent"), [("decorator", True), ("head", True), ("body", False), ("later", False)])
def test_what_is_said_of_the_file_is_silenced_on_the_function_that_it_is_about(place: str, silent: bool) -> None:
    places = dict.fromkeys(("decorator", "head", "body", "later"), "") | {place: "  # tlxify: skip[TLX113] known"}
    found = apply(convert(SourceFile("m.py", TWICE.format(**places))))
    assert [item.code for item in found.diagnostics] == ([] if silent else ["TLX113"])
