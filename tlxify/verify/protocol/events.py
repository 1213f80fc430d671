"""What a task does that other tasks can notice, in program order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from .values import Barrier, Buffer, View


@dataclass(frozen=True, slots=True)
class Wait:
    """Blocks until the barrier's phase of this parity has completed."""

    line: int
    barrier: Barrier
    parity: int


@dataclass(frozen=True, slots=True)
class Arrive:
    """Arrives `count` times."""

    line: int
    barrier: Barrier
    count: int


@dataclass(frozen=True, slots=True)
class Expect:
    """Announces `nbytes` of copies and arrives once."""

    line: int
    barrier: Barrier
    nbytes: int


@dataclass(frozen=True, slots=True)
class Fill:
    """A TMA load into `view`, whose bytes count on `barrier`."""

    line: int
    view: View
    barrier: Barrier


@dataclass(frozen=True, slots=True)
class Access:
    """A read or write of shared memory by the task's own threads: over when the next statement begins."""

    line: int
    view: View
    writes: bool
    #: Of a write: the buffers that what is written was computed from.
    sources: frozenset[Buffer] = frozenset()


@dataclass(frozen=True, slots=True)
class Multiply:
    """A dot of two values in registers, with the buffers that those were computed from."""

    line: int
    sources: frozenset[Buffer]


@dataclass(frozen=True, slots=True)
class Issue:
    """Asynchronous work on an in-order queue of the task ("dot", "store", "copy"): over when a Retire covers it."""

    line: int
    queue: str
    views: tuple[View, ...]
    writes: bool
    #: Of a dot: the buffers that an operand in registers was computed from.
    sources: frozenset[Buffer] = frozenset()


@dataclass(frozen=True, slots=True)
class Commit:
    """Closes the copies issued so far into one group."""

    line: int


@dataclass(frozen=True, slots=True)
class Retire:
    """Waits until at most `pending` of the newest items (or groups) of a queue are unfinished."""

    line: int
    queue: str
    pending: int


@dataclass(frozen=True, slots=True)
class Named:
    """Takes part in hardware barrier `number` of `threads` threads, blocking or not."""

    line: int
    number: int
    threads: int
    blocks: bool


Event: TypeAlias = "Wait | Arrive | Expect | Fill | Access | Multiply | Issue | Commit | Retire | Named"


@dataclass(frozen=True, slots=True)
class Agent:
    """One replica of a task and what it does."""

    name: str
    line: int
    warps: int
    registers: int | None
    default: bool
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """A kernel's doings in one world: stretches that follow each other, each with the agents that run in it."""

    stretches: tuple[tuple[Agent, ...], ...]

    @property
    def events(self) -> tuple[Event, ...]:
        """All events, by agent."""
        return tuple(event for stretch in self.stretches for agent in stretch for event in agent.events)
