"""What the source kernel computes, and what it would compute without rounding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..contract import Contract
from .buffers import Arguments, Memory, make_arguments
from .cases import Case


class SourceFails(Exception):
    """The source kernel itself is at fault on these inputs. Carries what it did, in words."""


class NoLaunch(Exception):
    """The source kernel assumes that it is never launched so (`tl.assume`)."""


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """The outputs to compare with, by tensor."""

    outputs: Mapping[str, Memory]
    #: float64 values of the same outputs; None for all where the source has no lifted oracle.
    exact: Mapping[str, Any] | None


def reference(kernel: Any, contract: Contract, case: Case) -> Reference:
    """Runs the source in the simulator, as it is and lifted to float64.

    Raises:
        SourceFails: it accesses memory that is not its own, or is not valid Triton.
        NoLaunch: the case contradicts what it assumes.
    """
    plain = make_arguments(contract, case, 0)
    _run(kernel, plain)
    for memory in plain.tensors.values():
        if (damage := memory.damaged()) is not None:
            raise SourceFails(damage)
    lifted = make_arguments(contract, case, 1)
    report, tensors = _run(kernel, lifted, lift=True)
    written = {name: memory for name, memory in plain.tensors.items() if memory.spec.writes}
    exact = None if report.unlifted else {name: tensors[name].lifted for name in written}
    return Reference(written, exact)


def launch_arguments(arguments: Arguments, tensors: Mapping[str, Any]) -> dict[str, Any]:
    """The source kernel's arguments by name."""
    scalars = {name: as_constexpr(value) for name, value in arguments.scalars.items()}
    return {**scalars, **arguments.constants, **tensors}


def as_constexpr(value: object) -> object:
    """Contracts name element types by Triton's short names; kernels get the types themselves."""
    if not isinstance(value, str):
        return value
    import triton.language as tl

    floats = {"fp16": tl.float16, "bf16": tl.bfloat16, "fp32": tl.float32}
    return {**floats, "fp8e4nv": tl.float8e4nv, "fp8e5": tl.float8e5}.get(value, value)


def _run(kernel: Any, arguments: Arguments, *, lift: bool = False) -> tuple[Any, Mapping[str, Any]]:
    import tlx.sim

    tensors = {name: tlx.sim.tensor(memory.array) for name, memory in arguments.tensors.items()}
    try:
        report = tlx.sim.run(kernel, arguments.grid, (), launch_arguments(arguments, tensors), lift=lift)
    except tlx.sim.AssumptionError as error:
        raise NoLaunch(str(error)) from error
    except tlx.sim.SimulationError as error:
        raise SourceFails(str(error)) from error
    if report.findings:
        raise SourceFails(str(report.findings[0]))
    return report, tensors
