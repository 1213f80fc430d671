"""What limits a kernel on the launches that `bench` measures by default, under the best of its configs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..analyses import analyze
from ..bench.shapes import config_text, filling, title
from ..bench.sizes import Sizes, sizes_of
from ..bench.work import work_of
from ..contract import Contract
from ..facts import Facts
from ..limit import Elsewhere, Limit, Shares, Spread, Untold
from ..model import Kernel
from ..source import Span
from ..verify.cases import Case
from .chip import CHIP, Chip
from .program import NotTold, Program

#: Kinds of constexprs that choose what a kernel does: with their values only the arms that are taken count.
CHOOSING = ("flag", "option")


def limit_of(
    kernel: Kernel, facts: Facts, contract: Contract, cases: Sequence[Case] = (), chip: Chip = CHIP
) -> Limit | Untold:
    """What limits the kernel on the first of some launches, with a word about the others.

    Args:
        kernel: with its helpers written out.
        facts: about it, without assumptions.
        contract: says what its launches are.
        cases: launches of its contract; none: those that `bench` chooses. Each is tried under every listed config.
        chip: what it runs on.
    """
    if not contract.configs:
        return Untold("no config is known to launch it with")
    try:
        tried = _Tried(kernel, facts, contract, chip)
        first, *others = (_best(tried, case) for case in cases or filling(contract))
    except NotTold as error:
        return Untold(f"no launch tells {error}")
    return replace(first, elsewhere=(*first.elsewhere, *(_elsewhere(other) for other in others)))


def _best(tried: _Tried, case: Case) -> Limit:
    """The launch under the config that could be fastest, with those among the others that something else limits."""
    configs = range(len(tried.contract.listed.configs)) or [case.config]
    each = [tried.limit(replace(case, config=config)) for config in configs]
    best = min(each, key=lambda limit: limit.shares.least)
    return replace(best, elsewhere=tuple(_elsewhere(other) for other in each if other.word != best.word))


def _elsewhere(limit: Limit) -> Elsewhere:
    return Elsewhere(limit.launch, limit.config, limit.word, limit.shares.least)


@dataclass(frozen=True, slots=True)
class _Tried:
    kernel: Kernel
    facts: Facts
    contract: Contract
    chip: Chip
    #: What the compilation settles → facts for such launches.
    known: dict[tuple[tuple[str, object], ...], Facts] = field(default_factory=dict)

    def limit(self, case: Case) -> Limit:
        """One launch under the config of the case. Raises NotTold."""
        contract, config = self.contract, case.launch_config(self.contract)
        sizes = sizes_of(contract, case)
        facts = self._settled(sizes)
        work = work_of(contract, facts, sizes)
        rates = self.chip.rates()
        device = work.bytes / (rates.gbps * 1000.0)
        limit = Limit(
            title(contract, case),
            config_text(config),
            contract.configs_known,
            work.flops or 0.0,
            work.bytes,
            rates,
            Shares(0.0, device, 0.0, 0.0, 0.0),
        )
        if not facts.dots:
            return limit
        program = Program(facts, sizes, self.chip, self._where())
        trip, whole = program.trip, program.whole
        if not whole.tensor:
            raise NotTold("what it multiplies: its loops make no trip")
        rates = self.chip.rates(whole.flops / whole.tensor)
        programs = math.prod(sizes.grid)
        cycles = [programs * each for each in (whole.tensor, whole.memory(rates), whole.vector(rates))]
        tensor, l2, vector = map(rates.microseconds, cycles)
        spread = _spread(programs, program.dealt, rates.sms)
        idle = (spread.waves * spread.sms / spread.units - 1.0) * max(tensor, l2, vector)
        shares = Shares(tensor, device, l2, vector, idle)
        return replace(limit, rates=rates, shares=shares, trip=trip, spread=spread)

    def _settled(self, sizes: Sizes) -> Facts:
        """Facts about what the launch compiles, where flags and options choose."""
        chosen = _chosen(self.contract, sizes.known)
        if not chosen:
            return self.facts
        if chosen not in self.known:
            self.known[chosen] = analyze(self.kernel, dict(chosen))
        return self.known[chosen]

    def _where(self) -> Callable[[Span], str]:
        source = self.kernel.module.source

        def where(span: Span) -> str:
            origin = source.origin_of_line(span.line)
            line = origin.span.line
            return f"line {line}" if origin.source.path == source.path else f"{origin.source.path}:{line}"

        return where


def _chosen(contract: Contract, known: Mapping[str, object]) -> tuple[tuple[str, object], ...]:
    names = [spec.name for spec in contract.constexprs if spec.kind in CHOOSING]
    return tuple((name, known[name]) for name in names if name in known)


def _spread(programs: int, dealt: float | None, sms: int) -> Spread:
    """How programs, or tiles that they deal out, fall on the SMs. Raises NotTold for a launch without any."""
    units = programs * (1.0 if dealt is None else dealt)
    if not units:
        raise NotTold("what it does: it has no program")
    return Spread(units, dealt is not None, math.ceil(round(units, 6) / sms), sms)
