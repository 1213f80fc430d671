"""Every public TLX name exists, has a signature and a docstring, and a missing one says why."""

from __future__ import annotations

import inspect
import re

import pytest

pytest.importorskip("triton")

import triton.language as tl
from triton.compiler.errors import CompilationError

import tlx
from tlx.unsupported import PLACEHOLDERS

pytestmark = pytest.mark.triton

#: parameters in order, as Meta's TLX has them; ours may only add defaults
SIGNATURES = {
    "async_tasks": "exclusive no_ending_cluster_sync mbarrier_try_wait_suspend_ns",
    "async_task": "args num_warps num_regs registers replicate warp_group_start_id",
    "async_task_replica_id": "",
    "get_bufidx_phase": "accum_cnt NUM_BUFFERS",
    "alloc_barriers": "num_barriers arrive_count",
    "alloc_warp_barrier": "num_barriers num_warps num_arrivals",
    "barrier_expect_bytes": "bar size pred",
    "barrier_wait": "bar phase pred",
    "barrier_arrive": "bar arrive_count remote_cta_rank pred",
    "named_barrier_wait": "bar arrive_count",
    "named_barrier_arrive": "bar arrive_count",
    "local_alloc": "shape dtype num storage reuse layout",
    "local_view": "buf idx",
    "local_slice": "buf offset shape",
    "local_trans": "buf dims",
    "local_load": "src token layout",
    "local_store": "dst src",
    "local_reinterpret": "src dtype shape layout",
    "local_reshape": "src shape",
    "async_load": "src result mask other cache_modifier eviction_policy is_volatile bulk bulk_size barrier",
    "async_load_commit_group": "tokens",
    "async_load_wait_group": "pendings tokens",
    "async_descriptor_load": (
        "desc result offsets barrier pred cache_modifier eviction_policy multicast_targets two_ctas"
    ),
    "async_descriptor_store": "desc source offsets eviction_policy store_reduce",
    "async_descriptor_store_wait": "pendings",
    "async_dot": "A B acc use_acc pred mBarriers two_ctas force_async input_precision out_dtype",
    "async_dot_wait": "pendings inp",
    "fence": "scope",
    "fence_async_shared": "",
    "dtype_of": "v",
    "size_of": "dtype",
    "cluster_cta_rank": "",
    "thread_id": "axis",
    "clock64": "",
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_signature(name):
    function = getattr(tlx, name)
    own = [parameter for parameter in inspect.signature(function).parameters if not parameter.startswith("_")]
    assert own == SIGNATURES[name].split()
    assert function.__doc__
    # Triton hands builtins their context by this name, and recognises them by this mark.
    assert "_semantic" in inspect.signature(function).parameters
    assert function.__triton_builtin__


def test_placeholders_do_not_hide_what_exists():
    assert not set(PLACEHOLDERS) & set(tlx.__all__)
    assert set(PLACEHOLDERS) <= set(dir(tlx))
    assert all(callable(getattr(tlx, name)) for name in PLACEHOLDERS)
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        tlx.no_such_name  # noqa: B018


@tlx.jit
def mentions(out, FLAG: tl.constexpr):
    if FLAG:
        tlx.amd_mfma_commit(out)
        tlx.amd_register_handoff(out)
    tl.store(out, 1)


def test_a_placeholder_matters_only_when_reached():
    assert "st.global" in tlx.compile(mentions, {"out": "*i32"}, {"FLAG": False}).asm["ptx"]
    with pytest.raises(CompilationError, match=re.escape("tlx.amd_mfma_commit is not available: ")):
        tlx.compile(mentions, {"out": "*i32"}, {"FLAG": True})
