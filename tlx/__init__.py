"""TLX, Triton's low-level language extensions, on an unmodified Triton wheel.

Names and meanings are those of Meta's ``triton.language.extra.tlx``. Kernels are decorated with ``tlx.jit`` and
launched as any Triton kernel. ``tlx.compile`` compiles without a GPU; ``tlx.sim`` runs kernels on the CPU and finds
races.
"""

from __future__ import annotations

import importlib
from typing import Any

from .amd import (
    amd_sched_barrier,
    assume_uniform,
    buffer_atomic_add,
    buffer_load,
    buffer_load_to_local,
    buffer_store,
    extract_slice,
    warp_pipeline_stage,
    zeros,
)
from .barriers import (
    alloc_barriers,
    alloc_warp_barrier,
    barrier_arrive,
    barrier_expect_bytes,
    barrier_wait,
    named_barrier_arrive,
    named_barrier_wait,
)
from .buffers import (
    local_alloc,
    local_gather,
    local_load,
    local_reinterpret,
    local_reshape,
    local_scatter,
    local_slice,
    local_store,
    local_trans,
    local_view,
    subslice,
    tmem_copy,
)
from .builtin import TLXError
from .clc import (
    CLCPipelineContext,
    _alloc_clc_responses,
    _clc_issue,
    _clc_query,
    clc_consumer,
    clc_create_context,
    clc_producer,
    clc_response,
    clc_response_type,
)
from .clusters import (
    async_remote_shmem_copy,
    async_remote_shmem_store,
    cluster_barrier,
    cluster_cta_rank,
    cluster_size_1d,
    fence_mbarrier_init_cluster,
    remote_shmem_store,
    remote_view,
)
from .copies import (
    async_descriptor_load,
    async_descriptor_prefetch_tensor,
    async_descriptor_store,
    async_descriptor_store_wait,
    async_load,
    async_load_commit_group,
    async_load_wait_group,
    async_store,
    fence,
    fence_async_shared,
    prefetch,
)
from .descriptors import (
    allocate_tensor_descriptor,
    make_tensor_descriptor,
    reinterpret_tensor_descriptor,
    tensor_descriptor_ptr,
    tensor_descriptor_ptr_type,
)
from .dots import async_dot, async_dot_scaled, async_dot_wait, tcgen05_commit
from .install import InstallError, install, uninstall
from .launch import (
    TO_END,
    Box,
    CopiedRows,
    Dispatch,
    Fallback,
    KernelStats,
    Memory,
    Schedule,
    Specialized,
    StaleKernelError,
    TmaView,
    copied_rows,
    fingerprint_of,
    memory,
    policy,
    require,
    require_along_depth,
    require_block,
    require_disjoint,
    require_dtypes,
    require_starts,
    specialized,
    stats,
    tma_view,
)
from .layouts import (
    layout_encoding,
    nv_mma_shared_layout_encoding,
    padded_shared_layout_encoding,
    shared_layout_encoding,
    shared_linear_layout_encoding,
    swizzled_layout,
    swizzled_shared_layout_encoding,
    tensor_memory_layout_encoding,
)
from .lowering.jit import jit
from .lowering.offline import compile
from .modules import FORK_MODULES, installed_view
from .mxfp8 import _to_mxfp8_block
from .storage import (
    reuse_group,
    reuse_group_ir_type,
    reuse_group_type,
    storage_alias_spec,
    storage_alias_spec_type,
    storage_alias_spec_type_class,
)
from .tasks import async_task, async_task_replica_id, async_tasks, get_bufidx_phase
from .types import (
    TMemCTAMode,
    async_token,
    async_token_type,
    buffered_tensor,
    buffered_tensor_type,
    mbarrier,
    mbarrier_type,
    storage_kind,
)
from .unsupported import PLACEHOLDERS
from .utility import clock64, dtype_of, get_fp8_format_name, size_of, thread_id
from .warps import stoch_round, vote_ballot_sync, warp_redux

#: modules whose import is put off until a name is asked for: name → (module, attribute or None for the module itself)
_LAZY: dict[str, tuple[str, str | None]] = {
    "sim": ("tlx.sim", None),
}

