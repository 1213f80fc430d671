"""Diagnostics: what tlxify has to say about a place in the user's code, as values.

A refusal is raised as `Decline` where it is found and kept as a `Diagnostic`. The texts of a code live in
`tlxify.catalogue`. Nothing here prints.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from .catalogue import CATALOGUE, Outcome, Rule
from .source import Origin, SourceFile, Span


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: a code, its place, and the facts that fill the texts of the code."""

    code: str
    #: None where no line of the user's file is the cause (a missing package, a time limit).
    span: Span | None
    facts: tuple[tuple[str, str], ...] = ()
    #: The file that `span` is in, where that is another than the user's.
    file: SourceFile | None = field(default=None, repr=False)
    #: The kernel can be converted all the same, and only the profit gate is against it.
    gated: bool = False

    def __post_init__(self) -> None:
        """Raises LookupError for an unknown code, TypeError for missing or unknown facts: faults of the caller."""
        if self.code not in CATALOGUE:
            raise LookupError(f"unknown diagnostic code {self.code!r}")
        given, rule = {name for name, _ in self.facts}, self.rule
        if missing := rule.required - given:
            raise TypeError(f"{self.code} lacks the facts {sorted(missing)}")
        if unknown := given - rule.accepted:
            raise TypeError(
                f"{self.code} has no place for the facts {sorted(unknown)}; it takes {sorted(rule.accepted)}"
            )

    @staticmethod
    def of(code: str, span: Span | None, **facts: object) -> Diagnostic:
        """A diagnostic with `facts` as text. A fact that is None or empty counts as not known."""
        return Diagnostic(
            code, span, tuple((name, str(fact)) for name, fact in facts.items() if fact not in (None, ""))
        )

    def located(self, source: SourceFile) -> Diagnostic:
        """The same, said of the place in the user's files from which the span of `source` comes."""
        if self.span is None or not source.origins:
            return self
        origin = source.origin(self.span)
        return replace(self, span=origin.span, file=origin.source if origin.source.path != source.path else None)

    @property
    def rule(self) -> Rule:
        """The catalogue's row for this code."""
        return CATALOGUE[self.code]

    @property
    def outcome(self) -> Outcome:
        """What this diagnostic does to its kernel."""
        return "unprofitable" if self.gated and self.rule.outcome == "declined" else self.rule.outcome

    @property
    def message(self) -> str:
        """What is so: one sentence."""
        return self.rule.fill(self.rule.fact, {name: plain(text) for name, text in self.facts})

    @property
    def remedy(self) -> str:
        """What to do about it: one sentence."""
        return self.rule.fill(self.rule.remedy, dict(self.facts))


#: A scalar as the analyses call it, after the place that made it: `trip@12:4`, `pid@after 12:4`, `load@7:9<20:8`.
_PLACED = re.compile(r"(?:\beither )?([A-Za-z_]\w*)?(?:\.\d+)?@(?:after )?(\d+):\d+(?:<\d+:\d+)*")
#: What those are called that no name of the source's stands for.
_UNNAMED = {"trip": "trips", "load": "loaded", "part": "part", "reduced": "reduced", "where": "chosen"}


def plain(text: str) -> str:
    """Text without the analyses' own names: scalars are called as in the source, others by what they are and where."""

    def called(match: re.Match[str]) -> str:
        name, line = match.group(1) or "where", match[2]
        return f"{_UNNAMED[name]}_of_line_{line}" if name in _UNNAMED else name

    return _PLACED.sub(called, text)


class Decline(Exception):
    """Raised where a proof is missing; caught by the pipeline, which keeps its diagnostic as the kernel's outcome."""

    def __init__(self, code: str, span: Span | None, **facts: object) -> None:
        self.diagnostic = Diagnostic.of(code, span, **facts)
        super().__init__(f"{code}: {self.diagnostic.message}")

    @staticmethod
    def of(diagnostic: Diagnostic) -> Decline:
        """The refusal that a diagnostic was kept of."""
        return Decline(diagnostic.code, diagnostic.span, **dict(diagnostic.facts))

    def at(self, origin: Origin, home: SourceFile) -> Decline:
        """The same refusal, of a place that may be in another file than the user's, which is `home`."""
        file = origin.source if origin.source.path != home.path else None
        self.diagnostic = replace(self.diagnostic, span=origin.span, file=file)
        return self


def render(diagnostic: Diagnostic, source: SourceFile) -> str:
    """The diagnostic as text: place, code, fact, line with carets, remedy, pointer to more. No newline at its end."""
    span, source = diagnostic.span, diagnostic.file or source
    # Editors count columns from 1, `ast` counts bytes from 0.
    column = len(source.line(span.line).encode()[: span.column].decode(errors="replace")) + 1 if span else 0
    place = f"{source.path}:{span.line}:{column}" if span else source.path
    lines = [f"{place}: {diagnostic.outcome}: {diagnostic.code} {diagnostic.rule.title}", f"  {diagnostic.message}"]
    if span is not None:
        lines += ["", *(f"    {line}".rstrip() for line in source.snippet(span).splitlines()), ""]
    lines += [f"  help: {diagnostic.remedy}"]
    if diagnostic.gated and "--no-profit-gate" not in diagnostic.remedy:
        lines += ["  or: --no-profit-gate converts it as it is; it is not expected to get faster"]
    lines += [f"  more: tlxify explain {diagnostic.code}"]
    return "\n".join(lines)
