"""What things cost: one small table per chip. Times are nanoseconds on one SM that has its share of the whole chip.

The figures are meant for pictures: they tell whether loads hide behind dots and who waits for whom, not how long a
kernel takes to a few percent. docs/simulator.md says where each comes from and what is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from .trace import Act, Work


@dataclass(frozen=True, slots=True)
class Chip:
    """The cost model of one chip, per SM."""

    name: str
    #: FLOP per ns that the tensor cores sustain on 16-bit operands; 8-bit ones take half the time, tf32 twice
    tensor: float
    #: bytes per ns from L2, and from device memory with all SMs reading
    l2: float
    device: float
    #: ns from the issue of a TMA copy or a global load to its first bytes
    latency: float
    #: elementwise results per ns, and those of the special function unit
    arithmetic: float
    special: float
    #: bytes per ns between shared memory and registers
    shared: float
    #: ns for an instruction of a barrier, a fence, or the issue of an asynchronous operation
    instruction: float
    #: ns from the last arrival to the waiter's next instruction
    wake: float

    def duration(self, act: Act, from_device: bool = False) -> float:
        """How long an act keeps its task or unit busy; waiting is not counted."""
        if act.kind in ("wait", "stuck"):
            return 0.0
        if act.kind in ("issue", "arrive"):
            return self.instruction
        return self.busy(act.work, from_device)

    def busy(self, work: Work, from_device: bool = False) -> float:
        """Time that some work takes once it has begun, part after part."""
        return (
            work.flop * work.bits / 16 / self.tensor
            + work.nbytes / (self.device if from_device else self.l2)
            + work.shared / self.shared
            + work.elements / self.arithmetic
            + work.special / self.special
        )


_SMS = 132
_GHZ = 1.755

HOPPER = Chip(
    name="Hopper (H100/H200 SXM)",
    tensor=790e12 / _SMS / 1e9,
    l2=5120 / _SMS * _GHZ,
    device=4.3e12 / _SMS / 1e9,
    latency=600.0,
    arithmetic=128 * _GHZ,
    special=16 * _GHZ,
    shared=128 * _GHZ,
    instruction=10.0,
    wake=20.0,
)

CHIPS: dict[str, Chip] = {"hopper": HOPPER}


def chip(name: str) -> Chip:
    """The cost model of that name.

    Raises:
        ValueError: there is none.
    """
    if name not in CHIPS:
        raise ValueError(f"no cost model for {name!r}; known: {', '.join(sorted(CHIPS))}")
    return CHIPS[name]
