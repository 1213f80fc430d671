"""NVIDIA Hopper, sm_90: the numbers a plan must respect and the moves it may make."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """What one chip allows. Sizes in bytes unless the name says otherwise."""

    name: str
    #: Shared memory that one block may ask for.
    shared_memory: int
    #: 32-bit registers of one SM.
    registers: int
    warps_per_group: int
    #: Rows that one warp group's wgmma multiplies at a time.
    dot_rows: int
    #: Smallest contracted tile of a 16-bit dot.
    dot_depth: int
    #: Longest side of a TMA box, in elements.
    box_limit: int
    #: Alignment of TMA bases and outer strides.
    tma_alignment: int
    #: Operand dtypes of the tensor cores; those that they read from shared memory along the contracted axis alone.
    dot_dtypes: tuple[str, ...]
    deep_dtypes: tuple[str, ...]
    producer_warps: int
    producer_registers: int
    #: Registers of a thread of a producer that is one warp: the least that a role may have.
    lean_registers: int
    consumer_registers: int
    #: Accumulators that a consumer thread can hold, over all dots of a loop; where it holds as much again beside them.
    most_accumulators: int
    crowded_accumulators: int

    def accumulators(self, *, crowded: bool) -> int:
        """How many a consumer thread can hold."""
        return self.crowded_accumulators if crowded else self.most_accumulators


HOPPER = Target(
    name="sm_90",
    shared_memory=232_448,
    registers=65_536,
    warps_per_group=4,
    dot_rows=64,
    dot_depth=16,
    box_limit=256,
    tma_alignment=16,
    dot_dtypes=("fp16", "bf16", "fp8e4nv", "fp8e5", "i8"),
    deep_dtypes=("fp8e4nv", "fp8e5", "i8"),
    producer_warps=4,
    producer_registers=40,
    lean_registers=24,
    consumer_registers=232,
    most_accumulators=224,
    crowded_accumulators=128,
)
