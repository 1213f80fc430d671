"""Sizes that must be whole tiles in one arm alone: what `if EVEN_K: … else: …` relies on where EVEN_K is set.

The other arm masks, so its launches take any size. What the flag is set by, a heuristic as a rule, is the caller's: the
contract says of which launches the size must be whole tiles, and those where the flag is not set reach the other arm.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...facts import Access, Condition, Facts, Load
from ...poly import Poly
from ...source import Span

#: Conditions that hold together.
All = frozenset[Condition]


def with_arms_joined(facts: Facts) -> Facts:
    """The facts with every load that is one arm of several as what all of them do: masked, if any is.

    An arm alone does not say how far its memory reaches, or along which axis its pointer moves.
    """
    joined = dict(_joined(facts))
    return replace(facts, accesses=tuple((span, joined.get(span, access)) for span, access in facts.accesses))


def relied_on(facts: Facts, access: Access) -> bool:
    """Whether an access is one of arms: where its mask is waived the source relies on whole tiles."""
    spans = {load.span for load in facts.loads if load.parts}
    return any(span in spans and other == access for span, other in facts.accesses)


def step_where(waived: Iterable[Iterable[Condition]], step: str) -> str:
    """What a size must be whole times of where a mask is waived, and 1 elsewhere: `max(1, EVEN_K * BLOCK_K)`.

    The step alone where those conditions are not about flags: it then holds in any launch.
    """
    arms = [[_factor(condition) for condition in sorted(arm, key=_written)] for arm in _fewer(map(frozenset, waived))]
    factors = [list(filter(None, arm)) for arm in arms]
    if not all(arm and all(arm) for arm in arms):
        return step
    product = f"({step})" if "+" in step or "-" in step else step
    return f"max(1, {', '.join(' * '.join([*arm, product]) for arm in factors)})"


def _joined(facts: Facts) -> Iterable[tuple[Span, Access]]:
    """The access that stands for each arm, by the place of the arm: the outermost where arms lie in arms."""
    spans = {load.id: load.span for load in facts.loads}
    for whole in facts.loads:
        if not whole.parts or any(set(whole.parts) < set(other.parts) for other in facts.loads):
            continue
        here: list[Load] = [load for load in facts.loads if load.span == whole.span and load.parts]
        found = [access for span, access in facts.accesses if span == whole.span]
        # Those of several arms come first, as the loads do; the arm's own is the last.
        if len(found) == len(here) + 1:
            yield from ((spans[part], found[here.index(whole)]) for part in whole.parts)


def _fewer(found: Iterable[All]) -> list[All]:
    """The same in fewer words: what holds with a condition and with its opposite holds without."""
    arms = list(dict.fromkeys(found))
    for first in arms:
        for condition in first:
            opposite = Condition(condition.value, not condition.holds)
            second = first - {condition} | {opposite}
            if second in arms:
                return _fewer([arm for arm in arms if arm not in (first, second)] + [first - {condition}])
    return arms


def _factor(condition: Condition) -> str | None:
    """1 where flags are as the condition says, else 0; None for what is not asked of flags."""
    flags = _flags(condition.value)
    if flags is None:
        return None
    return " * ".join(flags) if condition.holds else f"(1 - {' * '.join(flags)})"


def _flags(value: Poly) -> list[str] | None:
    """The compile-time parameters that a value is the conjunction of."""
    symbol = value.alone
    if symbol is None or not symbol.constexpr:
        return None
    if symbol.template in ("({} & {})", "({} and {})"):
        sides = [_flags(side) for side in symbol.operands]
        return sorted({flag for side in sides if side is not None for flag in side}) if all(sides) else None
    return [symbol.name] if symbol.name.isidentifier() else None


def _written(condition: Condition) -> str:
    return condition.value.text()
