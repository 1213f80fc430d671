"""What is known of a conversion without running it: whether its protocol holds, and how its dots get their operands."""

from __future__ import annotations

import ast
import time
from dataclasses import dataclass

from tlxify.conversion import Conversion
from tlxify.plan import Plan
from tlxify.verdict import Rung
from tlxify.verify import verify
from tlxify.verify.child import Limits


@dataclass(frozen=True, slots=True)
class Protocol:
    """How the first rung of the ladder ended, on the launches that the launcher would make."""

    #: holds, or the code of the first finding: not-proved, deadlock, crash …
    outcome: str
    findings: tuple[str, ...] = ()
    #: What was left out for want of something: budgets, where the launcher specializes no config.
    skipped: tuple[str, ...] = ()
    seconds: float = 0.0


def protocol(conversion: Conversion, seconds: float) -> Protocol:
    """The rung of a conversion, as `tlxify verify` climbs it; the launcher has so many seconds to answer."""
    started = time.monotonic()
    # Tensors as large as real ones take addresses, though no memory: as many of those as on the command line.
    verdict = verify(conversion, upto=Rung.PROTOCOL, limits=Limits(seconds))
    wrong = [item for item in verdict.evidence if not item.ok]
    return Protocol(
        wrong[0].code if wrong else "holds",
        tuple(f"{item.code}: {item.text}" for item in wrong),
        verdict.skipped,
        round(time.monotonic() - started, 1),
    )


@dataclass(frozen=True, slots=True)
class Dots:
    """The dots of a conversion, by where their operands are."""

    #: `async_dot`: the second operand at least is read in its slot.
    in_place: int
    #: As the source has them, on operands in registers.
    in_registers: int


def dots(plan: Plan, conversion: Conversion) -> Dots:
    """The dots of the specialized kernel: those that the plan issues from slots, and what its text has besides."""
    functions = [node for node in ast.walk(ast.parse(conversion.module_text)) if isinstance(node, ast.FunctionDef)]
    kernel = next(node for node in functions if node.name == conversion.converted)
    calls = [ast.unparse(node.func).rpartition(".")[2] for node in ast.walk(kernel) if isinstance(node, ast.Call)]
    return Dots(len(plan.dots), sum(name in ("dot", "dot_scaled") for name in calls))
