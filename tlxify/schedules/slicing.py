"""Which statements a role keeps: everything its side effects need, by liveness from the end of the kernel backwards.

A role is the whole kernel with some statements replaced (a load becomes a TMA load into a slot). Those replaced are
its roots and read other names than the source's did; what no root needs, directly or through names, is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..facts import StatementFact, every
from ..source import Span


@dataclass(frozen=True, slots=True)
class Reads:
    """What a replaced statement reads and binds in a role."""

    reads: frozenset[str]
    binds: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Slice:
    roots: Mapping[Span, Reads]
    kept: set[Span] = field(default_factory=set)

    def block(self, statements: tuple[StatementFact, ...], live: frozenset[str]) -> frozenset[str]:
        for statement in reversed(statements):
            live = self.one(statement, live)
        return live

    def one(self, statement: StatementFact, live: frozenset[str]) -> frozenset[str]:
        if (root := self.roots.get(statement.span)) is not None:  # replaced whole, whatever it holds
            self.kept.add(statement.span)
            return (live - root.binds) | root.reads
        match statement.kind:
            case "simple":
                return self._simple(statement, live)
            case "branch":
                before = self.block(statement.body, live) | self.block(statement.orelse, live)
                if self._keeps((*statement.body, *statement.orelse)):
                    self.kept.add(statement.span)
                    return before | statement.reads
                return live
            case _:
                return self._loop(statement, live)

    def _simple(self, statement: StatementFact, live: frozenset[str]) -> frozenset[str]:
        if statement.binds & live:
            self.kept.add(statement.span)
            return (live - statement.binds) | statement.reads
        return live

    def _loop(self, statement: StatementFact, live: frozenset[str]) -> frozenset[str]:
        inside = self._around(statement, live)
        if not self._keeps(statement.body):
            return live
        self.kept.add(statement.span)
        if statement.text_kind == "while":  # asked before every trip, a range only once
            inside = self._around(statement, inside | statement.reads)
        return live | inside | statement.reads

    def _around(self, statement: StatementFact, inside: frozenset[str]) -> frozenset[str]:
        """What is live at the beginning of a trip, where what `inside` says is live at the end of any."""
        while True:
            before = inside | (self.block(statement.body, inside) - statement.binds)
            if before == inside:
                return inside
            inside = before

    def _keeps(self, statements: tuple[StatementFact, ...]) -> bool:
        return any(statement.span in self.kept for statement in statements)


def live_before(
    statements: tuple[StatementFact, ...], roots: Mapping[Span, Reads], always: frozenset[Span] = frozenset()
) -> frozenset[str]:
    """Names that these statements of a role read before they bind them."""
    return _Slice(_roots(statements, roots, always)).block(statements, frozenset())


def keep(
    statements: tuple[StatementFact, ...], roots: Mapping[Span, Reads], always: frozenset[Span] = frozenset()
) -> frozenset[Span]:
    """The spans of the statements that a role with these roots keeps. `always` are kept with what they read."""
    work = _Slice(_roots(statements, roots, always))
    work.block(statements, frozenset())
    return frozenset(work.kept)


def _roots(
    statements: tuple[StatementFact, ...], roots: Mapping[Span, Reads], always: frozenset[Span]
) -> dict[Span, Reads]:
    everything = dict(roots)
    for statement in every(statements):
        if statement.span in always:
            everything.setdefault(statement.span, Reads(statement.reads, statement.binds))
    return everything
