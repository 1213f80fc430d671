"""One launch on the GPU: its tensors in memory of the device, and how long to wait for it. Needs torch."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .buffers import Arguments, Memory
from .cases import Case

#: Seconds after which a launch counts as hung. The largest launches of a verification take milliseconds.
HANG_SECONDS = 6.0
POLL_SECONDS = 0.0005


class Hung(Exception):
    """A launch has not come to an end."""


@dataclass(frozen=True, slots=True, eq=False)
class Launch:
    """One set of arguments, on the host and on the device. `owners` maps the arrays that own memory to their copies."""

    case: Case
    arguments: Arguments
    owners: Mapping[int, Any]

    @classmethod
    def of(cls, case: Case, arguments: Arguments) -> Launch:
        """The arguments with their memory copied to the device."""
        owners: dict[int, Any] = {}
        for memory in arguments.tensors.values():
            if id(memory.owner) not in owners:
                owners[id(memory.owner)] = _to_gpu(memory)
        return cls(case, arguments, owners)

    def again(self) -> Launch:
        """The same arguments in fresh memory on the device."""
        return Launch(self.case, self.arguments, {key: owner.clone() for key, owner in self.owners.items()})

    def holding(self, other: Launch) -> Launch:
        """These arguments with what lies in the device memory of another launch of an equal case."""
        names = {id(memory.owner): name for name, memory in other.arguments.tensors.items()}
        mine = {name: id(memory.owner) for name, memory in self.arguments.tensors.items()}
        return Launch(self.case, self.arguments, {mine[names[key]]: owner for key, owner in other.owners.items()})

    def equals(self, other: Launch) -> bool:
        """Whether all memory, canaries included, has the same bits as another launch of these arguments."""
        import torch

        pairs = ((owner, other.owners[key]) for key, owner in self.owners.items())
        return all(torch.equal(mine.view(torch.uint8), theirs.view(torch.uint8)) for mine, theirs in pairs)

    def tensors(self) -> dict[str, Any]:
        """The tensors that a kernel is given, by parameter."""
        import torch

        found = {}
        for name, memory in self.arguments.tensors.items():
            array, owner = memory.array, memory.owner
            start = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
            steps = [step // array.itemsize for step in array.strides]
            found[name] = torch.as_strided(self.owners[id(owner)], array.shape, steps, start // array.itemsize)
        return found

    def fetch(self) -> Mapping[str, Memory]:
        """The written tensors, after copying all memory back into the arguments."""
        for memory in self.arguments.tensors.values():
            _from_gpu(self.owners[id(memory.owner)], memory)
        return {name: memory for name, memory in self.arguments.tensors.items() if memory.spec.writes}


def call_of(
    parameters: Sequence[str], named: Mapping[str, Any], options: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments by position, as far as they go, and the rest by name.

    A kernel may have parameters called num_warps and num_stages. By name they would be taken for the launch's options.
    """
    args: list[Any] = []
    rest = dict(named)
    for name in parameters:
        if name not in rest:
            break
        args.append(rest.pop(name))
    return tuple(args), {**rest, **{name: value for name, value in options.items() if name not in parameters}}


def settle(seconds: float | None = None) -> None:
    """Waits until the GPU has done what it was given: what fails, fails here.

    Raises:
        Hung: it has not, after so many seconds. The kernel goes on: this process cannot use the GPU again.
        RuntimeError: CUDA reports an error, such as an illegal access.
    """
    import torch

    done = torch.cuda.Event()
    done.record()
    limit = HANG_SECONDS if seconds is None else seconds
    deadline = time.monotonic() + limit
    while not done.query():
        if time.monotonic() > deadline:
            raise Hung(f"no result within {limit:g} seconds")
        time.sleep(POLL_SECONDS)


def scratch_memory() -> None:
    """Gives Triton memory to put descriptors into that a kernel makes, as its user's program would."""
    import torch
    import triton

    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))


def _to_gpu(memory: Memory) -> Any:
    import torch

    bits = torch.from_numpy(memory.owner.view("u1").copy()).cuda()
    return bits.view(_TORCH[memory.dtype](torch))


def _from_gpu(owner: Any, memory: Memory) -> None:
    import torch

    memory.owner.view("u1")[...] = owner.view(torch.uint8).cpu().numpy()


_TORCH: Mapping[str, Callable[[Any], Any]] = {
    "fp16": lambda torch: torch.float16,
    "bf16": lambda torch: torch.bfloat16,
    "fp32": lambda torch: torch.float32,
    "fp64": lambda torch: torch.float64,
    "fp8e4nv": lambda torch: torch.float8_e4m3fn,
    "fp8e5": lambda torch: torch.float8_e5m2,
    "i8": lambda torch: torch.int8,
    "i16": lambda torch: torch.int16,
    "i32": lambda torch: torch.int32,
    "i64": lambda torch: torch.int64,
}
