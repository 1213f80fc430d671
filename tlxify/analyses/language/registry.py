"""One call of a Triton function, and which handler knows the function."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...diagnostics import Decline
from ...source import Span
from ..values import Value

if TYPE_CHECKING:
    from ..interpret import Interpreter

#: What canonical names of Triton's functions start with.
LANGUAGE = "triton.language."


@dataclass(frozen=True, slots=True)
class Call:
    """A call with its arguments still as syntax. A method call has its receiver as the first argument."""

    #: The function's name below `triton.language`.
    name: str
    node: ast.Call = field(repr=False)
    positional: tuple[ast.expr, ...]
    keywords: Mapping[str, ast.expr]

    @property
    def span(self) -> Span:
        """Where the call is."""
        return Span.of(self.node)

    def get(self, position: int, name: str) -> ast.expr | None:
        """The argument at a position or under a name."""
        return self.positional[position] if position < len(self.positional) else self.keywords.get(name)

    def need(self, position: int, name: str) -> ast.expr:
        """The same for an argument without which there is no call. Raises Decline TLX104."""
        found = self.get(position, name)
        if found is None:
            raise Decline("TLX104", self.span, what=f"`tl.{self.name}` without `{name}`")
        return found

    def used(self, run: Interpreter) -> list[Value]:
        """The values of all arguments, as data that this function looks at."""
        nodes = (*self.positional, *self.keywords.values())
        return [run.events.used(run.expression(node), self.span) for node in nodes]


Handler = Callable[["Interpreter", Call], Value]

#: Function name → what interprets it. Filled by `handles` when the package is imported.
HANDLERS: dict[str, Handler] = {}


def handles(*names: str) -> Callable[[Handler], Handler]:
    """Registers a handler for functions of `triton.language`. Raises ValueError where one has a handler already."""

    def register(handler: Handler) -> Handler:
        for name in names:
            if name in HANDLERS:
                raise ValueError(f"tl.{name} has two handlers: {HANDLERS[name].__qualname__}, {handler.__qualname__}")
            HANDLERS[name] = handler
        return handler

    return register
