"""Public TLX names that exist, because every name in a kernel is looked up even on dead branches, but are not
implemented.

Reaching one raises a single clear error. A name moves out of these tables when its family's file implements it.
"""

from __future__ import annotations

from typing import Any

from .builtin import TLXError, builtin

#: why a group of names is missing → the names, separated by spaces
REASONS: dict[str, str] = {
    "it needs a Blackwell GPU, which is not a target yet": (
        "DummyRegisterLayoutEncoding TMemCTAMode _to_mxfp8_block tensor_memory_layout_encoding "
    ),
    "it belongs to AMD targets, which are not implemented": (
        "amd_descriptor_prefetch_tensor amd_mfma_commit amd_mfma_layout amd_register_handoff amd_register_resident "
        "amd_sched_barrier amd_scheduled_mfma assume_uniform async_amd_descriptor_load async_amd_descriptor_load_fused "
        "async_amd_descriptor_store async_amd_descriptor_wait buffer_atomic_add buffer_load buffer_load_to_local "
        "buffer_store dot_operand_layout dot_scaled extract_slice padded_shared_layout_encoding rematerialized_range "
        "require_amd_wmma_layout update_tensor_descriptor warp_pipeline_stage zeros"
    ),
    "layouts are chosen by the compiler here": (
        "assert_same_layout dump_layout layout layout_encoding nv_mma_shared_layout_encoding release_layout "
        "require_layout shared_layout_encoding shared_linear_layout_encoding swizzled_layout "
        "swizzled_shared_layout_encoding"
    ),
    "it is not implemented yet": (""),
}


def _missing(name: str, reason: str) -> Any:
    def placeholder(*args: Any, _semantic: Any = None, **kwargs: Any) -> Any:
        raise TLXError(f"tlx.{name} is not available: {reason}")

    placeholder.__name__ = placeholder.__qualname__ = name
    placeholder.__doc__ = f"Not available: {reason}."
    return builtin(placeholder)


#: name → builtin that raises when a kernel reaches it
PLACEHOLDERS: dict[str, Any] = {
    name: _missing(name, reason) for reason, names in REASONS.items() for name in names.split()
}