__all__ = [
    "TO_END",
    "Box",
    "CLCPipelineContext",
    "CopiedRows",
    "Dispatch",
    "Fallback",
    "InstallError",
    "KernelStats",
    "Memory",
    "Schedule",
    "Specialized",
    "StaleKernelError",
    "TLXError",
    "TMemCTAMode",
    "TmaView",
    "_alloc_clc_responses",
    "_clc_issue",
    "_clc_query",
    "_to_mxfp8_block",
    "alloc_barriers",
    "alloc_warp_barrier",
    "allocate_tensor_descriptor",
    "amd_sched_barrier",
    "assume_uniform",
    "async_descriptor_load",
    "async_descriptor_prefetch_tensor",
    "async_descriptor_store",
    "async_descriptor_store_wait",
    "async_dot",
    "async_dot_scaled",
    "async_dot_wait",
    "async_load",
    "async_load_commit_group",
    "async_load_wait_group",
    "async_remote_shmem_copy",
    "async_remote_shmem_store",
    "async_store",
    "async_task",
    "async_task_replica_id",
    "async_tasks",
    "async_token",
    "async_token_type",
    "barrier_arrive",
    "barrier_expect_bytes",
    "barrier_wait",
    "buffer_atomic_add",
    "buffer_load",
    "buffer_load_to_local",
    "buffer_store",
    "buffered_tensor",
    "buffered_tensor_type",
    "clc_consumer",
    "clc_create_context",
    "clc_producer",
    "clc_response",
    "clc_response_type",
    "clock64",
    "cluster_barrier",
    "cluster_cta_rank",
    "cluster_size_1d",
    "compile",
    "copied_rows",
    "dtype_of",
    "extract_slice",
    "fence",
    "fence_async_shared",
    "fence_mbarrier_init_cluster",
    "fingerprint_of",
    "get_bufidx_phase",
    "get_fp8_format_name",
    "install",
    "jit",
    "layout_encoding",
    "local_alloc",
    "local_gather",
    "local_load",
    "local_reinterpret",
    "local_reshape",
    "local_scatter",
    "local_slice",
    "local_store",
    "local_trans",
    "local_view",
    "make_tensor_descriptor",
    "mbarrier",
    "mbarrier_type",
    "memory",
    "named_barrier_arrive",
    "named_barrier_wait",
    "nv_mma_shared_layout_encoding",
    "padded_shared_layout_encoding",
    "policy",
    "prefetch",
    "reinterpret_tensor_descriptor",
    "remote_shmem_store",
    "remote_view",
    "require",
    "require_along_depth",
    "require_block",
    "require_disjoint",
    "require_dtypes",
    "require_starts",
    "reuse_group",
    "reuse_group_ir_type",
    "reuse_group_type",
    "shared_layout_encoding",
    "shared_linear_layout_encoding",
    "size_of",
    "specialized",
    "stats",
    "stoch_round",
    "storage_alias_spec",
    "storage_alias_spec_type",
    "storage_alias_spec_type_class",
    "storage_kind",
    "subslice",
    "swizzled_layout",
    "swizzled_shared_layout_encoding",
    "tcgen05_commit",
    "tensor_descriptor_ptr",
    "tensor_descriptor_ptr_type",
    "tensor_memory_layout_encoding",
    "thread_id",
    "tma_view",
    "tmem_copy",
    "uninstall",
    "vote_ballot_sync",
    "warp_pipeline_stage",
    "warp_redux",
    "zeros",
]

#: tells a kernel that names this module from one that names another called tlx
__tlx__ = True


def __getattr__(name: str) -> Any:
    if name in PLACEHOLDERS:
        return PLACEHOLDERS[name]
    if name in FORK_MODULES:
        return installed_view(name)
    if name in _LAZY:
        module, attribute = _LAZY[name]
        loaded = importlib.import_module(module)
        return loaded if attribute is None else getattr(loaded, attribute)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *PLACEHOLDERS, *_LAZY})
