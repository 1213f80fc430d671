"""Launches of jitted kernels as values: caught, repeated, and repeated with another compiler's machine code."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from triton.backends.nvidia.compiler import CUDABackend
from triton.runtime.jit import JITFunction

from .compare import parameters

#: what of another compiler's metadata the stock launcher heeds
TAKEN = (
    "name",
    "shared",
    "num_warps",
    "tensordesc_meta",
    "global_scratch_size",
    "global_scratch_align",
    "profile_scratch_size",
    "profile_scratch_align",
)


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch. Calling it enqueues it on torch's current stream, past all of Triton's caches and hooks."""

    kernel: Any
    grid: tuple[int, int, int]
    #: every argument of the kernel, constants included
    arguments: tuple[Any, ...]

    def __call__(self) -> None:
        # Asking for `run` loads the machine code, so it comes before `function`.
        run = self.kernel.run
        stream = torch.cuda.current_stream().cuda_stream
        run(*self.grid, stream, self.kernel.function, self.kernel.packed_metadata, None, None, None, *self.arguments)

    def through(self, kernel: Any) -> Launch:
        """The same launch of other machine code."""
        return replace(self, kernel=kernel)


@contextlib.contextmanager
def caught(choose: Callable[[Any], Any] = lambda kernel: kernel) -> Iterator[list[Launch]]:
    """Collects the launches made inside. ``choose`` maps what Triton compiled to what is run in its place."""
    found: list[Launch] = []
    stock = JITFunction.run

    def run(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        compiled = stock(self, *args, grid=grid, warmup=True, **kwargs)
        *_, binder = self.device_caches[torch.cuda.current_device()]
        bound, *_ = binder(*args, **{**kwargs, "debug": False, "instrumentation_mode": ""})
        size = tuple(grid(bound) if callable(grid) else grid)
        launch = Launch(choose(compiled), (*size, 1, 1)[:3], tuple(bound.values()))
        found.append(launch)
        if not warmup:
            launch()
        return compiled

    JITFunction.run = run
    try:
        yield found
    finally:
        JITFunction.run = stock


def transplanted(kernel: Any, stem: Path) -> Any:
    """``kernel`` with the machine code and resources that build.py put under ``stem``.

    Raises:
        ValueError: the two do not take the same parameters, so that the launcher of one cannot serve the other.
    """
    mine = parameters(kernel.asm["ptx"])
    theirs = parameters(stem.with_name(f"{stem.name}.ptx").read_text())
    if mine != theirs:
        raise ValueError(f"{stem}: takes {theirs}, not {mine}")
    facts = json.loads(stem.with_name(f"{stem.name}.json").read_text())
    other = copy.copy(kernel)
    other.metadata = kernel.metadata._replace(**{key: facts[key] for key in TAKEN if key in facts})
    other.packed_metadata = CUDABackend(other.metadata.target).pack_metadata(other.metadata)
    other.name = facts["name"]
    other.kernel = stem.with_name(f"{stem.name}.cubin").read_bytes()
    other.module = other.function = other._run = None
    return other
