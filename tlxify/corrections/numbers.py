"""What a text says of a parameter that is a number or chosen at compile time: `size multiple_of(8) 1..4096`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from . import grammar


@dataclass(frozen=True, slots=True)
class Said:
    """The clauses of one entry; None or empty where it says nothing."""

    kind: str | None = None
    choices: tuple[Any, ...] | None = None
    multiples: tuple[str, ...] = ()
    #: Least and largest value.
    bounds: tuple[int, int | None] | None = None
    aligned: bool = False
    expression: str | None = None
    dtype_of: str | None = None
    #: The element type that a flag tells.
    says: str | None = None
    #: Steps of which the converted kernel needs whole ones.
    whole: tuple[str, ...] = ()
    #: The tile that is no shorter than it.
    cover: str | None = None
    #: The kernel never reads it, and any number does.
    unread: bool = False

    def over(self, other: Said) -> Said:
        """This, and where it says nothing the other."""
        return Said(
            self.kind or other.kind,
            other.choices if self.choices is None else self.choices,
            self.multiples or other.multiples,
            self.bounds or other.bounds,
            self.aligned or other.aligned,
            self.expression or other.expression,
            self.dtype_of or other.dtype_of,
            self.says or other.says,
            self.whole or other.whole,
            self.cover or other.cover,
            self.unread or other.unread,
        )


def read(key: str, text: str, expressions: Callable[[str, str], Iterable[str]]) -> Said | None:
    """The clauses of a text; None if it does not begin with one: then it is a literal or an expression.

    Args:
        key: whose entry it is.
        text: the entry.
        expressions: splits a text into valid expressions.

    Raises:
        ContractTextError: something behind the first clause is none.
    """
    said, rest = Said(), text.strip()
    while rest:
        match = grammar.CLAUSE.match(rest)
        if match is None:
            if said == Said():
                return None
            kinds = (*grammar.NUMBERS, *grammar.CONSTEXPRS)
            raise grammar.ContractTextError(key, f"cannot read {rest!r}", grammar.allowed(kinds))
        if match["kind"]:
            more = Said(kind=match["kind"])
        elif match["dtype_of"]:
            more = Said(dtype_of=match["dtype_of"])
        elif match["choices"] is not None:
            more = Said(choices=grammar.choices(key, match["choices"]))
        elif match["multiple"]:
            more = Said(multiples=(*said.multiples, *expressions(key, match["multiple"])))
        elif match["whole"]:
            more = Said(whole=(*said.whole, *expressions(key, match["whole"])))
        elif match["cover"]:
            (cover,) = expressions(key, match["cover"])
            more = Said(cover=cover)
        elif match["says"]:
            more = Said(says=match["says"])
        elif match["aligned"]:
            more = Said(aligned=True)
        elif match["unread"]:
            more = Said(unread=True)
        elif match["low"]:
            more = Said(bounds=grammar.bounds(key, match["low"], match["high"]))
        else:
            (expression,) = expressions(key, match["expression"])
            more = Said(expression=expression)
        said = more.over(said)
        rest = rest[match.end() :].lstrip(" ,")
    return said
