"""Skip comments: `# tlxify: skip[TLX203] reason` on a line, above it, or on a kernel's header.

A comment that shares its line with code covers that line; one that stands alone covers the next line of code. On a
decorator or the `def` line of a kernel it covers the whole kernel.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, replace

from .catalogue import CATALOGUE
from .diagnostics import Diagnostic
from .outcome import FileConversion, KernelOutcome
from .source import Span

#: Without codes in brackets it silences nothing, of which there is a word.
COMMENT = re.compile(r"#\s*tlxify:\s*skip\b(?:\[([^\]]*)\])?\s*(.*)")


@dataclass(frozen=True, slots=True)
class Skip:
    """One skip comment."""

    codes: frozenset[str]
    reason: str
    span: Span
    #: The line of code it speaks of.
    covers: int

    def silences(self, diagnostic: Diagnostic, kernel: Span, header_end: int) -> bool:
        """Whether `diagnostic` of the kernel at `kernel`, whose `def` line ends in line `header_end`, is suppressed."""
        if diagnostic.code not in self.codes:
            return False
        if kernel.line <= self.covers <= header_end:
            return True
        return diagnostic.span is not None and diagnostic.file is None and diagnostic.span.line == self.covers


def skips(text: str) -> tuple[Skip, ...]:
    """The skip comments of a file that Python can tokenize, in order; none for one that it cannot."""
    try:
        return tuple(read(text))
    except (tokenize.TokenError, SyntaxError):
        return ()


def read(text: str) -> Iterator[Skip]:
    """The skip comments of `text`. Raises as `tokenize` does."""
    layout = (tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT)
    waiting: list[tuple[frozenset[str], str, Span]] = []
    last_code_line = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and (match := COMMENT.match(token.string)):
            codes = frozenset(code.strip() for code in (match[1] or "").split(",") if code.strip())
            (line, column), (_, end) = token.start, token.end
            # tokenize counts characters, Span counts bytes as `ast` does.
            before = len(token.line[:column].encode())
            span = Span(line, before, line, before + len(token.line[column:end].encode()))
            if last_code_line == line:
                yield Skip(codes, match[2].strip(), span, line)
            else:
                waiting.append((codes, match[2].strip(), span))
        elif token.type not in (*layout, tokenize.NEWLINE):
            yield from (Skip(*item, covers=token.start[0]) for item in waiting)
            waiting.clear()
            last_code_line = token.end[0]


def unknown_codes(found: tuple[Skip, ...]) -> tuple[Diagnostic, ...]:
    """A warning for each code in a skip comment that does not exist, and for each comment without any."""
    return tuple(
        Diagnostic.of("TLX110", skip.span, name=code)
        for skip in found
        for code in (sorted(skip.codes - CATALOGUE.keys()) if skip.codes else [None])
    )


def header_ends(text: str) -> dict[tuple[str, int], int]:
    """(name, line of the first decorator or `def`) of each function → the last line before its body."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return {}
    return {
        (node.name, line): max(node.body[0].lineno - 1, node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        for line in {node.lineno, *(decorator.lineno for decorator in node.decorator_list)}
    }


def apply(conversion: FileConversion) -> FileConversion:
    """`conversion` without the diagnostics that its skip comments silence, and with a warning for each unknown code."""
    found = skips(conversion.source.text)
    if not found:
        return conversion
    ends = header_ends(conversion.source.text)

    def spoken(kernel: KernelOutcome) -> KernelOutcome:
        end = ends.get((kernel.name, kernel.span.line), kernel.span.line)
        loud = (item for item in kernel.diagnostics if not any(skip.silences(item, kernel.span, end) for skip in found))
        return replace(kernel, diagnostics=tuple(loud))

    def loud(item: Diagnostic) -> bool:
        """Whether what is said of the file is not silenced where it stands, or on the header of a function there."""
        at = item.span
        if at is None:
            return True
        lines = {line for (_, line), end in ends.items() if line <= at.line <= end} | {at.line}
        end = max([at.line, *(end for (_, line), end in ends.items() if line in lines)])
        return not any(skip.silences(item, replace(at, line=min(lines)), end) for skip in found)

    return replace(
        conversion,
        kernels=tuple(map(spoken, conversion.kernels)),
        diagnostics=(*filter(loud, conversion.diagnostics), *unknown_codes(found)),
    )
