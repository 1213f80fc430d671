"""Every public name of Meta's TLX: where it belongs, on which GPUs and from which Triton on it can be had here.

The support table in ``docs/tlx-support.md`` is generated from this and from the docstrings. Tiers are those of the
tutorials that need a name: 1 Hopper, 2 Blackwell, 3 AMD, 4 none.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from . import unsupported
from .lowering import versions

H, B, AMD = "sm_90", "sm_100", "gfx942, gfx950"
_NVIDIA, _ALL = f"{H}, {B}", f"{H}, {B}, {AMD}"
_ALWAYS, _NEW = ".".join(map(str, versions.OLDEST)), versions.NEWEST


#: names that are Gluon's own where it has them → parameters and meaning
_GLUON = {
    "warp_pipeline_stage": (
        "label=None, priority=None",
        "A context manager: one stage of a loop whose groups of warps run a stage apart.",
    )
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One name."""

    name: str
    family: str
    tier: int
    #: GPUs it compiles for
    targets: str
    #: oldest Triton it compiles with
    triton: str

    @property
    def reason(self) -> str | None:
        """Why it cannot be had, or None if it can."""
        return unsupported.REASONS.get(self.name)

    @property
    def value(self) -> Any:
        """What the name stands for."""
        import tlx

        return getattr(tlx, self.name)

    @property
    def signature(self) -> str:
        """Parameters as an author writes them."""
        if self.name in _GLUON:
            return _GLUON[self.name][0]
        if not callable(self.value) or inspect.isclass(self.value):
            return ""
        listed = inspect.signature(self.value).parameters.values()
        return ", ".join(
            _spelled(parameter) for parameter in listed if parameter.name not in ("_semantic", "_generator")
        )

    @property
    def meaning(self) -> str:
        """First sentence of the docstring."""
        if self.name in _GLUON:
            return _GLUON[self.name][1]
        text = inspect.cleandoc(self.value.__doc__ or "").split("\n\n")[0].replace("\n", " ")
        head, dot, _ = text.partition(". ")
        return head + (dot.strip() or "")


def _spelled(parameter: inspect.Parameter) -> str:
    star = "*" if parameter.kind is inspect.Parameter.VAR_POSITIONAL else ""
    if parameter.default is inspect.Parameter.empty:
        return star + parameter.name
    default = parameter.default
    shown = str(default) if type(default).__module__ not in ("builtins",) else repr(default)
    return f"{parameter.name}={shown}"


