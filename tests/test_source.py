"""Places in a file: lines as Python counts them, columns as people do."""

from __future__ import annotations

import ast

import pytest

from tlxify.source import SourceFile, Span


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_those_of_the_parser(end: str) -> None:
    text = end.join(["s = '\x0c \u2028 \x85'", "\x0c", "x = 'é' + other", "y = 1"])
    source = SourceFile("m.py", text)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Assign):
            assert source.segment(Span.of(node)) == ast.get_source_segment(text, node)
    assert source.line(3) == "x = 'é' + other"
    assert source.line(5) == source.line(0) == ""


def test_a_snippet_puts_its_carets_under_the_span() -> None:
    text = "x = 'é' + other\n"
    assert SourceFile("m.py", text).snippet(Span.of(ast.parse(text).body[0].value.right)) == (  # type: ignore[attr-defined]
        "1 | x = 'é' + other\n  |           ^^^^^"
    )


def test_a_snippet_of_several_lines_shows_the_first() -> None:
    text = "call(\n    a,\n)\n"
    assert SourceFile("m.py", text).snippet(Span.of(ast.parse(text).body[0])) == "1 | call(\n  | ^^^^^"
