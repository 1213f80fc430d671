"""Compiling a kernel to a cubin on a machine without a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.language import str_to_ty

from ..builtin import TLXError
from . import budget, versions
from .jit import TLXJITFunction
from .source import TLXASTSource

if TYPE_CHECKING:
    from .inspect import CompiledFacts


def _target(name: str) -> Any:
    if name.startswith("sm_") and name[3:].isdigit():
        return GPUTarget("cuda", int(name[3:]), 32)
    if name.startswith("gfx"):
        return GPUTarget("hip", name, 64)
    raise TLXError(f"unknown target {name!r}: write it like 'sm_90' or 'gfx950'")


def _known(kernel: str, parameter: str, ty: Any) -> None:
    """Refuses what names no type."""
    try:
        str_to_ty(ty, None)
    except Exception as error:
        raise TLXError(
            f"{kernel}: {ty!r} is no type for {parameter}: write it like '*fp16', 'i32' or 'constexpr'"
        ) from error


@dataclass(frozen=True)
class Compiled:
    """A compiled kernel: its intermediate texts and its cubin. ``facts`` is worked out when first asked for."""

    name: str
    target: str
    #: "ttgir", "llir", "ptx" are texts, "cubin" is bytes; "amdgcn" and "hsaco" for an AMD GPU
    asm: Mapping[str, Any]
    #: warps launched, all tasks together
    num_warps: int
    #: bytes of shared memory
    shared: int
    #: Triton's own object
    handle: Any

    @cached_property
    def facts(self) -> CompiledFacts:
        """What the machine code is like."""
        from .inspect import inspect_compiled

        return inspect_compiled(self)


def compile(
    kernel: Any,
    signature: Mapping[str, str],
    constexprs: Mapping[str, Any] | None = None,
    *,
    num_warps: int = 4,
    num_stages: int = 3,
    target: str = "sm_90",
    divisible_by_16: Any = None,
    options: Mapping[str, Any] | None = None,
) -> Compiled:
    """Compiles a ``tlx.jit`` or ``triton.jit`` kernel down to a cubin, without a GPU.

    Args:
        kernel: the jitted function; an autotuner or heuristics around it is looked through.
        signature: type of each run-time parameter, such as ``"*fp16"``, ``"i32"`` or ``"tensordesc<fp16[128,64]>"``.
        constexprs: value of each ``tl.constexpr`` parameter; parameters with a default may be left out.
        num_warps: warps of the default task.
        num_stages: only used by plain Triton kernels.
        target: ``"sm_90"``, ``"sm_100"``, ``"gfx942"`` or ``"gfx950"``.
        divisible_by_16: names of run-time parameters whose value (address, for pointers) is a multiple of 16; by
        default
            all pointers.
        options: further back-end options.

    Raises:
        TLXError: a parameter without a type or value, an unknown name, an unknown target, a kernel that needs more
            shared or tensor memory than the target has.
        triton.CompilationError: the kernel itself is wrong.
    """
    while not hasattr(kernel, "arg_names") or (hasattr(kernel, "fn") and hasattr(kernel.fn, "arg_names")):
        kernel = kernel.fn
    values = {p.name: p.default for p in kernel.params if p.is_constexpr and p.has_default} | dict(constexprs or {})
    unknown = (set(signature) | set(values)) - set(kernel.arg_names)
    missing = set(kernel.arg_names) - set(signature) - set(values)
    if unknown or missing:
        raise TLXError(f"{kernel.__name__}: unknown parameters {sorted(unknown)}, without type {sorted(missing)}")
    types = {name: signature.get(name, "constexpr") for name in kernel.arg_names}
    for name, ty in types.items():
        _known(kernel.__name__, name, ty)
    if divisible_by_16 is None:
        divisible_by_16 = [name for name, ty in types.items() if ty.startswith("*")]
    attrs = {(kernel.arg_names.index(name),): [["tt.divisibility", 16]] for name in divisible_by_16}
    is_tlx = isinstance(kernel, TLXJITFunction) and kernel.is_gluon()
    source = (TLXASTSource if is_tlx else ASTSource)(kernel, signature=types, constexprs=values, attrs=attrs)
    chosen = {**versions.OFFLINE_OPTIONS, "num_warps": num_warps, "num_stages": num_stages, **(options or {})}
    chip = _target(target)
    done = triton.compile(source, target=chip, options=chosen)
    if chip.backend == "cuda" and (error := budget.overdrawn(kernel.__name__, done, int(chip.arch))):
        raise error
    return Compiled(
        name=done.metadata.name,
        target=target,
        asm=done.asm,
        num_warps=done.metadata.num_warps,
        shared=done.metadata.shared,
        handle=done,
    )
