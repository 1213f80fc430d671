"""What the simulator can report: one class per kind, each with a stable code and one sentence on what to change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .sites import Site


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault, seen on one schedule."""

    code: ClassVar[str] = ""
    remedy: ClassVar[str] = ""

    #: one sentence of fact
    what: str
    #: where it was noticed
    site: Site
    #: the other line involved, if there is one
    other: Site | None
    #: the tasks and asynchronous operations involved
    agents: tuple[str, ...]
    #: state of the barriers that matter, one text each
    barriers: tuple[str, ...]
    #: program id of the simulated CTA
    program: tuple[int, int, int]
    #: the schedule that replays it, as ``tlx.sim.run(..., schedule=...)`` takes it
    schedule: str

    def __str__(self) -> str:
        lines = [f"{self.code}: {self.what}", f"  {self.site}: {self.site.text}"]
        if self.other is not None:
            lines.append(f"  {self.other}: {self.other.text}")
        if self.agents:
            lines.append(f"  between: {'; '.join(self.agents)}")
        lines.extend(f"  barrier {state}" for state in self.barriers)
        lines.append(f"  replay: program {self.program}, schedule={self.schedule}")
        lines.append(f"  fix: {self.remedy}")
        return "\n".join(lines)


class Deadlock(Finding):
    """Nothing can run and something is unfinished."""

    code = "deadlock"
    remedy = "give every wait an arrive (and every expected byte a copy) that does not itself depend on that wait."


class Race(Finding):
    """Two accesses to the same bytes, one of them a write, that nothing orders."""

    code = "race"
    remedy = "make the later access wait on a barrier that the earlier one's task arrives on after it."


class ReleaseBeforeRetire(Finding):
    """A slot is overwritten although an asynchronous reader of it has not been waited for."""

    code = "release-before-retire"
    remedy = "wait for the asynchronous reader (async_dot_wait, async_descriptor_store_wait) before releasing its slot."


class StorageAliasOverlap(Finding):
    """Two buffers that share storage are used at the same time."""

    code = "storage-alias-overlap"
    remedy = "order the last use of one buffer before the first use of the buffer that reuses its storage."


class WrongPhase(Finding):
    """A wait returned at once because it asked for a phase that was already over, and what it guards was not ready."""

    code = "wrong-phase"
    remedy = "a consumer waits with (n // stages) & 1, a producer with that ^ 1, n counting the uses of the ring."


class PhaseLag(Finding):
    """A waiter fell two or more phases behind; the parity test cannot tell these apart."""

    code = "phase-lag"
    remedy = "let nobody complete a phase before every waiter of the one before it has passed (count all arrivals)."


class ReadBeforeFill(Finding):
    """A read of shared memory that nothing has ever written."""

    code = "read-before-fill"
    remedy = "wait on the slot's full barrier before reading it, and fill every slot that is read."


class ResultBeforeRetire(Finding):
    """The value of an asynchronous dot is used before a wait that threads it."""

    code = "result-before-retire"
    remedy = "use the value that async_dot_wait returns, with a pendings count that covers this dot."


class ExpectBytes(Finding):
    """The bytes announced for a phase are not the bytes copied in it."""

    code = "expect-bytes"
    remedy = "announce, once per phase, the sum of the bytes of all copies bound to the barrier."


class TooManyArrivals(Finding):
    """An arrival may land in, or overflows, a phase it is not meant for."""

    code = "too-many-arrivals"
    remedy = "let arrive_count be the number of arrivals per phase; barrier_expect_bytes counts as one."


class SlotOutOfRange(Finding):
    """A buffer or barrier array is indexed outside its slots."""

    code = "slot-out-of-range"
    remedy = "take the slot modulo the number of slots allocated."


class SharedOutOfBounds(Finding):
    """A view reaches outside its tile."""

    code = "shared-out-of-bounds"
    remedy = "keep offset + shape of a slice inside the tile."


class MissingFence(Finding):
    """An asynchronous unit reads what ordinary stores wrote, or writes what ordinary loads read, with no proxy fence in
    between."""

    code = "missing-fence"
    remedy = 'call tlx.fence("async_shared") after the stores or loads, before telling the other task.'


class NamedBarrierMismatch(Finding):
    """Tasks disagree about the number of threads of a named barrier."""

    code = "named-barrier-count"
    remedy = "use the same thread count, 32 x the warps of all tasks taking part, in every call."


class NamedBarrierCollision(Finding):
    """A named barrier id that the compiler uses itself, or that does not exist."""

    code = "named-barrier-id"
    remedy = "use ids from 2 + the number of non-default tasks (replicas included) up to 15."


class CapturedTensor(Finding):
    """A non-default task uses a block tensor from outside."""

    code = "captured-tensor"
    remedy = "compute the tensor inside the task: only scalars, pointers, buffers and descriptors can be captured."


class LeftoverState(Finding):
    """The kernel ends with work or arrivals that nobody waits for."""

    code = "leftover-state"
    remedy = "let all roles count the same number of steps, and wait for the last asynchronous operations."


class SharedMemoryBudget(Finding):
    """The buffers do not fit into the shared memory of an SM."""

    code = "shared-memory-budget"
    remedy = "use fewer stages or smaller tiles; a CTA has 232448 bytes."


class TensorMemoryBudget(Finding):
    """The tiles do not fit into the tensor memory of an SM."""

    code = "tensor-memory-budget"
    remedy = "use fewer or narrower tiles, or let tiles of different times share storage; a CTA has 512 columns."


class PeerExited(Finding):
    """A CTA may have exited when another one of its cluster still reaches into its memory."""

    code = "peer-exited"
    remedy = "let the CTA wait for its peers' last access (their arrival, or cluster_barrier) before it ends."


class RegisterBudget(Finding):
    """The tasks ask for more registers than an SM has."""

    code = "register-budget"
    remedy = "keep the sum of 32 x warps x registers over all tasks at or below 65536."


class GlobalOutOfBounds(Finding):
    """A load or store outside every tensor of the launch."""

    code = "global-out-of-bounds"
    remedy = "mask the access, or pass the tensor it belongs to."


KINDS: dict[str, type[Finding]] = {kind.code: kind for kind in Finding.__subclasses__()}
