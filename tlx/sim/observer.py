"""What a simulation tells whoever watches it: the pictures and the search for orders are made from nothing else.

A simulation without an observer pays one comparison per primitive for this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .barriers import MBarrier, NamedBarrier
    from .findings import Finding
    from .scheduler import Agent, Operation
    from .shadow import Runs
    from .shared import View
    from .sites import Site
    from .storage import Storage

#: what a wait is for: ("phase", barrier, phase), ("queue", queue, group), ("flip", named barrier, flip) or
#: ("tasks", agents); None where the primitive does not say
Target = tuple[str, Any, Any] | None


class Observer:
    """Every method is called as things happen; these do nothing."""

    def program(self, index: tuple[int, int, int]) -> None:
        """A CTA starts."""

    def chosen(self, who: Agent | Operation) -> None:
        """A task goes on, up to its next scheduling point, or an operation completes."""

    def allocated(self, thing: MBarrier | Storage) -> None:
        """A barrier, or shared memory, is allocated."""

    def spawned(self, agent: Agent) -> None:
        """A task starts; the current one, if any, started it."""

    def started(self, operation: Operation) -> None:
        """The current task puts an operation in flight; its accesses were told before."""

    def ended(self, agent: Agent) -> None:
        """A task is over."""

    def accessed(self, storage: Storage, runs: Runs, write: bool, view: View, kind: str, asynchronous: bool) -> None:
        """The current task issues an access to shared memory; an asynchronous one belongs to an operation."""

    def touched(self, first: int, last: int, write: bool, nbytes: int) -> None:
        """Global memory between two addresses (``last`` not included) is read or written; ``nbytes`` of it."""

    def contributed(self, bar: MBarrier, phase: int, clean: bool) -> None:
        """An arrival, announced bytes or landed bytes count for a phase; unclean if there are too many of them."""

    def bound(self, bar: MBarrier, phase: int) -> None:
        """A copy about to be started will land on a barrier."""

    def took_part(self, bar: NamedBarrier, flip: int) -> None:
        """The current task arrives at a named barrier."""

    def waited(self, agent: Agent, on: Target, reason: str, site: Site) -> None:
        """A wait of the current task is over."""

    def computed(self, name: str, args: tuple[Any, ...], result: Any) -> None:
        """A builtin of Triton or TLX has returned a value to the current task."""

    def found(self, finding: Finding) -> None:
        """A finding was recorded."""

    def stuck(self, agents: list[Agent]) -> None:
        """Nothing can happen any more; these are not over."""

    def finished(self) -> None:
        """The CTA is over, or given up."""
