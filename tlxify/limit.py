"""LIMIT: what keeps a kernel from being faster on one launch, with the arithmetic behind it. `limits` works it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: tensor cores: its dots. memory: what it reads and writes. orchestration: what it computes between its dots (softmax,
#: masks, scales), and SMs that have nothing to do.
Word = Literal["tensor cores", "memory", "orchestration"]


@dataclass(frozen=True, slots=True)
class Rates:
    """What a chip does in a second or a cycle. `limits.chip` says where each number comes from."""

    chip: str
    sms: int
    #: Of the SM clock; every cycle here is one of these.
    ghz: float
    #: TFLOP/s of all tensor cores for the operands at hand (of several types, the mean), and GB/s of device memory.
    tflops: float
    gbps: float
    #: Bytes that L2 brings one SM in a cycle, with all SMs reading.
    l2: float
    #: Results of one SM in a cycle: additions, products, comparisons, casts; and exponentials, roots, quotients.
    ordinary: float
    special: float

    @property
    def ridge(self) -> float:
        """FLOP per byte of device memory from which on the tensor cores take longer."""
        return 1000.0 * self.tflops / self.gbps

    def microseconds(self, cycles: float) -> float:
        """How long all SMs together take for so many cycles of one."""
        return cycles / (self.sms * self.ghz * 1000.0)


@dataclass(frozen=True, slots=True)
class Product:
    """A dot, as a trip or a program makes it."""

    #: Elements: (rows, depth) @ (depth, columns).
    rows: float
    depth: float
    columns: float
    dtype: str
    #: How often it is made.
    times: float
    #: FLOP of one SM in a cycle for operands of that type.
    rate: float

    @property
    def flops(self) -> float:
        """A multiplication and an addition for each element of the tile and of the depth."""
        return 2.0 * self.rows * self.depth * self.columns * self.times

    @property
    def cycles(self) -> float:
        """Of the tensor cores of one SM."""
        return self.flops / self.rate


@dataclass(frozen=True, slots=True)
class Effort:
    """What one program does in some stretch of its code."""

    products: tuple[Product, ...]
    #: Of the blocks that it loads.
    bytes: float
    #: Elements that are computed besides products.
    ordinary: float
    special: float

    @property
    def flops(self) -> float:
        """Of all products."""
        return sum(product.flops for product in self.products)

    @property
    def tensor(self) -> float:
        """Cycles of the tensor cores."""
        return sum(product.cycles for product in self.products)

    def memory(self, rates: Rates) -> float:
        """Cycles in which L2 brings the bytes."""
        return self.bytes / rates.l2

    def vector(self, rates: Rates) -> float:
        """Cycles of everything that is computed besides, one result after the other."""
        return self.ordinary / rates.ordinary + self.special / rates.special


@dataclass(frozen=True, slots=True)
class Trip:
    """The loop whose dots take longest, and what the mean program does in one of its trips and in all."""

    #: Where the loop is ("line 43"); None: no dot is in a loop, and the whole program counts as one trip.
    where: str | None
    #: Trips that a program makes.
    count: float
    effort: Effort
    #: From the beginning to the end of a program.
    whole: Effort
    #: Places of branches that only the run decides: counted as if they skipped nothing.
    branches: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Spread:
    """How the work is spread over the SMs, each of which is given its share of programs one by one."""

    #: Programs, or tiles where programs deal these out among themselves.
    units: float
    dealt: bool
    #: Units of the SM that has most of them.
    waves: int
    sms: int

    @property
    def idle(self) -> float:
        """The share of all SMs' time in which there is nothing left to do, 0 to 1."""
        return 1.0 - self.units / (self.waves * self.sms)


@dataclass(frozen=True, slots=True)
class Shares:
    """How long a launch would take if nothing but this took time, in microseconds of the whole chip."""

    tensor: float
    #: Device memory: every tensor once. L2: every block that any program loads.
    device: float
    l2: float
    #: What is computed besides products, and the SMs' idle time.
    vector: float
    idle: float

    @property
    def memory(self) -> float:
        """The slower of the two."""
        return max(self.device, self.l2)

    @property
    def orchestration(self) -> float:
        """All that is neither multiplied nor moved."""
        return self.vector + self.idle

    @property
    def least(self) -> float:
        """No launch takes less: all bytes pass through device memory, and the SM with most to do does it all."""
        return max(self.device, self.idle + max(self.tensor, self.l2, self.vector))

    @property
    def word(self) -> Word:
        """What takes longest."""
        named: dict[Word, float] = {
            "tensor cores": self.tensor,
            "memory": self.memory,
            "orchestration": self.orchestration,
        }
        return max(named, key=lambda word: named[word])


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What limits another launch."""

    launch: str
    config: str
    word: Word
    #: No launch takes less.
    microseconds: float


@dataclass(frozen=True, slots=True)
class Limit:
    """What limits one launch under that one of its configs that could be fastest."""

    #: Sizes and element types; the config as Triton takes it.
    launch: str
    config: str
    #: The config is one of the source's, not a guess.
    listed: bool
    #: The least that the launch does: FLOP of the dots, bytes of every tensor once.
    flops: float
    bytes: float
    rates: Rates
    shares: Shares
    #: None of a kernel without a dot: then nothing but bytes is counted.
    trip: Trip | None = None
    spread: Spread | None = None
    #: The other launches that `bench` measures, and this one under other configs.
    elsewhere: tuple[Elsewhere, ...] = ()

    @property
    def word(self) -> Word:
        """In one word."""
        return self.shares.word

    @property
    def intensity(self) -> float:
        """FLOP per byte."""
        return self.flops / self.bytes if self.bytes else 0.0


@dataclass(frozen=True, slots=True)
class Untold:
    """What limits a kernel cannot be said, and why."""

    why: str
