"""Shadow state of shared memory: the last accesses to each range of bytes, and the order they must be in.

An access is charged when it is issued and over at its *end event* (a lane and a time): for an ordinary access the time
of its task, for an asynchronous one the event that waiting for it makes known. A later conflicting access is ordered
behind it exactly if its issuer knows that event. So releasing a slot before the wait that retires its reader is seen
on every schedule, whatever the values turn out to be.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from .clocks import Clock
from .sites import Site

#: byte ranges [start, stop) in increasing order
Runs = tuple[tuple[int, int], ...]


class Proxy(Enum):
    """The unit through which memory is accessed."""

    GENERIC = "generic"
    ASYNC = "async"
    #: cp.async: the compiler itself orders these before the tensor core
    COPY = "copy"
    #: tcgen05 in tensor memory: needs no fence, and what one task issues happens in that order
    TENSOR = "tensor"


@dataclass(frozen=True, slots=True)
class Access:
    """One access to a view."""

    write: bool
    proxy: Proxy
    #: end event
    lane: int
    time: int
    #: issue event
    issuer_lane: int
    issuer_time: int
    kind: str
    agent: str
    site: Site
    view: str
    #: number of the allocation it went through; storage may be shared by several
    buffer: int

    def __str__(self) -> str:
        return f"{self.kind} of {self.view} by {self.agent} (line {self.site.line})"


class Verdict(Enum):
    """How an access relates to an earlier one it conflicts with."""

    RACE = "race"
    #: the issuer knew of the earlier asynchronous access, but not that it was over
    UNRETIRED = "unretired"
    UNFENCED = "unfenced"


class _History:
    __slots__ = ("reads", "write")

    def __init__(self) -> None:
        self.write: Access | None = None
        self.reads: dict[int, Access] = {}


def _overlap(a: Runs, b: Runs) -> bool:
    if a[0][0] >= b[-1][1] or b[0][0] >= a[-1][1]:
        return False
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i][1] <= b[j][0]:
            i += 1
        elif b[j][1] <= a[i][0]:
            j += 1
        else:
            return True
    return False


def _covers(a: Runs, b: Runs) -> bool:
    """Whether each range of ``b`` lies inside one of ``a``."""
    i = 0
    for start, stop in b:
        while i < len(a) and a[i][1] < stop:
            i += 1
        if i == len(a) or a[i][0] > start:
            return False
    return True


class Shadow:
    """Access history of one storage."""

    def __init__(self) -> None:
        self.ranges: dict[Runs, _History] = {}

    def access(self, runs: Runs, new: Access, clock: Clock, proxied: Clock) -> list[tuple[Verdict, Access]]:
        """Records ``new`` and returns the earlier accesses that it conflicts with.

        Args:
            runs: the bytes.
            clock: what its issuer knows at issue.
            proxied: what of that is visible to the asynchronous proxy.
        """
        conflicts = []
        for other, history in self.ranges.items():
            if other is not runs and other != runs and not _overlap(other, runs):
                continue
            write = history.write
            if write is not None:
                verdict = self._order(write, new, clock, proxied)
                if verdict is not None:
                    conflicts.append((verdict, write))
            if new.write:
                for read in history.reads.values():
                    verdict = self._order(read, new, clock, proxied)
                    if verdict is not None:
                        conflicts.append((verdict, read))
        self._record(runs, new)
        return conflicts

    @staticmethod
    def _order(old: Access, new: Access, clock: Clock, proxied: Clock) -> Verdict | None:
        if clock.get(old.lane, 0) < old.time:
            if old.proxy is Proxy.TENSOR and new.proxy is Proxy.TENSOR and old.lane == new.lane:
                return None
            knows_issue = old.proxy is not Proxy.GENERIC and clock.get(old.issuer_lane, 0) >= old.issuer_time
            return Verdict.UNRETIRED if knows_issue else Verdict.RACE
        # An ordinary load may still be under way when its thread signals a barrier: fence it before it is overwritten.
        unfenced = old.proxy is Proxy.GENERIC and new.proxy is Proxy.ASYNC
        return Verdict.UNFENCED if unfenced and proxied.get(old.lane, 0) < old.time else None

    def _record(self, runs: Runs, new: Access) -> None:
        history = self.ranges.get(runs)
        if history is None:
            history = self.ranges[runs] = _History()
        if not new.write:
            history.reads[new.lane] = new
            return
        history.write = new
        history.reads.clear()
        if len(self.ranges) > 1:
            for other in [o for o in self.ranges if o != runs and _overlap(o, runs) and _covers(runs, o)]:
                del self.ranges[other]
