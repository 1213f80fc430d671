"""The nouns that pass between the stages of a launch: what the plan of the converter states, what a config becomes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tlx.launch.policy import Facts

__all__ = ["RING_CONSTEXPRS", "Box", "Dispatch", "RingPlan", "Schedule"]

#: The constexprs that converted kernels have and no source; the last where a role computes an operand.
RING_CONSTEXPRS = ("STAGES", "CONSUMERS", "CONSUMER_WARPS", "CONSUMER_REGISTERS", "TRANSFORM_REGISTERS")


@dataclass(frozen=True, slots=True)
class Box:
    """What one TMA load of an operand fills: a slot of `shape` elements (axes in source order), `count` per stage."""

    shape: tuple[int, ...]
    #: Slots of this operand in one stage: the number of consumer groups where the operand is split between them.
    count: int = 1
    #: The operand has one slot whatever the depth of the rings: its tile stays while a whole loop reads it.
    stays: bool = False
    #: No TMA load: threads of the producer copy the tile.
    copied: bool = False
    #: No operand of memory's: a role writes it, with elements as wide as those of the operand of this name.
    like: str | None = None

    @property
    def elements(self) -> int:
        """Elements in one stage, or in all if the operand stays."""
        return math.prod(self.shape) * self.count


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """What the launcher must know of the plan behind a converted kernel."""

    #: Plain Triton that loads through descriptors: no rings and no roles, warps and stages are the config's own.
    plain: bool = False
    #: Programs fetch tiles until none is left: the grid is folded into `GRID_0`, `GRID_1`, ... and one launch axis.
    persistent: bool = False
    #: How many `GRID_i` parameters a persistent kernel has: the rank of the grid its source was written for.
    grid_rank: int = 1
    #: The constexpr that counts the rows which consumer groups may share out; `None` where nothing can be split.
    split: str | None = None
    #: Two consumer groups take tiles in turn, each whole ones.
    alternating: bool = False
    #: The kernel's own warps are the consumers, and the producer is a warp besides.
    lean: bool = False
    #: The constexprs whose product is the output tile, for an estimate of what the epilogue takes in shared memory.
    output: tuple[str, ...] = ()
    #: Where there is more than one dot, the constexprs that are rows and columns of each result.
    products: tuple[tuple[str, str], ...] = ()
    #: Registers must hold more than accumulators: one is one of two values where arms meet again, or a tile of memory
    #: is combined with it.
    crowded: bool = False
    #: Configs to try besides the source's, in its terms: constexprs, `num_warps` and `num_stages`. A config may also
    #: fix `CONSUMERS`, `CONSUMER_WARPS` and `CONSUMER_REGISTERS`.
    configs: Sequence[Mapping[str, Any]] = ()
    #: What Triton's tuner keys those on where the source has no tuner of its own that we know.
    key: tuple[str, ...] = ()
    #: Where those configs have tiles that the source does not list: given every argument and constexpr of the source by
    #: name, how many programs its grid has along each axis if it follows the tiles; None: as many as under its own
    #: configs. A launch whose grid says otherwise is the original's.
    programs: Callable[..., tuple[int | None, ...]] | None = None


@dataclass(frozen=True, slots=True)
class RingPlan:
    """One config of the source in the terms of the converted kernel."""

    stages: int
    consumers: int
    consumer_warps: int
    consumer_registers: int
    #: The cap on registers per thread at launch; `None` leaves it to the compiler.
    maxnreg: int | None
    #: CTAs that fit one SM by registers and shared memory.
    resident: int
    #: The depth the config asked for: more than `stages` where shared memory did not allow it.
    asked: int
    #: The deepest rings that fit, and the deepest that leave room for a second CTA (0 where registers do not).
    deepest: int
    deepest_paired: int
    boxes: Mapping[str, Box] = field(hash=False)
    #: Registers of a thread of the role that computes an operand; 0 where there is none.
    transform_registers: int = 0

    @property
    def constexprs(self) -> dict[str, int]:
        """The constexpr arguments that converted kernels have."""
        values = (
            self.stages,
            self.consumers,
            self.consumer_warps,
            self.consumer_registers,
            self.transform_registers,
        )
        return dict(zip(RING_CONSTEXPRS, values, strict=True))


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Which kernel a launch would run, and with what: the record the verifier and the simulator work from."""

    #: "specialized" or "original".
    path: str
    #: Why the original runs, as a kebab-case code and a sentence; both empty on the specialized path.
    code: str
    text: str
    kernel: Any
    #: Up to three extents; `()` where nothing would be launched. A callable grid is resolved only if specialized.
    grid: Any
    #: The kernel's arguments by name, descriptors and constexprs among them.
    kwargs: Mapping[str, Any]
    #: Options of the launch, such as `num_warps` and `maxnreg`.
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    plan: RingPlan | None = None
    #: What the table of the policy `stable` may ask about it; `None` where the original runs.
    facts: Facts | None = None
