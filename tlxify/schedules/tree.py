"""Where statements stand: in which block, and which statement of an outer block holds them."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..facts import StatementFact
from ..source import Span

#: The statement that a block belongs to, None for the kernel itself, and which of its arms the block is.
Block = tuple[Span | None, int]

KERNEL: Block = (None, 0)


@dataclass(slots=True)
class Tree:
    """The statements of one kernel by their blocks."""

    _block: dict[Span, Block] = field(default_factory=dict)
    #: Number of each statement in program order, and of the last one that it holds.
    _order: dict[Span, tuple[int, int]] = field(default_factory=dict)

    @staticmethod
    def of(statements: tuple[StatementFact, ...]) -> Tree:
        """The tree of a kernel's statements."""
        tree = Tree()
        tree._add(statements, KERNEL)
        return tree

    def _add(self, statements: tuple[StatementFact, ...], block: Block) -> None:
        for statement in statements:
            self._block[statement.span] = block
            number = len(self._block)
            self._add(statement.body, (statement.span, 0))
            self._add(statement.orelse, (statement.span, 1))
            self._order[statement.span] = (number, len(self._block))

    def block(self, statement: Span) -> Block:
        """The block that a statement stands in."""
        return self._block[statement]

    def begin(self, statement: Span) -> int:
        """Number of a statement in program order."""
        return self._order[statement][0]

    def end(self, statement: Span) -> int:
        """Number of the last statement that it is or holds."""
        return self._order[statement][1]

    def within(self, statement: Span, block: Block) -> Span | None:
        """The statement of `block` that is or holds `statement`; None if the block does not hold it."""
        held: Span | None = statement
        while held is not None:
            if self._block[held] == block:
                return held
            held = self._block[held][0]
        return None
