"""Shadow mode: on a share of the launches both kernels run, and what they wrote is compared.

`TLXIFY_SHADOW=0.01` picks one launch in a hundred, at random. What the user gets does not change: the kernel that would
have run alone runs first and on the user's own tensors (the conversion, or the original where the policy wants that).
Then the other one runs on copies that were made before of all that may be written, so inputs that are outputs too, and
sums by atomics, start from the same values in both. The rule of the comparison is the verifier's (agreement.py).

A disagreement is logged once for each description of a launch, with a record to make it again (record.py), written to
`TLXIFY_SHADOW_DIR` if that is set. `tlx.stats()` counts launches in the shadow and disagreements. Not shadowed are
launches under graph capture, launches in which a tuner measures (its runs change what is written to), and those that
write to more than `TLXIFY_SHADOW_LIMIT` bytes of memory (1 GiB). A shadowed launch waits for the GPU. A kernel
that accesses memory which is not its own ends the program from the shadow as it would in the light.

Where the variable is not set nothing of this is on the way of a launch: a shadow takes the place of a *route*.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import triton

from tlx.launch import chip
from tlx.launch.agreement import disagreement
from tlx.launch.copies import Copies, copied
from tlx.launch.record import FORMAT, described, key_of

if TYPE_CHECKING:
    from tlx.launch.adapter import Decision
    from tlx.launch.dispatcher import Dispatcher

__all__ = ["Settings", "Shadowed", "settings"]

VARIABLE, FOLDER, LIMIT = "TLXIFY_SHADOW", "TLXIFY_SHADOW_DIR", "TLXIFY_SHADOW_LIMIT"
DEFAULT_LIMIT = 1 << 30
#: Descriptions of launches whose disagreement is told; after that they are only counted.
TOLD = 256


@dataclass(frozen=True, slots=True)
class Settings:
    """What the environment says about shadows."""

    #: Share of the launches, above 0 and up to 1.
    share: float
    #: Where records go; `None`: into the log.
    folder: Path | None
    #: The most that is copied for one launch, in bytes.
    limit: int
    #: A source of its own: the user's random numbers stay what they are.
    draw: random.Random = field(default_factory=random.Random)


def settings() -> Settings | None:
    """What the environment says; `None` where no launch is shadowed. Raises `ValueError` for what cannot be meant."""
    said = os.environ.get(VARIABLE, "").strip()
    if not said:
        return None
    try:
        share, limit = float(said), int(os.environ.get(LIMIT) or DEFAULT_LIMIT)
    except ValueError:
        raise ValueError(f"{VARIABLE}={said} is a share of the launches, {LIMIT} a number of bytes") from None
    if not 0 <= share <= 1:
        raise ValueError(f"{VARIABLE}={said}: a share of the launches lies between 0 and 1")
    folder = os.environ.get(FOLDER)
    return Settings(share, Path(folder) if folder else None, limit) if share else None


class Shadowed:
    """Stands where the short way to a kernel would: goes the long way, and lets the other kernel run beside it."""

    def __init__(
        self, dispatcher: Dispatcher, decision: Decision, settings: Settings, *, converted: bool = True
    ) -> None:
        self._dispatcher = dispatcher
        #: The decision without its shadow: it keeps routes of its own.
        self._decision = decision
        self._settings = settings
        #: Whether the user gets what the conversion wrote.
        self._converted = converted

    @property
    def tuned(self) -> bool:
        """Whether a tuner may have chosen the config."""
        return any(hasattr(stack, "best_config") for stack in self._decision.stacks.values())

    def holds(self) -> bool:
        """A shadow always does what the long way would do."""
        return True

    def launch(self, grid: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Launch the kernel that was decided for; sometimes the other one as well."""
        dispatcher, settings = self._dispatcher, self._settings
        copies = None
        if settings.draw.random() < settings.share and not chip.capturing():
            try:
                copies = copied(args, kwargs, dispatcher.arg_names, dispatcher.chooser.written, settings.limit)
            except Exception as reason:  # the launch itself has to go on
                dispatcher.counters.tell("unshadowed", f"not shadowed: {reason}")
        tunings = dispatcher.tunings()
        if self._converted:
            result = dispatcher.run_converted(self._decision, args, kwargs, grid)
        else:
            result = dispatcher.run_original(self._decision, args, kwargs, grid)
        if copies is not None:
            try:
                self._beside(copies, grid, args, kwargs, tunings)
            except Exception as error:  # the user's launch is done: nothing of its shadow may reach the user
                text = f"the shadow of a launch failed: {type(error).__name__}: {error}"
                dispatcher.counters.tell("shadow-failed", text, logging.WARNING)
        return result

    def _beside(
        self, copies: Copies, grid: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], tunings: int
    ) -> None:
        dispatcher = self._dispatcher
        if self._converted:
            dispatcher.launch_original(copies.args, copies.kwargs, grid)
        else:
            trial = dispatcher.trial(copies.args, copies.kwargs)
            if trial.fallback is not None:
                return
            dispatcher.run_converted(trial, copies.args, copies.kwargs, grid)
        if dispatcher.tunings() != tunings:
            return
        dispatcher.counters.shadowed()
        for name, (given, twin) in copies.written.items():
            text = disagreement(name, *((given, twin) if self._converted else (twin, given)))
            if text is not None:
                dispatcher.counters.disagreed()
                self._tell(text, grid, args, kwargs)
                return

    def _tell(self, text: str, grid: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        dispatcher, settings = self._dispatcher, self._settings
        key = key_of(args, kwargs, grid)
        told = dispatcher.chooser.disagreements
        if key in told or len(told) >= TOLD:
            return
        told.add(key)
        function = dispatcher.stack.kernel.fn
        record = {
            "format": FORMAT,
            "kernel": dispatcher.name,
            "module": function.__module__,
            "file": function.__code__.co_filename,
            "fingerprint": dispatcher.fingerprint,
            "disagreement": text,
            "triton": triton.__version__,
            **described(dispatcher.arg_names, args, kwargs, grid),
        }
        written = json.dumps(record, indent=1 if settings.folder else None, sort_keys=True)
        where = written
        if settings.folder is not None:
            digest = hashlib.sha256(repr(key).encode()).hexdigest()[:12]
            settings.folder.mkdir(parents=True, exist_ok=True)
            path = settings.folder / f"{dispatcher.name}-{digest}.json"
            path.write_text(written + "\n", encoding="utf-8")
            where = f"python -m tlx.launch.replay {path}"
        dispatcher.counters.tell(
            f"shadow:{key}",
            f"the conversion disagrees with the original: {text}; to see it again: {where}",
            logging.WARNING,
        )
