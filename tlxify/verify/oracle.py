"""What the source kernel computes, and what it would compute without rounding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..contract import Contract
from .buffers import Arguments, Memory, make_arguments
from .cases import Case
from .compare import compare_memory
from .described import passed


class SourceFails(Exception):
    """The source kernel itself is at fault on these inputs. Carries what it did, in words."""


class NoLaunch(Exception):
    """The source kernel assumes that it is never launched so (`tl.assume`)."""


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """The outputs to compare with, by tensor."""

    outputs: Mapping[str, Memory]
    #: float64 values of the same outputs; None for all where the source has no lifted oracle (it rounds, or is TLX).
    exact: Mapping[str, Any] | None
    #: How often one program executed one dot, at most.
    trips: int = 0
    #: Its programs touch the same memory with nothing to order them.
    clashes: bool = False


def reference(kernel: Any, contract: Contract, case: Case, *, sharing: bool = False) -> Reference:
    """Runs the source in the simulator: twice as it is, and lifted to float64.

    The second time all memory around and between the inputs' elements, and in the outputs, holds something else: a
    result that changes with it rests on what is not the source's to read. `sharing` asks whether its programs touch
    the same memory unordered.

    Raises:
        SourceFails: it accesses memory that is not its own, its runs differ, or it is not valid Triton.
        NoLaunch: the case contradicts what it assumes.
    """
    plain, again = make_arguments(contract, case, 0), make_arguments(contract, case, 1)
    trips, clashes = 0, False
    for arguments in (plain, again):
        # Tensors that share memory share addresses as well; all others end where their elements do.
        report = _run(kernel, arguments, exact=not case.overlaps, sharing=sharing and arguments is plain)[0]
        trips, clashes = report.trips, clashes or bool(report.clashes)
        for memory in arguments.tensors.values():
            if (damage := memory.damaged()) is not None:
                raise SourceFails(damage)
    for name, memory in plain.tensors.items():
        if memory.spec.writes:
            _agree(memory, again.tensors[name])
    written = {name: memory for name, memory in plain.tensors.items() if memory.spec.writes}
    if _uses_tlx(kernel):
        return Reference(written, None, trips, clashes)
    report, tensors = _run(kernel, make_arguments(contract, case, 1), lift=True)
    exact = None if report.unlifted else {name: tensors[name].lifted for name in written}
    return Reference(written, exact, trips, clashes)


def backwards(kernel: Any, contract: Contract, case: Case) -> Arguments:
    """The arguments of a launch of the source after it, its programs having run from the last to the first."""
    arguments = make_arguments(contract, case, 0)
    _run(kernel, arguments, backwards=True)
    return arguments


def last_first(programs: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Programs in the other order."""
    return programs[::-1]


def rests_on_order(kernel: Any, contract: Contract, case: Case, expected: Reference) -> str | None:
    """The output of the source that differs where its programs run the other way round, by more than rounding.

    Programs run in any order, and at once: those that write to one place, each something else, are launched wrongly.
    """
    arguments = backwards(kernel, contract, case)
    for name, source in expected.outputs.items():
        memory = arguments.tensors[name]
        exact = None if expected.exact is None else expected.exact[name]
        if compare_memory(memory, source, exact).mismatch is not None:
            return name
    return None


def _uses_tlx(kernel: Any) -> bool:
    """Whether a source is TLX itself: rings in shared memory have no float64 counterpart."""
    from tlx.adopted import uses_tlx

    while not hasattr(kernel, "arg_names"):
        kernel = kernel.fn
    return uses_tlx(kernel)


def launch_arguments(arguments: Arguments, tensors: Mapping[str, Any]) -> dict[str, Any]:
    """The source kernel's arguments by name."""
    scalars = {name: as_constexpr(value) for name, value in arguments.scalars.items()}
    specs = (memory.spec for memory in arguments.tensors.values())
    known = {**arguments.scalars, **arguments.constants}
    return {**scalars, **arguments.constants, **passed(specs, tensors, known)}


def as_constexpr(value: object) -> object:
    """Contracts name element types by Triton's short names; kernels get the types themselves."""
    if not isinstance(value, str):
        return value
    import triton.language as tl

    floats = {"fp16": tl.float16, "bf16": tl.bfloat16, "fp32": tl.float32}
    return {**floats, "fp8e4nv": tl.float8e4nv, "fp8e5": tl.float8e5}.get(value, value)


def _agree(first: Memory, second: Memory) -> None:
    """Raises SourceFails where two runs on equal inputs wrote different elements."""
    written = ~first.unwritten()
    # Some value in the place of poison may be what was written: then the other run, poisoned otherwise, has it too.
    differs = (written | ~second.unwritten()) & (first.pattern != second.pattern)
    if differs.any():
        index = ", ".join(str(int(axis)) for axis in np.argwhere(differs)[0])
        raise SourceFails(
            f"{first.spec.name}[{index}] differs from run to run on equal inputs: it rests on memory that was never "
            "written, or on an order that nothing fixes"
        )


def _run(
    kernel: Any,
    arguments: Arguments,
    *,
    lift: bool = False,
    exact: bool = False,
    backwards: bool = False,
    sharing: bool = False,
) -> tuple[Any, Mapping[str, Any]]:
    """One simulated launch; `exact` puts what lies around each tensor out of bounds."""
    import tlx.sim

    tensors = {name: tlx.sim.tensor(memory.array, exact) for name, memory in arguments.tensors.items()}
    try:
        order = last_first if backwards else None
        named = launch_arguments(arguments, tensors)
        report = tlx.sim.run(kernel, arguments.grid, (), named, lift=lift, order=order, sharing=sharing)
    except tlx.sim.AssumptionError as error:
        raise NoLaunch(str(error)) from error
    except tlx.sim.SimulationError as error:
        raise SourceFails(str(error)) from error
    if report.findings:
        raise SourceFails(str(report.findings[0]))
    return report, tensors
