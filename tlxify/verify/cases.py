"""One launch to try, as plain data: it can be printed, sent to a child process and shrunk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..contract import Contract, LaunchConfig, complete

#: The name of a case that hypothesis draws.
DRAWN = "drawn"
#: How a tensor lies in memory. rows: contiguous; padded: rows begin on multiples of 16 elements and of 32 bytes, with
#: a gap, as behind each matrix of a batch, and the elements of a vector lie two apart; columns: the last two axes
#: swapped; padded-columns: both; odd: contiguous from one element past an aligned base; overlap: begins in the memory
#: of the first tensor that is read.
Layout = Literal["rows", "padded", "columns", "padded-columns", "odd", "overlap"]
#: What the elements are. normal: independent standard normal; ones; zeros; special: normal with NaN and both
#: infinities sown in; denormal: below the smallest normal number; large: products near the top of the range.
Data = Literal["normal", "ones", "zeros", "special", "denormal", "large"]
#: Which kernel must run: "view" means the original if the guard reads the odd tensor through a descriptor, "claimed"
#: the specialized one unless the launch contradicts a claim that its source makes (`DIVISIBLE_M`).
Path = Literal["specialized", "original", "view", "claimed", "any"]

#: Order in which asynchronous work completes: as late as possible, at once, or drawn from a seed.
Schedule: TypeAlias = Literal["late", "eager"] | int
#: Every schedule that is worth its time (measured on seeded bugs), by name or seed.
ALL_SCHEDULES: tuple[Schedule, ...] = ("late", "eager", 0, 1, 2, 3)
FEW_SCHEDULES: tuple[Schedule, ...] = ("late", "eager", 0)
ONE_SCHEDULE: tuple[Schedule, ...] = ("late",)


@dataclass(frozen=True, slots=True)
class Case:
    """One launch."""

    name: str
    #: Index of the contract's config.
    config: int
    #: Sizes by name (in elements), flags, options and plain numbers included.
    values: tuple[tuple[str, object], ...]
    #: Tiles that replace the config's; empty for the config's own.
    tiles: tuple[tuple[str, int], ...] = ()
    #: Layout by tensor; "rows" where not named.
    layouts: tuple[tuple[str, Layout], ...] = ()
    #: Position in `TensorSpec.dtypes`, for every group that has so many.
    dtype: int = 0
    data: Data = "normal"
    path: Path = "any"
    schedules: tuple[Schedule, ...] = ONE_SCHEDULE
    #: Trips of the dot loop, for messages; None where the contract does not tell.
    trips: int | None = None
    #: Run the specialized kernel although its guard would decline: the size that is set to 0 behind the guard's back.
    zeroed: str | None = None
    #: Its numbers are guesses: where the source cannot run on them the case says nothing.
    daring: bool = False

    def constants(self, contract: Contract) -> dict[str, object]:
        """The constexprs of this launch: the config's, with this case's tiles."""
        known = {**dict(contract.configs[self.config].values), **dict(self.tiles)}
        values = dict(self.values)
        known |= {size: values[size] for size, _ in contract.covered if size in values}
        complete(contract, known)
        return known

    def launch_config(self, contract: Contract) -> LaunchConfig:
        """The config of this launch in the source's terms."""
        config = contract.configs[self.config]
        return LaunchConfig(tuple(self.constants(contract).items()), config.num_warps, config.num_stages)

    def layout(self, tensor: str) -> Layout:
        """How a tensor lies."""
        return dict(self.layouts).get(tensor, "rows")

    @property
    def overlaps(self) -> bool:
        """Whether some tensor lies in the memory of another."""
        return any(layout == "overlap" for _, layout in self.layouts)

    def __str__(self) -> str:
        sizes = ", ".join(f"{name} = {value!r}" for name, value in self.values)
        extras = [f"config {self.config}", *(f"{name} {layout}" for name, layout in self.layouts if layout != "rows")]
        if self.data != "normal":
            extras.append(f"{self.data} data")
        return f"{self.name} ({sizes}; {', '.join(extras)})"
