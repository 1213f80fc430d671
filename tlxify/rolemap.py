"""Which role each line of a kernel ended up in, and why: what `tlxify analyze` shows."""

from __future__ import annotations

from .facts import Facts, StatementFact, every
from .model import Kernel
from .outcome import RoleLine
from .plan import Plan
from .source import Span


def role_lines(kernel: Kernel, facts: Facts, plan: Plan) -> tuple[RoleLine, ...]:
    """One entry per line of the kernel, decorators and signature included, with helpers written out."""
    marks = _Described(facts, plan) if plan.plain else _Marks(facts, plan)
    source = kernel.module.source
    result = []
    for number in range(kernel.span.line, kernel.span.end_line + 1):
        text = source.line(number)
        roles, why = (
            marks.of_line(number) if text.strip() and not text.lstrip().startswith("#") else (frozenset[str](), "")
        )
        origin = source.origin_of_line(number)
        file = origin.source.path if origin.source.path != source.path else None
        result.append(RoleLine(origin.span.line, text, roles, why, file))
    return tuple(result)


class _Marks:
    def __init__(self, facts: Facts, plan: Plan) -> None:
        self.plan = plan
        self.produced = plan.task("producer").keeps
        self.consumed = plan.task("consumer").keeps
        self.computed = frozenset(span for task in plan.tasks if task.name == "transform" for span in task.keeps)
        self.raw = {fill.statement for ring, _, fill in plan.fills() if ring.transformed}
        self.loads = {fill.statement: ring.buffer(fill.buffer) for ring, _, fill in plan.fills()}
        self.dots = {step.statement: step for step in plan.dots}
        #: Behind the last loop that fills or uses slots, or behind the last dot, the epilogue begins.
        spans = [fill.statement for _, _, fill in plan.fills()] + [dot.statement for dot in facts.dots]
        loops = [loop for load in facts.loads if load.statement in self.loads for loop in load.loops[-1:]]
        self.end = max((span.end_line, span.end_column) for span in (*spans, *loops))
        self.address = _address_names(facts, frozenset(fill.statement for _, _, fill in plan.fills()))
        # Statements of no width are not in the source: they carry an early return on.
        written = (s for s in every(facts.statements) if s.span != Span(s.span.line, s.span.column, *_start(s.span)))
        self.statements = list(written)

    def of_line(self, number: int) -> tuple[frozenset[str], str]:
        """Roles of the innermost statement on a line."""
        on_line = [s for s in self.statements if s.span.line <= number <= s.span.end_line]
        if not on_line:
            return frozenset(), ""
        statement = on_line[-1]
        if statement.kind != "simple" and number != statement.span.line:
            return frozenset(), ""
        return self._of(statement)

    def _of(self, statement: StatementFact) -> tuple[frozenset[str], str]:
        span = statement.span
        if statement.text_kind == "docstring":
            return frozenset(), ""
        if statement.text_kind == "return":
            around = [s for s in self.statements if s.kind == "branch" and s.span.contains(span)]
            return (self._of(around[-1])[0] if around else frozenset()), "what follows stands under the other condition"
        if span in self.dots:
            step = self.dots[span]
            why = f"dot on slots of {' and '.join(s.buffer for s in (step.a, step.b) if s.buffer)}"
            return frozenset({"transform", "consumer"} if span in self.computed else {"consumer"}), why
        if span in self.loads:
            buffer = self.loads[span]
            how = "through" if buffer.view.copied is None else "with rows of"
            filling = {"producer", "transform"} if span in self.raw else {"producer"}
            return frozenset(filling), f"fills {buffer.name} {how} {buffer.view.descriptor}"
        roles: set[str] = set()
        if span in self.produced:
            roles.add("producer")
        if span in self.computed:
            roles.add("transform")
        if span in self.consumed:
            roles.add("consumer" if self._before_end(span) else "epilogue")
        if len(roles) > 1:
            return frozenset(
                roles
            ), "cheap, so each role computes it" if statement.kind == "simple" else "each role takes the same trips"
        if roles:
            return frozenset(roles), ""
        if statement.binds & self.address:
            return frozenset({"address"}), "the descriptor and its coordinates replace it"
        return frozenset({"dead"}), "nothing needs it"

    def _before_end(self, span: Span) -> bool:
        return (span.line, span.column) <= self.end


class _Described:
    """Lines of a kernel without roles: which load through descriptors, and what goes with the addresses."""

    def __init__(self, facts: Facts, plan: Plan) -> None:
        self.keeps = plan.task("program").keeps
        self.loads: dict[Span, list[str]] = {}
        for one in plan.described:
            self.loads.setdefault(one.statement, []).append(one.view.descriptor)
        self.address = _address_names(facts, frozenset(self.loads))
        self.statements = list(every(facts.statements))

    def of_line(self, number: int) -> tuple[frozenset[str], str]:
        """What becomes of the innermost statement on a line."""
        on_line = [s for s in self.statements if s.span.line <= number <= s.span.end_line]
        if not on_line or (on_line[-1].kind != "simple" and number != on_line[-1].span.line):
            return frozenset(), ""
        statement = on_line[-1]
        if (names := self.loads.get(statement.span)) is not None:
            return frozenset(), f"loads through {' and '.join(names)}"
        if statement.span in self.keeps or statement.text_kind in ("docstring", "return"):
            return frozenset(), ""
        if statement.binds & self.address:
            return frozenset({"address"}), "the descriptor and its coordinates replace it"
        return frozenset({"dead"}), "nothing needs it"


def _start(span: Span) -> tuple[int, int]:
    return span.line, span.column


def _address_names(facts: Facts, filling: frozenset[Span]) -> frozenset[str]:
    """Names that only led to operand addresses and masks."""
    found = frozenset(n for s in every(facts.statements) if s.span in filling for n in s.reads)
    while True:
        more = found | {n for s in every(facts.statements) if s.binds & found for n in s.reads}
        if more == found:
            return found
        found = more
