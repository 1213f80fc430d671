"""Launches of kernels that are bound to their conversions, whichever of the two runs."""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import Any

from .describe import describer, form_of
from .recorder import Recorder, Slot
from .seen import Seen


def watch_dispatch(original: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    """For the launcher of converted kernels: (dispatcher, args, kwargs, grid). What it launches is not counted twice.

    It is written down before it starts, so that one which crashes the program is in the record; with a grid function,
    when that is called. The launcher decides by a description that tells more launches apart than we do, addresses
    among them: what was found for one is kept with its decision, and is all that the next launch asks for.
    """
    hushed, tokens = recorder.hushed, recorder.tokens

    def launch(self: Any, args: tuple[Any, ...], kwargs: dict[str, Any], grid: Any) -> Any:
        ident = get_ident()
        if ident in hushed:
            return original(self, args, kwargs, grid)
        hushed.add(ident)
        try:
            decision = self.decide(args, kwargs)
            kind = type(grid)
            try:
                slot = decision.noted[tokens[ident]][grid if kind is tuple else kind]
            except Exception:
                slot = _met(recorder, self, ident, args, kwargs, grid)
                if slot is None:
                    return original(self, args, kwargs, _first(recorder, self, args, kwargs, grid))
                if decision.device is not None and kind is not list:
                    _keep(recorder, decision, ident, grid if kind is tuple else kind, slot)
            cell = slot.cell
            cell[0] = count = cell[0] + 1
            if count < slot.due:
                return self.launch_decided(decision, args, kwargs, grid)
            cell[0] -= 1  # it is counted again, as whatever it is
            noting = _noting(recorder, self._captured, args, kwargs, grid, again=True)
            return _dispatched(recorder, slot, original, (self, args, kwargs, noting))
        finally:
            hushed.discard(ident)

    return launch


def _met(
    recorder: Recorder, dispatcher: Any, ident: int, args: tuple[Any, ...], kwargs: dict[str, Any], grid: Any
) -> Slot | None:
    """The slot of a launch that looks like one of before, under whatever decision."""
    try:
        seen = dispatcher._captured
        slot: Slot = seen.threads[ident][seen.describe(args, kwargs, grid)]
    except Exception:
        return None
    return slot


def _keep(recorder: Recorder, decision: Any, ident: int, grid: Any, slot: Slot) -> None:
    """Keeps the slot with a decision, for this thread of this process."""
    token = recorder.tokens.setdefault(ident, object())
    decision.noted = {**(decision.noted or {}), token: {**(decision.noted or {}).get(token, {}), grid: slot}}


def _first(recorder: Recorder, dispatcher: Any, args: tuple[Any, ...], kwargs: dict[str, Any], grid: Any) -> Any:
    """The grid of a launch that is not known, which writes the launch down."""
    seen = getattr(dispatcher, "_captured", None)
    if seen is None or seen.generation != recorder.generation:
        function = dispatcher.stack.kernel
        seen = dispatcher._captured = Seen(recorder, None if function is None else recorder.meet(function))
    return grid if seen.kernel is None else _noting(recorder, seen, args, kwargs, grid)


def _dispatched(recorder: Recorder, slot: Slot, original: Callable[..., Any], call: tuple[Any, ...]) -> Any:
    """Makes a launch through a binding, timed if that is due."""
    kind = recorder.closely(slot, lambda: slot)
    return original(*call) if kind is None else recorder.timed(kind, lambda: original(*call))


def _noting(
    recorder: Recorder, seen: Seen, args: tuple[Any, ...], kwargs: dict[str, Any], grid: Any, *, again: bool = False
) -> Any:
    """The grid of a launch that `seen.describe` does not recognise; the launch is recorded once its extents are known.

    Makes `seen.describe` fit. With `again`, a launch that is known is looked at nevertheless.
    """
    kernel = seen.kernel
    assert kernel is not None

    def settle(extents: Any) -> Any:
        try:
            slot = recorder.slot(kernel, kernel.signature.named(args, kwargs), extents, "tlx", {})
            slot.cell[0] += 1
            slots.setdefault(key, slot)
        except Exception as error:
            recorder.trouble(f"a launch of {kernel.function!r} could not be recorded: {error!r}")
        return extents

    try:
        form = form_of(args, kwargs, grid)
        if form not in seen.forms:
            seen.forms[form] = describer(args, kwargs, grid, len(seen.forms))
        seen.describe = seen.forms[form]
        key = seen.describe(args, kwargs, grid)
        slots = seen.threads.setdefault(get_ident(), {})
        if (slot := slots.get(key)) is not None and not again:
            slot.cell[0] += 1
            return grid
    except Exception as error:
        recorder.trouble(f"a launch of {kernel.function!r} could not be described: {error!r}")
        return grid
    if not callable(grid):
        return settle(grid)
    asked = False

    def noted(meta: Any) -> Any:
        nonlocal asked
        extents = grid(meta)
        if not asked:
            asked = True
            settle(extents)
        return extents

    return noted
