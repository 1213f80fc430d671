"""One way to launch a kernel: the numbers under which its text is followed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class World:
    """Concrete launch parameters. What is absent is unknown, and equal unknowns get equal values (`seed`)."""

    #: Parameter → number, string, bool or None.
    values: Mapping[str, object]
    program_id: tuple[int, ...] = (0, 0, 0)
    num_programs: tuple[int, ...] = (1, 1, 1)
    #: Bytes per element of descriptors and pointers; `itemsizes` overrides it by parameter.
    itemsize: int = 2
    itemsizes: Mapping[str, int] = field(default_factory=dict)
    #: Warps of the default task: the launch option `num_warps`.
    num_warps: int = 4
    #: Picks the outcomes of conditions and trip counts that only memory knows.
    seed: int = 0
    #: Answers of conditions that only memory knows, by line: given where such a line is the first to ask, most times.
    way: Mapping[int, bool] = field(default_factory=dict)
    #: How this world is named in findings ("K = 5 tiles, STAGES = 2").
    label: str = ""
