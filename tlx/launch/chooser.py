"""What the environment and the program want of one kernel: its policy, its shadow, and what came of them.

The dispatcher asks at the first launch, and again after a `reset`. Whatever needs more than a look at static facts is
put in the place of a *route* of the decisions concerned, so launches that want nothing of it pay nothing for it.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tlx.launch.guard import Fallback
from tlx.launch.policy import Preference, current, table_refusal
from tlx.launch.proofs import proof_of
from tlx.launch.shadow import Settings, Shadowed, settings
from tlx.launch.timing import Timed
from tlx.launch.writes import written_parameters

if TYPE_CHECKING:
    from tlx.launch.adapter import Decision
    from tlx.launch.dispatcher import Dispatcher

__all__ = ["Chooser"]


class Chooser:
    """Between the guard of a kernel, which says what may run, and its launches."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._shadow: Settings | None = None
        self._times = False
        #: What timing found, by description of a launch: why the original is to run, or `None`.
        self.timings: dict[Any, Fallback | None] = {}
        #: Descriptions of launches whose disagreement was told.
        self.disagreements: set[Any] = set()

    def read(self) -> Preference | None:
        """Read the switches. Returns what decides by static facts, config by config; `None` where nothing does.

        Raises `ValueError` where `TLXIFY_POLICY` or `TLXIFY_SHADOW` says what cannot be meant.
        """
        dispatcher = self._dispatcher
        self._shadow = settings()
        wanted = current()
        self._times = wanted == "fast"
        if wanted == "stable" and dispatcher.plain:
            return None  # the table is of specialized kernels
        if wanted == "stable":
            return lambda facts, *_: table_refusal(facts)
        if wanted == "bitwise":
            proof = proof_of(dispatcher.name, dispatcher.stack.kernel, dispatcher.converted)
            return lambda _, arguments, options: proof.refusal(arguments, options)
        return None

    @functools.cached_property
    def written(self) -> frozenset[frozenset[str]]:
        """Where the source may write: the parameters that each target leads to."""
        return written_parameters(self._dispatcher.stack.kernel)

    def interpose(self, decision: Decision) -> Decision:
        """Put stopwatch and shadow, where they are wanted, between the callers of a decision and the conversion."""
        if decision.fallback is not None or (self._shadow is None and not self._times):
            return decision
        for follows in (False, True):
            shadow = None if self._shadow is None else Shadowed(self._dispatcher, decision.twin(), self._shadow)
            decision.routes[follows] = self._timed(decision, follows, shadow) if self._times else shadow
        return decision

    def _timed(self, decision: Decision, follows: bool, shadow: Shadowed | None) -> Timed:
        def settle(refusal: Fallback | None) -> None:
            decision.routes.pop(follows, None)
            if shadow is not None:
                decision.routes[follows] = shadow
            if refusal is not None:
                decision.fallback = refusal.untraced()
                self.shadow_original(decision)

        return Timed(self._dispatcher, decision.twin(), settle)

    def shadow_original(self, decision: Decision) -> None:
        """Where the policy wants the original, let the conversion be its shadow."""
        if self._shadow is not None:
            shadow = Shadowed(self._dispatcher, decision.twin(), self._shadow, converted=False)
            decision.repeats, decision.original_route = 2, shadow
