"""The shortest time a launch could take: the larger of its operations and its bytes over the chip's rates."""

from __future__ import annotations

from dataclasses import dataclass

from .work import Work


@dataclass(frozen=True, slots=True)
class Ceilings:
    """What a chip reaches with large regular work."""

    #: TFLOP/s of the tensor cores with 16-bit operands; 8-bit operands run at twice this, fp32 (tf32) at half.
    tflops: float
    #: GB/s of device memory, bytes read and written together.
    gbps: float

    def rate(self, dtype: str) -> float:
        """TFLOP/s for operands of an element type."""
        if "8" in dtype.partition("e")[0]:
            return 2 * self.tflops
        return self.tflops / 2 if dtype.endswith("32") else self.tflops

    def floor(self, work: Work) -> float:
        """The shortest time in microseconds; by bytes alone where the operations are not known."""
        arithmetic = (work.flops or 0.0) / (self.rate(work.dtype) * 1e6)
        return max(arithmetic, work.bytes / (self.gbps * 1e3))


#: An H200 as measured: a large matrix product, and a large copy. Used where nothing was measured beside.
H200 = Ceilings(tflops=790.0, gbps=4300.0)
