"""What Meta's compilers are known to refuse of launches that ours accepts: each with their own words and their reason.

An entry holds for the launches of the texts that it names and for no others; a complaint in other words is not known,
and neither is a launch that is accepted after all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BOTH = ("fork", "utlx")


@dataclass(frozen=True, slots=True)
class Known:
    """Launches that other compilers refuse for a reason of their own."""

    who: tuple[str, ...]
    #: the launches' texts, without their ending; none for any that have the constants
    texts: tuple[str, ...]
    #: what is found in the compiler's complaint, a regular expression
    says: str
    why: str
    #: constants that the launches have
    constexprs: Mapping[str, Any] = field(default_factory=dict)
    #: GPU that they are compiled for; None for any
    target: int | str | None = None

    def covers(self, who: str, launch: Mapping[str, Any]) -> bool:
        """Whether this compiler must refuse this launch."""
        values = launch["constexprs"]
        return (
            who in self.who
            and (not self.texts or Path(launch["file"]).stem in self.texts)
            and self.target in (None, launch.get("target", 90))
            and all(name in values and values[name] == value for name, value in self.constexprs.items())
        )


def unexpected(who: str, launch: Mapping[str, Any], errors: Mapping[str, str]) -> bool:
    """Whether a compiler did with this launch what ``KNOWN`` does not say: of several reasons, one is enough."""
    reasons = [known for known in KNOWN if known.covers(who, launch)]
    complaint = errors.get(launch["case"])
    if complaint is None:
        return bool(reasons)
    return not any(re.search(known.says, complaint) for known in reasons)


def unused(who: str, launches: Iterable[Mapping[str, Any]]) -> list[Known]:
    """What is known of a compiler and concerns no launch any more."""
    asked_for = list(launches)
    return [known for known in KNOWN if who in known.who and not any(known.covers(who, one) for one in asked_for)]


KNOWN: tuple[Known, ...] = (
    # ---- tasks --------------------------------------------------------------------------------------------------------
    Known(
        ("fork",),
        ("gemm_default_consumers",),
        "Registers are set for either ALL or NONE of non-default tasks",
        "copies of the default task get no registers from it, and then it accepts none for other tasks",
    ),
    Known(
        ("utlx",),
        ("gemm_default_consumers",),
        r"AssertionError\(\)",
        "copies of the default task get no registers from it, and then it accepts none for other tasks",
    ),
    Known(
        ("utlx",),
        (),
        r"(Operand|Result) .*warpsPerCTA = \[(1, )?4(, 1)?\]",
        "it gives blocks the layout of the kernel's 4 warps in a task of 8, and then calls that invalid",
        {"CONSUMER_WARPS": 8},
    ),
    Known(
        ("utlx",),
        ("tasks__joined", "tasks__repeated", "test_tasks__roles", "test_tasks__several_regions"),
        r"Result has an invalid layout: .*warpsPerCTA = \[4\]",
        "it gives blocks the layout of the kernel's 4 warps in a task of fewer, and then calls that invalid",
    ),
    Known(
        BOTH,
        ("tasks__widened",),
        "async_task_replica_id must be called inside an async region",
        "they look through the default task once before its copies have numbers",
    ),
    Known(
        ("fork",),
        ("test_tasks__sized_default",),
        "Cannot specify registers for the default async_task",
        "the default task takes what the others leave; ours accepts the number and checks it",
    ),
    Known(
        ("fork",),
        ("test_tasks__block_only_in_default",),
        "WarpSpecializeOp should not capture RankedTensorType",
        "it takes a name that a task binds anew for a capture",
    ),
    Known(
        ("fork",),
        ("barriers__turns",),
        "'tt.splat' op using value defined outside the region",
        "its optimiser moves a constant out of the task that it is in",
    ),
    # ---- barriers and clusters ----------------------------------------------------------------------------------------
    Known(
        ("fork",),
        ("test_clusters__carried", "test_clusters__neighbours"),
        "barrier_arrive does not allow users to pass a remote_view of mbarrier",
        "it has remote_cta_rank for that alone",
    ),
    Known(
        ("utlx",),
        ("test_clusters__carried", "test_clusters__neighbours", "test_clusters__kept_open", "test_clusters__tasks"),
        "needs ttng.map_to_remote_buffer|uTLX cannot address a peer CTA's shared memory",
        "the plugin has no way to another CTA's shared memory",
    ),
    Known(
        ("utlx",),
        ("test_clusters__published",),
        "has no attribute 'fence_mbarrier_init_cluster'",
        "the plugin lacks the name",
    ),
    Known(
        ("utlx",),
        ("test_clusters__wide_multicast",),
        "'ttng.cluster_barrier' op requires ttg.num-ctas > 1",
        "in the Triton under the plugin a cluster is one program on several CTAs",
    ),
    Known(
        ("utlx",),
        ("barriers__counted", "test_memory__synchronisation", "test_slots__never", "test_slots__meant_for_others"),
        "barrier_arrive.. got an unexpected keyword argument 'pred'",
        "the plugin's barrier_arrive has no pred",
    ),
    Known(
        BOTH,
        ("test_choices__one_of_two", "test_announcements__through_a_loop"),
        "(initial value for|Loop-carried variable) .*(mbarrier object|swizzled_shared_layout_encoding)",
        "types of barriers are equal to themselves alone: neither a branch nor a loop can hand on another one",
    ),
    Known(
        ("utlx",),
        ("test_blackwell__takes_over",),
        "'ttng.async_clc_try_cancel' is not registered",
        "the Triton under the plugin lacks the operation",
    ),
    # ---- views --------------------------------------------------------------------------------------------------------
    Known(
        BOTH,
        ("views__first_dimension",),
        "rank must be equal to or one less than the shape size",
        "local_view of a view of three dimensions ends their process",
    ),
    Known(
        ("fork",),
        ("test_copies__rows_at",),
        r"create_memdesc_subslice\(\): incompatible function arguments",
        "a slice cannot start at a run-time offset",
    ),
    Known(
        ("utlx",),
        ("test_copies__rows_at",),
        r"int\(\) argument must be .* not 'tensor'",
        "a slice cannot start at a run-time offset",
    ),
    Known(
        ("utlx",),
        ("views__views", "test_memory__views"),
        "has no attribute 'local_reshape'",
        "the plugin lacks the name",
    ),
    Known(
        ("utlx",),
        ("test_copies__chosen", "views__chosen"),
        "has no attribute 'local_scatter'",
        "the plugin lacks the name",
    ),
    Known(
        ("utlx",),
        ("test_blackwell__shared_columns", "test_blackwell__scaled"),
        "#tlx.dummy_tmem_layout is not a valid encoding",
        "a tile of bytes in tensor memory ends its process",
    ),
    Known(
        ("utlx",),
        ("views__pooled",),
        "reuse_group tree contains duplicate elements",
        "groups within groups are flattened, and then it finds a member twice",
    ),
    Known(
        ("utlx",),
        ("test_overlap__pooled",),
        "source and result must have the same logical storage size",
        "the plugin's pools hold members of one size only",
        {"ARRANGED": False},
    ),
    Known(
        ("utlx",),
        ("test_slots__of_a_pool",),
        "source and result must have the same logical storage size",
        "the plugin's pools hold members of one size only",
    ),
    Known(
        ("utlx",),
        ("test_overlap__pooled",),
        "cannot convert reuse_group",
        "a name for a group is taken for a tensor unless it is a constexpr",
        {"ARRANGED": True},
    ),
    Known(
        ("fork",),
        ("test_overlap__pooled",),
        "cannot convert reuse_group",
        "a name for a group is taken for a tensor unless it is a constexpr",
        {"ARRANGED": True},
    ),
    Known(
        ("fork",),
        ("test_layouts__through",),
        "`layout` must be a tlx.shared_layout_encoding, got NoneType",
        "a constexpr None is not None to it",
    ),
    Known(
        BOTH,
        ("test_layouts__made_inside",),
        "Unsupported function referenced: .*make_default",
        "its own class methods cannot be called in a kernel",
    ),
    # ---- copies and descriptors ---------------------------------------------------------------------------------------
    Known(
        BOTH,
        ("copies__padded",),
        "desc_ptr must be None or tlx.tensor_descriptor_ptr, got .*constexpr",
        "a None that stands in the call is a constexpr to it",
    ),
    Known(
        BOTH,
        ("test_announcements__unannounced",),
        "'constexpr' object has no attribute 'handle'",
        "pred of a copy is passed on as it stands, and may be no constexpr",
    ),
    Known(
        ("utlx",),
        ("copies__remade", "test_copies__ring_of_descriptors"),
        r"create_make_tensor_descriptor\(\): incompatible function arguments",
        "the plugin calls another Triton's function",
    ),
    Known(
        ("utlx",),
        ("test_copies__bulk",),
        "'ttng.async_store' is not registered",
        "the Triton under the plugin lacks the operation",
    ),
    # ---- products -----------------------------------------------------------------------------------------------------
    Known(
        ("fork",),
        ("test_memory__dots",),
        "acc.type.element_ty == out_dtype",
        "an accumulator of integers asks for out_dtype",
        {"DTYPE": {"dtype": "int8"}},
    ),
    Known(
        ("utlx",),
        ("test_memory__dots",),
        "pass out_dtype=int32 to use this accumulator dtype",
        "an accumulator of integers asks for out_dtype",
        {"DTYPE": {"dtype": "int8"}},
    ),
    Known(
        BOTH,
        ("test_memory__dots",),
        "N must be at least 32",
        "it has no product of fewer columns, which wgmma has",
        {"N": 8},
    ),
    Known(
        BOTH,
        ("test_flights__of_two",),
        "operand #0 does not dominate this use",
        "a wait for one of two products moves before the other one, which it also waits for",
        {"NEWEST": True},
    ),
    Known(
        BOTH,
        ("test_flights__in_a_branch",),
        "operand #0 does not dominate this use",
        "a wait in a branch for a product from before it moves before another one, which it also waits for",
    ),
    Known(
        ("fork",),
        ("test_blackwell__product",),
        r"create_tcgen5_dot\(\): incompatible function arguments",
        "pred is passed on as it stands, and its builder takes no tensor",
        {"MODE": "signals"},
    ),
    Known(
        ("utlx",),
        ("test_blackwell__product",),
        r"create_tcgen05_mma\(\): incompatible function arguments",
        "pred is passed on as it stands, and its builder takes no tensor",
        {"MODE": "signals"},
    ),
    Known(
        ("utlx",),
        ("third_party_by_name__by_name",),
        "require_tmem_layout_col_stride",
        "async_dot of a module imported under the fork's name takes its operand for one in tensor memory",
    ),
    # ---- others -------------------------------------------------------------------------------------------------------
    Known(
        BOTH,
        ("test_blackwell__conversions",),
        "'constexpr' object has no attribute 'to_ir'",
        "stoch_round takes a type that is written in the call, not one that is a parameter",
    ),
    Known(
        BOTH,
        ("test_types__elements",),
        "'dtype' object has no attribute 'element_ty'",
        "dtype_of knows pointers and buffers, and no loaded value",
    ),
    Known(
        BOTH,
        ("test_memory__batched",),
        "Block pointers only support 32 bit",
        "Triton before 3.9 wants offsets of block pointers in 32 bits",
    ),
    Known(
        ("fork",),
        ("test_surface__mentions",),
        "has no attribute 'amd_mfma_commit'",
        "the wheel lacks the name",
    ),
    Known(
        ("utlx",),
        ("test_copies__votes", "test_copies__block_votes"),
        "'ttng.vote_ballot_sync' is not registered",
        "the Triton under the plugin lacks the operation",
    ),
    Known(
        ("utlx",),
        ("copies__asked",),
        "'ttg.clock64' is not registered",
        "the Triton under the plugin lacks the operation",
    ),
    Known(
        ("utlx",),
        ("test_blocks__concatenated",),
        "failed to legalize operation 'tt.cat'",
        "the Triton under the plugin has no lowering of tl.cat for these shapes",
    ),
    Known(
        BOTH,
        ("test_mxfp8__quantize",),
        "'cvt with .ue8m0x2' not supported on .target 'sm_90a'",
        "their helpers for MXFP8 are PTX of Blackwell",
        target=90,
    ),
    Known(
        ("utlx",),
        ("test_mxfp8__quantize",),
        "missing a required argument: 'data_out_tile'",
        "the plugin's helper writes to a tile instead of returning a block",
        {"HOW": "rows"},
    ),
    # ---- AMD ----------------------------------------------------------------------------------------------------------
    Known(
        ("fork",),
        ("test_amd__hints", "test_amd__ring", "test_amd__views"),
        "has no attribute '(amd_sched_barrier|zeros|buffer_atomic_add)'",
        "the wheel lacks the name",
    ),
    Known(
        ("fork",),
        ("test_amd__filled",),
        "LLVM Translation failed for operation: builtin.unrealized_conversion_cast",
        "its copy through a buffer descriptor straight to LDS does not translate with a mask",
        {"BUFFER": True},
    ),
    Known(
        ("utlx",),
        ("test_amd__views",),
        "value must be a tensor",
        "buffer_atomic_add adds no scalar",
    ),
)