#: family → (tier, targets, oldest Triton, names)
_FAMILIES: dict[str, tuple[tuple[int, str, str, str], ...]] = {
    "Warp specialization": (
        (1, _NVIDIA, _ALWAYS, "async_tasks async_task async_task_replica_id"),
        (1, _ALL, _ALWAYS, "get_bufidx_phase"),
    ),
    "Barriers": (
        (
            1,
            _NVIDIA,
            _ALWAYS,
            "alloc_barriers alloc_warp_barrier barrier_expect_bytes barrier_wait barrier_arrive named_barrier_wait "
            "named_barrier_arrive",
        ),
        (2, _NVIDIA, _NEW, "cluster_barrier fence_mbarrier_init_cluster"),
        (2, _NVIDIA, _ALWAYS, "fence fence_async_shared"),
        (3, AMD, _NEW, "amd_sched_barrier"),
    ),
    "Buffers and views": (
        (1, _ALL, _ALWAYS, "local_alloc local_view local_slice local_trans"),
        (2, _ALL, _ALWAYS, "local_load local_store storage_alias_spec reuse_group reuse_group_type storage_kind"),
        (3, _ALL, _ALWAYS, "local_reinterpret local_reshape"),
        (4, _ALL, versions.GATHER_SINCE, "local_gather local_scatter"),
        (2, B, _ALWAYS, "subslice tmem_copy"),
    ),
    "Other CTAs of a cluster": (
        (1, _NVIDIA, _ALWAYS, "cluster_cta_rank"),
        (4, _NVIDIA, _ALWAYS, "cluster_size_1d"),
        (2, _NVIDIA, _NEW, "async_remote_shmem_store async_remote_shmem_copy"),
        (4, _NVIDIA, _NEW, "remote_view remote_shmem_store"),
    ),
    "Copies": (
        (1, f"{_NVIDIA}, gfx950", _ALWAYS, "async_load async_load_commit_group async_load_wait_group"),
        (1, _NVIDIA, _ALWAYS, "async_descriptor_load"),
        (2, _NVIDIA, _ALWAYS, "async_descriptor_store async_descriptor_store_wait"),
        (
            2,
            _NVIDIA,
            _ALWAYS,
            "allocate_tensor_descriptor make_tensor_descriptor reinterpret_tensor_descriptor",
        ),
        (4, _NVIDIA, _NEW, "async_descriptor_prefetch_tensor async_store"),
        (4, _NVIDIA, _ALWAYS, "prefetch"),
    ),
    "Tensor cores": (
        (1, _NVIDIA, _ALWAYS, "async_dot"),
        (1, H, _ALWAYS, "async_dot_wait"),
        (2, B, _ALWAYS, "async_dot_scaled tcgen05_commit"),
    ),
    "Cluster launch control": (
        (2, B, versions.CLC_SINCE, "clc_create_context clc_producer clc_consumer CLCPipelineContext"),
        (4, B, versions.CLC_SINCE, "_alloc_clc_responses _clc_issue _clc_query CLCPipeliner"),
    ),
    "Utilities": (
        (1, _ALL, _ALWAYS, "dtype_of size_of"),
        (2, _ALL, _ALWAYS, "get_fp8_format_name"),
        (2, _NVIDIA, _ALWAYS, "vote_ballot_sync"),
        (4, _NVIDIA, _ALWAYS, "thread_id clock64"),
        (4, B, _ALWAYS, "stoch_round warp_redux"),
        (2, _NVIDIA, _ALWAYS, "_to_mxfp8_block"),
    ),
    "Types": (
        (1, _ALL, _ALWAYS, "buffered_tensor buffered_tensor_type async_token"),
        (1, _NVIDIA, _ALWAYS, "mbarrier mbarrier_type"),
        (2, B, versions.CLC_SINCE, "clc_response clc_response_type"),
        (2, _ALL, _ALWAYS, "storage_alias_spec_type storage_alias_spec_type_class"),
        (4, _ALL, _ALWAYS, "reuse_group_ir_type"),
        (2, _NVIDIA, _ALWAYS, "tensor_descriptor_ptr tensor_descriptor_ptr_type"),
        (2, B, _ALWAYS, "TMemCTAMode"),
    ),
    "Layouts of shared memory": (
        (4, _ALL, _ALWAYS, "layout_encoding shared_layout_encoding swizzled_shared_layout_encoding"),
        (1, _NVIDIA, _ALWAYS, "nv_mma_shared_layout_encoding"),
        (2, B, _ALWAYS, "tensor_memory_layout_encoding"),
        (3, _ALL, _ALWAYS, "swizzled_layout padded_shared_layout_encoding shared_linear_layout_encoding"),
    ),
    "Layouts of registers": (
        (4, "", "", "dump_layout"),
        (2, "", "", "DummyRegisterLayoutEncoding"),
        (
            3,
            "",
            "",
            "layout amd_mfma_layout dot_operand_layout require_layout release_layout assert_same_layout "
            "require_amd_wmma_layout",
        ),
    ),
    "AMD": (
        (3, AMD, _ALWAYS, "buffer_load buffer_store buffer_atomic_add zeros assume_uniform"),
        (3, "gfx950", _ALWAYS, "buffer_load_to_local"),
        (3, AMD, versions.WARP_PIPELINE_SINCE, "warp_pipeline_stage"),
        (3, AMD, _NEW, "extract_slice"),
        (
            3,
            "",
            "",
            "amd_scheduled_mfma amd_mfma_commit amd_register_resident amd_register_handoff rematerialized_range "
            "update_tensor_descriptor async_amd_descriptor_load async_amd_descriptor_load_fused "
            "async_amd_descriptor_store async_amd_descriptor_wait amd_descriptor_prefetch_tensor dot_scaled",
        ),
    ),
}


def entries() -> Iterator[Entry]:
    """All names, by family."""
    for family, groups in _FAMILIES.items():
        for tier, targets, triton, names in groups:
            for name in names.split():
                yield Entry(name, family, tier, targets, triton)


def uncovered(names: Iterable[str]) -> list[str]:
    """Names that tutorials for Hopper or Blackwell need and that are not among ``names``, sorted."""
    return sorted({entry.name for entry in entries() if entry.tier <= 2} - set(names))
