"""Public TLX names that exist, because every name in a kernel is looked up even on dead branches, but cannot be had.

Each has the signature and the meaning it has in Meta's TLX; reaching one in a kernel raises a single error with the
reason.
"""

from __future__ import annotations

import inspect
from typing import Any

from .builtin import TLXError, builtin

_LAYOUTS = (
    "it is about which thread holds what of a block, and that is settled after the kernel has been read, by stock "
    "Triton's optimiser: it moves and drops conversions as it sees fit and knows no layout that is pinned"
)
_DIALECT = "it is an operation of Meta's compiler that stock Triton does not have"
_GFX1250 = "it needs gfx1250, which is not a target; gfx942 and gfx950 are"

#: name → parameters, what it does in Meta's TLX, and why it is missing
_MISSING: dict[str, tuple[str, str, str]] = {
    # ---- layouts ----------------------------------------------------------------------------------------------------
    "DummyRegisterLayoutEncoding": (
        "shape, element_type, tmem_compatible=False",
        "stands for a register layout that the compiler chooses later",
        _LAYOUTS,
    ),
    "layout": ("spec=None, *, shape=None, stride=None", "a register layout in CuTe's notation", _LAYOUTS),
    "amd_mfma_layout": ("version, instr_shape, transposed, warps_per_cta", "the register layout of MFMA", _LAYOUTS),
    "dot_operand_layout": ("operand_index, parent, k_width=8", "the register layout of an MFMA operand", _LAYOUTS),
    "require_layout": ("x, layout, pin=True, late_address_compute=False", "pins the layout of a block", _LAYOUTS),
    "release_layout": ("x", "ends a pin", _LAYOUTS),
    "dump_layout": ("x", "prints the layout of a block at compile time", _LAYOUTS),
    "assert_same_layout": ("lhs, rhs", "compares two layouts at compile time", _LAYOUTS),
    "require_amd_wmma_layout": (
        "src, version=3, transposed=True, warp_bases=None, reg_bases=None, instr_shape=None",
        "pins the layout of WMMA",
        _LAYOUTS,
    ),
    # ---- operations of the fork's dialect ---------------------------------------------------------------------------
    "amd_scheduled_mfma": (
        "a, b, acc, accumulator_role, resident_operand=None, accumulator_register_class=None, initialize=False",
        "an MFMA with fixed registers",
        _DIALECT,
    ),
    "amd_mfma_commit": ("value, preserve=None", "ends a group of scheduled MFMAs", _DIALECT),
    "amd_register_resident": (
        "value, register_class='agpr', registers_per_group=1",
        "keeps a block in a class of registers",
        _DIALECT,
    ),
    "amd_register_handoff": ("value, register_class='vgpr'", "moves a block to another class of registers", _DIALECT),
    "rematerialized_range": ("start, end, identity, placement=None", "a range that is never shared", _DIALECT),
    # ---- a GPU that is no target ------------------------------------------------------------------------------------
    "update_tensor_descriptor": (
        "desc, add_offsets=None, set_bounds=None, pred=None, clamp_bounds=False",
        "moves a TDM descriptor",
        _GFX1250,
    ),
    "async_amd_descriptor_load": (
        "desc, result, offsets, pred=None, clamp_bounds=True",
        "a TDM load into LDS",
        _GFX1250,
    ),
    "async_amd_descriptor_load_fused": ("members, cache_modifier=''", "several TDM loads as one", _GFX1250),
    "async_amd_descriptor_store": ("desc, source, offsets, clamp_bounds=True", "a TDM store from LDS", _GFX1250),
    "async_amd_descriptor_wait": ("pendings=0, tokens=None", "waits for TDM copies", _GFX1250),
    "amd_descriptor_prefetch_tensor": ("desc, offsets, pred=None, speculative=False", "a TDM prefetch", _GFX1250),
    "dot_scaled": (
        "lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, acc=None, tiles_per_warp=None",
        "tl.dot_scaled with a hint for WMMA",
        _GFX1250,
    ),
    # ---- others -----------------------------------------------------------------------------------------------------
    "CLCPipeliner": ("", "nothing", "the fork exports the name without defining it; use clc_create_context"),
}


def missing(name: str, reason: str, parameters: str = "*args, **kwargs", meaning: str = "") -> Any:
    """A builtin that raises when a kernel reaches it."""

    def placeholder(*args: Any, _semantic: Any = None, **kwargs: Any) -> Any:
        raise TLXError(f"tlx.{name} is not available: {reason}")

    scope: dict[str, Any] = {}
    exec(f"def {name}({parameters}): pass", scope)
    placeholder.__name__ = placeholder.__qualname__ = name
    placeholder.__doc__ = f"{meaning[:1].upper()}{meaning[1:]}. Not available: {reason}." if meaning else reason
    made: Any = builtin(placeholder)
    shown = inspect.signature(scope[name])
    own = inspect.Parameter("_semantic", inspect.Parameter.KEYWORD_ONLY, default=None)
    listed = [*shown.parameters.values()]
    at = len(listed) - 1 if listed and listed[-1].kind is inspect.Parameter.VAR_KEYWORD else len(listed)
    listed.insert(at, own)
    made.__signature__ = shown.replace(parameters=listed)
    return made


_PASSED = "it is a part of Meta's compiler, which takes its builder; kernels have no use for it"
#: what Meta's modules define for their own use and their package does not export
INTERNAL: dict[str, Any] = {
    name: missing(name, _PASSED)
    for name in (
        "DummyTMEMLayoutEncoding",
        "require_dot_operand_layout",
        "require_nv_mma_shared_layout",
        "require_tmem_layout",
        "require_tmem_scales_layout",
        "tensor_memory_scales_layout_encoding",
    )
}

#: name → builtin that raises when a kernel reaches it
PLACEHOLDERS: dict[str, Any] = {
    name: missing(name, reason, parameters, meaning) for name, (parameters, meaning, reason) in _MISSING.items()
}

#: name → why it is missing
REASONS: dict[str, str] = {name: reason for name, (_, _, reason) in _MISSING.items()}
