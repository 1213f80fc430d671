"""A flaw of a protocol, as the game and the static checks report it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Flaw:
    """What goes wrong, where, and which other place has to do with it."""

    code: str
    line: int
    text: str
    other_line: int = 0


class Flawed(Exception):
    """Carries the first flaw of a game."""

    def __init__(self, code: str, line: int, text: str, other_line: int = 0) -> None:
        super().__init__(text)
        self.flaw = Flaw(code, line, text, other_line)
