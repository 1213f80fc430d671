"""Registers where a role of its own computes an operand: what the consumers leave it, and whether that is enough.

The role is one warp group. Beside it and the producer's there is room for one CTA on an SM, so all of the register file
is shared out between the three. Figures were measured with the ptxas of Triton 3.6, on an operand of 64 x 128 elements
made from int8, fp8 and int32: it spilled nothing where these rules let a launch through.
"""

from __future__ import annotations

from dataclasses import dataclass

from tlx.launch.guard import Fallback

__all__ = ["Computing"]

#: Registers of an SM, and the most that a thread is given.
SM_REGISTERS, MOST_REGISTERS = 65_536, 232
#: Threads of the role, and of the producer.
THREADS = 128
#: Columns of one wgmma, and the registers besides half of one for each that ptxas wants at launch for it (C7602).
WIDEST_WGMMA, WGMMA_REGISTERS = 256, 26
#: Of a consumer thread of eight warps: accumulators, and the registers that it then has. The 512 threads of the launch
#: have 128 each on average.
CONSUMERS = ((64, 136), (128, 184))
#: Of a thread of the role, besides its raw tile and the block that it makes of that in fp32.
BASE_REGISTERS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Computing:
    """What the roles of one config have to hold."""

    #: Of all consumer groups.
    warps: int
    #: Of a consumer thread, and the columns of its widest product.
    accumulators: int
    columns: int
    #: Bytes of the raw tiles, and elements of the block that is computed from them.
    raw_bytes: int
    block: int
    #: Registers of a thread of the producer.
    producer: int

    def registers(self, asked: int | None) -> tuple[int, int]:
        """Registers of a consumer thread, `asked` ones if that is said, and of a thread of the role.

        Raises `Fallback` with code `registers` where one of them would not have enough.
        """
        threads = 32 * self.warps + 2 * THREADS
        at_launch = SM_REGISTERS // threads // 8 * 8
        if min(self.columns, WIDEST_WGMMA) // 2 + WGMMA_REGISTERS > at_launch:
            what = f"a product of {self.columns} columns, {threads} threads of {at_launch} registers at launch"
            raise Fallback("registers", f"{what}: with a role that computes an operand, that is too wide for ptxas")
        few = MOST_REGISTERS if self.warps <= 4 else None
        own = asked or few or next((own for most, own in CONSUMERS if self.accumulators <= most), MOST_REGISTERS)
        left = (at_launch * threads - 32 * self.warps * own - THREADS * self.producer) // THREADS // 8 * 8
        needed = BASE_REGISTERS + self.raw_bytes // (4 * THREADS) + self.block // THREADS
        if left < needed:
            what = f"beside {self.accumulators} accumulators in each of {32 * self.warps} threads"
            raise Fallback(
                "registers",
                f"{what}, the role that computes an operand has {left} registers a thread: it needs {needed}",
            )
        return own, min(left, MOST_REGISTERS)
