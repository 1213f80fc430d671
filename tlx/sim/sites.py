"""Places in the user's source. Rewritten kernels keep their file and line numbers, so a frame tells where we are."""

from __future__ import annotations

import linecache
import re
import sys
from dataclasses import dataclass
from types import FrameType

#: the global that marks the namespace of a rewritten kernel or helper; its value says whether a user wrote it
MARK = "__tlx_sim_user__"

_TARGET = re.compile(r"\s*(\w+)\s*(?::[^=]+)?=(?!=)")


@dataclass(frozen=True, slots=True, order=True)
class Site:
    """A line of a file."""

    file: str
    line: int

    @property
    def text(self) -> str:
        """The line as written, without its indentation; empty if the file is gone."""
        return linecache.getline(self.file, self.line).strip()

    @property
    def target(self) -> str | None:
        """The name that the line assigns to, if it is a simple assignment."""
        match = _TARGET.match(linecache.getline(self.file, self.line))
        return match.group(1) if match else None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


NOWHERE = Site("<unknown>", 0)

#: sites are asked for at every primitive, and there are few of them
_known: dict[tuple[str, int], Site] = {}


def call_chain() -> tuple[tuple[object, int], ...]:
    """`call_position` with those of the callers, innermost first: a helper's is another one for every call of it."""
    chain: list[tuple[object, int]] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get(MARK):
            chain.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return tuple(chain)


def here() -> Site:
    """The line of user code being interpreted: the innermost frame of a function that a user wrote."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get(MARK):
            key = (frame.f_code.co_filename, frame.f_lineno)
            return _known.get(key) or _known.setdefault(key, Site(*key))
        frame = frame.f_back
    return NOWHERE


def call_position() -> tuple[object, int]:
    """An identity of the call being interpreted, finer than its line: code object and instruction."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get(MARK):
            return frame.f_code, frame.f_lasti
        frame = frame.f_back
    return None, 0
