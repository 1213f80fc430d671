"""A source file, places in it, and how a place is shown to a person."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of one file. Lines count from 1, columns from 0, both ends as `ast` gives them (end exclusive)."""

    line: int
    column: int
    end_line: int
    end_column: int

    @staticmethod
    def of(node: ast.AST) -> Span:
        """The stretch that an `ast` node covers."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        end_line, end_column = getattr(node, "end_lineno", line), getattr(node, "end_col_offset", column)
        return Span(line, column, end_line or line, end_column or column)

    def contains(self, other: Span) -> bool:
        """Whether `other` lies inside this stretch."""
        return (self.line, self.column) <= (other.line, other.column) and (other.end_line, other.end_column) <= (
            self.end_line,
            self.end_column,
        )


@dataclass(frozen=True, slots=True)
class Origin:
    """Where in the user's files something was written."""

    source: SourceFile
    span: Span


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as text. `path` is what the user typed: it is shown, never opened again."""

    path: str
    text: str
    #: Of places that are in no file of the user's (a helper was written out where it is called): where they come from.
    origins: Mapping[Span, Origin] = field(default_factory=dict, repr=False, compare=False)

    def origin(self, span: Span) -> Origin:
        """Where the user wrote what stands at `span`: of made-up text, where the innermost part around it was."""
        if (known := self.origins.get(span)) is not None:
            return known
        around = [other for other in self.origins if other.contains(span)]
        if not around:
            return Origin(self, span)
        return self.origins[max(around, key=lambda s: (s.line, s.column, -s.end_line, -s.end_column))]

    def origin_of_line(self, number: int) -> Origin:
        """Where the user wrote what begins in a line: of made-up text, the outermost part of the line."""
        begun = [span for span in self.origins if span.line == number]
        if not begun:
            return self.origin(Span(number, 0, number, 0))
        return self.origins[min(begun, key=lambda s: (s.column, -s.end_line, -s.end_column))]

    @staticmethod
    def read(path: str | Path) -> SourceFile:
        """The file at `path`, decoded as Python would decode it. Raises OSError, UnicodeDecodeError, SyntaxError."""
        import tokenize

        with tokenize.open(path) as stream:
            return SourceFile(str(path), stream.read())

    def lines(self) -> list[str]:
        """The lines with their ends, as Python counts them (`str.splitlines` also ends one at a form feed)."""
        return LINE.findall(self.text)

    def line(self, number: int) -> str:
        """Line `number` (from 1) without its end, or an empty string past the last one."""
        lines = self.lines()
        return lines[number - 1].rstrip("\r\n") if 0 < number <= len(lines) else ""

    def segment(self, span: Span) -> str:
        """The text of `span`. Columns count UTF-8 bytes, as `ast` counts them."""
        lines = self.lines()[span.line - 1 : span.end_line]
        if not lines:
            return ""
        last = lines[-1].encode()[: span.end_column].decode()
        if span.line == span.end_line:
            return last.encode()[span.column :].decode()
        return "".join([lines[0].encode()[span.column :].decode(), *lines[1:-1], last])

    def snippet(self, span: Span) -> str:
        """The first line of `span` with carets under it: what an error shows."""
        text = self.line(span.line)
        start = len(text.encode()[: span.column].decode())
        stop = len(text.encode()[: span.end_column].decode()) if span.end_line == span.line else len(text.rstrip())
        number = str(span.line)
        carets = " " * start + "^" * max(1, stop - start)
        return f"{number} | {text}\n{' ' * len(number)} | {carets}"


def above_packages(path: str) -> Path:
    """The folder above the outermost package that a file is in, from which the names of its modules are counted."""
    folder = Path(os.path.abspath(path)).parent
    while (folder / "__init__.py").is_file() and folder != folder.parent:
        folder = folder.parent
    return folder
