"""The H200 in numbers: what its tensor cores, its memory and its other units do in a second or a cycle.

Rates of the whole chip are measured ceilings, not figures of a data sheet: a limit is then what a launch can come to.

- Tensor cores: 790 TFLOP/s with 16-bit operands (`bench.roofline.H200`), over 132 SMs and 1.755 GHz 3410 FLOP a cycle.
  The data sheet's 989.4 TFLOP/s are 132 SMs × 4096 FLOP × 1.83 GHz: no large product keeps that clock.
- Device memory: 4300 GB/s, measured there too.
- L2: 11 500 GB/s, 49.6 bytes a cycle and SM, as much as it was seen to bring for 16-bit operands. `gemm/batched_heads`
  of benchmarks/results/corpus-h200.json took 1476 to 1496 µs with tiles of 64 × 64 × 64, whose trips load 17.2 GB,
  each from L2 but for its first time. Tiles of 128 × 128 × 64 with long loops come to 0.84 to 0.97 of that there.
  Those of 8 bits, and programs that load one tile as both operands, came to up to 1.5 times that: the word for them is
  less certain.
- Other units: of one SM in a cycle 128 additions or products of fp32 and 16 exponentials or reciprocals (CUDA C++
  Programming Guide, throughput of arithmetic instructions, compute capability 9.0).
- Clock: 1.755 GHz, as in the simulator's table of costs.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..bench.roofline import H200, Ceilings
from ..limit import Rates


@dataclass(frozen=True, slots=True)
class Chip:
    """A chip's rates for operands of any type."""

    name: str
    ceilings: Ceilings
    sms: int
    ghz: float
    #: GB/s that L2 brings all SMs together.
    l2_gbps: float
    #: Results of one SM in a cycle.
    ordinary: float
    special: float

    def tensor(self, dtype: str) -> float:
        """FLOP of one SM in a cycle for operands of an element type."""
        return self.ceilings.rate(dtype) * 1000.0 / (self.sms * self.ghz)

    def rates(self, flop: float | None = None) -> Rates:
        """Everything for a launch whose dots make so many FLOP in a cycle of one SM; None: with 16-bit operands."""
        cycles = self.sms * self.ghz
        tflops = self.ceilings.tflops if flop is None else flop * cycles / 1000.0
        l2 = self.l2_gbps / cycles
        return Rates(self.name, self.sms, self.ghz, tflops, self.ceilings.gbps, l2, self.ordinary, self.special)


CHIP = Chip("H200", H200, sms=132, ghz=1.755, l2_gbps=11_500.0, ordinary=128.0, special=16.0)
