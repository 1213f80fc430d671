"""Lowering of mbarriers and named barriers."""

from __future__ import annotations

from typing import Any

import triton.language as tl
from triton.experimental.gluon.language import _core as ttgl
from triton.experimental.gluon.language.nvidia import hopper

from ..builtin import TLXError, described, unwrap
from ..types import mbarrier, mbarrier_type
from .arrivals import FENCE
from .blocks import BlockSemantic
from .state import current

#: arrivals that the 20-bit counter of an mbarrier holds
_MAX_ARRIVALS = (1 << 20) - 1
#: of a CTA
MOST_THREADS = 1024


class BarrierSemantic(BlockSemantic):
    """How tasks wait for each other."""

    #: hardware barriers that the compiler uses itself in the region being compiled
    reserved_barriers: frozenset[int] = frozenset({0, 1})

    def only_nvidia(self, what: str) -> None:
        """Refuses what no other GPU has."""
        if current().gfx:
            raise TLXError(f"{what} needs an NVIDIA GPU; this kernel is compiled for {current().gfx}")

    def mbarrier_alloc(self, num: int, arrivals: int, per_thread: bool) -> mbarrier:
        """Allocates and initialises; the fence makes the initialised words visible to the async proxy."""
        self.only_nvidia("an mbarrier")
        if num < 1:
            raise TLXError(f"the number of barriers must be at least 1, not {num}")
        if not 1 <= arrivals <= _MAX_ARRIVALS:
            raise TLXError(f"an mbarrier counts 1 to {_MAX_ARRIVALS} arrivals, not {arrivals}")
        layout = hopper.mbarrier.MBarrierLayout()
        shape = [num, 1]
        raw = ttgl.allocate_shared_memory(ttgl.int64, shape, layout, _semantic=self)
        array = mbarrier(raw.handle, mbarrier_type(ttgl.int64, num, layout, shape, per_thread))
        array.owns = True
        for slot in range(num):
            hopper.mbarrier.init(raw.index(slot, _semantic=self), arrivals, _semantic=self)
        hopper.fence_async_shared(_semantic=self)
        return array

    def _single(self, bar: Any, what: str, *, remote: bool = False) -> mbarrier:
        """One barrier, of this CTA unless ``remote``."""
        if not isinstance(bar, mbarrier):
            raise TLXError(f"{what} takes an mbarrier, not {described(bar)}")
        if bar.num:
            raise TLXError(f"{what} takes one barrier, not an array of {bar.num}: write bars[slot]")
        if bar.remote_rank is not None and not remote:
            raise TLXError(
                f"{what} takes a barrier of this CTA: it can arrive at a barrier of another, but wait only at its own"
            )
        return bar

    def _whole_number(self, value: Any, what: str) -> Any:
        """An integer scalar, as an i32."""
        number = self.to_tensor(value)
        if number.type.is_block() or not number.type.scalar.is_int():
            raise TLXError(f"{what} must be an integer scalar, not {described(value)}")
        return self.cast(number, tl.int32)

    def _predicate(self, pred: Any) -> Any:
        if unwrap(pred) is None:
            return True
        value = self.to_tensor(pred)
        if value.type.is_block() or not value.type.scalar.is_int():
            raise TLXError(f"pred must be a boolean scalar, not {described(pred)}")
        return self.cast(value, tl.int1)

    def _mask(self, mask: Any, what: str) -> Any:
        """Booleans, or None."""
        if unwrap(mask) is None:
            return None
        gate = self.to_tensor(mask)
        if gate.type.scalar != tl.int1:
            raise TLXError(f"the mask of {what} must be a block of booleans, not {described(mask)}")
        return gate

    def mbarrier_expect(self, bar: Any, size: int, pred: Any) -> None:
        """arrive.expect_tx by one thread."""
        raw = self._single(bar, "barrier_expect_bytes").gluon()
        if not 0 <= size < 1 << 20:
            raise TLXError(f"an mbarrier tracks less than 1 MiB per phase, not {size} bytes")
        hopper.mbarrier.expect(raw, size, pred=self._predicate(pred), _semantic=self)

    def mbarrier_wait(self, bar: Any, phase: Any, pred: Any) -> None:
        """try_wait.parity until it succeeds."""
        raw = self._single(bar, "barrier_wait").gluon()
        parity = unwrap(phase)
        if isinstance(parity, bool) or getattr(getattr(parity, "type", None), "scalar", None) == tl.int1:
            raise TLXError(
                "the phase of barrier_wait must be an integer, not a boolean: use a counter, or .to(tl.int32)"
            )
        if isinstance(parity, int) and parity not in (0, 1):
            raise TLXError(f"the phase of barrier_wait is 0 or 1, not {parity}")
        parity = self._whole_number(parity, "the phase of barrier_wait")
        hopper.mbarrier.wait(raw, parity, pred=self._predicate(pred), _semantic=self)

    def mbarrier_arrive(self, bar: Any, count: int, pred: Any) -> None:
        """One thread arrives for the task, whose warps meet first; at a warp barrier each thread arrives by itself."""
        target = self._single(bar, "barrier_arrive")
        if count < 1:
            raise TLXError(f"arrive_count must be at least 1, not {count}")
        if target.is_warp_barrier and count == 1 and unwrap(pred) is None:
            self._arrive_by_thread(target)
            return
        times = count * (32 * self.warps if target.is_warp_barrier else 1)
        hopper.mbarrier.arrive(target.gluon(), count=times, pred=self._predicate(pred), _semantic=self)

    def _arrive_by_thread(self, target: mbarrier) -> None:
        """An arrival of every thread of the task, without their meeting.

        Triton's own arrival is one thread's, after a barrier of the task. What it has for every thread is the arrival
        when the thread's earlier cp.async copies are done: at once where there are none. It does not order anything
        else, so a fence goes before it. Where it can, ``arrivals`` makes a plain arrival of both in the end.
        """
        self.inline_statement(FENCE)
        hopper.async_copy.mbarrier_arrive(target.gluon(), increment_count=False, _semantic=self)

    def named_barrier(self, kind: str, bar: int, threads: int, generator: Any) -> None:
        """bar.sync or bar.arrive as inline assembly."""
        self.only_nvidia("a named barrier")
        if not 0 <= bar <= 15:
            raise TLXError(f"a named barrier is 0 to 15, not {bar}")
        if bar in self.reserved_barriers:
            taken = ", ".join(map(str, sorted(self.reserved_barriers)))
            raise TLXError(f"named barrier {bar} belongs to the compiler here (it uses {taken}): take a higher one")
        own = 32 * self.warps
        if threads % 32 or threads < own:
            raise TLXError(
                f"named barrier {bar}: {threads} threads must be a multiple of 32 and include this task's own {own}"
            )
        if threads > MOST_THREADS:
            raise TLXError(f"named barrier {bar}: a CTA has at most {MOST_THREADS} threads, not {threads}")
        known = current().named_barriers.setdefault(bar, threads)
        if known != threads:
            raise TLXError(
                f"named barrier {bar} is used with {threads} threads here and with {known} elsewhere: all its waits "
                "and arrives must give the same number, that of all threads that take part"
            )
        self.inline_statement(f"bar.{kind} {bar}, {threads};")

    def inline_statement(self, asm: str) -> None:
        """One instruction for its effect. The IR wants a result, so a zero is produced and dropped."""
        self.only_nvidia(f"'{asm.split()[0]}'")
        zero = "mov.u32 $0, 0;"
        self.builder.create_inline_asm(f"{zero} {asm}", "=r,~{memory}", [], [tl.int32.to_ir(self.builder)], False, 1)

    def special_register(self, name: str, dtype: Any) -> Any:
        """The value of a PTX special register, read anew each time."""
        self.only_nvidia(name)
        bits, constraint = ("u32", "=r") if dtype.primitive_bitwidth == 32 else ("u64", "=l")
        call = self.builder.create_inline_asm(
            f"mov.{bits} $0, {name};", constraint, [], [dtype.to_ir(self.builder)], False, 1
        )
        return self.tensor(call.get_result(0), dtype)

    def cluster_rank(self) -> Any:
        """The rank of this CTA in its cluster."""
        return self.special_register("%cluster_ctarank", tl.int32)
