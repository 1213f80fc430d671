"""Every public TLX name exists, has a signature and a docstring, and a missing one says why."""

from __future__ import annotations

import importlib.util
import inspect
import re
from pathlib import Path

import pytest

pytest.importorskip("triton")

import triton.language as tl
from triton.compiler.errors import CompilationError

import tlx
from tlx.surface import entries
from tlx.unsupported import PLACEHOLDERS, REASONS

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
    "local_load": "src token layout relaxed rematerialize_coordinates rematerialize_coordinates_group",
    "local_gather": "src indices axis token",
    "local_scatter": "dst src indices axis token",
    "subslice": "buf offset size",
    "tmem_copy": "src_smem dst_tmem",
    "storage_alias_spec": "storage buffer_size_bytes",
    "remote_view": "bar remote_cta_rank",
    "remote_shmem_store": "dst src remote_cta_rank",
    "async_remote_shmem_store": "dst src remote_cta_rank barrier",
    "async_remote_shmem_copy": "dst src remote_cta_rank barrier",
    "cluster_barrier": "",
    "fence_mbarrier_init_cluster": "",
    "cluster_size_1d": "",
    "async_descriptor_prefetch_tensor": "desc offsets pred eviction_policy",
    "async_store": "dst_ptr src_smem size",
    "prefetch": "ptr level mask tensormap",
    "allocate_tensor_descriptor": "num",
    "make_tensor_descriptor": "desc_ptr base shape strides block_shape padding_option",
    "reinterpret_tensor_descriptor": "desc_ptr block_shape dtype",
    "async_dot_scaled": (
        "A B acc A_scale A_format B_scale B_format use_acc pred mBarriers two_ctas force_async out_dtype"
    ),
    "tcgen05_commit": "mBarrier two_ctas",
    "clc_create_context": "num_consumers num_stages",
    "clc_producer": "context p_producer multi_ctas k",
    "clc_consumer": "context p_consumer multi_ctas k return_3d",
    "get_fp8_format_name": "dtype",
    "stoch_round": "src dst_ty rand_bits",
    "vote_ballot_sync": "mask pred",
    "warp_redux": "x op",
    "buffer_load": "ptr offsets mask other cache contiguity",
    "buffer_store": "value ptr offsets mask cache",
    "buffer_atomic_add": "ptr offsets value mask sem scope contiguity",
    "buffer_load_to_local": "dest ptr offsets mask other cache_modifier",
    "zeros": "shape dtype layout",
    "assume_uniform": "value",
    "amd_sched_barrier": "mask",
    "extract_slice": "source shape offsets",
    "require_layout": "x layout pin late_address_compute",
    "async_amd_descriptor_load": "desc result offsets pred clamp_bounds",
    "amd_mfma_commit": "value preserve",
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


def test_every_public_name_is_there_and_says_what_it_is():
    listed = list(entries())
    assert len({entry.name for entry in listed}) == len(listed)
    for entry in listed:
        assert getattr(tlx, entry.name).__doc__, entry.name
        assert entry.meaning, entry.name
        # A name is either missing for a reason, or compiles for some GPU from some Triton on.
        assert entry.reason or (entry.targets and entry.triton), entry.name
    assert {entry.name for entry in listed if entry.reason} == set(PLACEHOLDERS)


def test_nothing_public_is_left_out_of_the_table():
    ours = set(
        "Box Dispatch Fallback InstallError KernelStats Memory Schedule Specialized StaleKernelError TLXError TmaView "
        "async_token_type compile fingerprint_of install jit memory policy require require_along_depth "
        "CopiedRows copied_rows require_block require_starts TO_END require_disjoint require_dtypes "
        "specialized stats tma_view uninstall".split()
    )
    assert set(tlx.__all__) - ours <= {entry.name for entry in entries()}


def test_the_page_is_up_to_date():
    spec = importlib.util.spec_from_file_location("tlx_support", Path(__file__).parents[2] / "docs" / "tlx_support.py")
    support = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(support)
    assert support.PAGE.read_text(encoding="utf-8") == support.page(), "run: make docs"


def test_placeholders_do_not_hide_what_exists():
    assert not set(PLACEHOLDERS) & set(tlx.__all__)
    assert set(PLACEHOLDERS) <= set(dir(tlx))
    assert all(callable(getattr(tlx, name)) for name in PLACEHOLDERS)
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        tlx.no_such_name  # noqa: B018


#: names that Meta's tutorials for NVIDIA GPUs mention and that cannot be had
MISSED = "nv_mma_shared_layout_encoding tensor_memory_layout_encoding DummyRegisterLayoutEncoding _to_mxfp8_block"


def test_few_names_that_tutorials_for_nvidia_mention_cannot_be_had():
    assert {entry.name for entry in entries() if entry.reason and entry.tier <= 2} == set(MISSED.split())


@pytest.mark.parametrize("name", PLACEHOLDERS)
def test_what_cannot_be_had_says_why(name, tmp_path):
    parameters = inspect.signature(PLACEHOLDERS[name]).parameters.values()
    words = ["out" for parameter in parameters if parameter.default is inspect.Parameter.empty]
    path = tmp_path / "reaches.py"
    path.write_text(f"import tlx\n\n\n@tlx.jit\ndef kernel(out):\n    tlx.{name}({', '.join(words)})\n")
    spec = importlib.util.spec_from_file_location("reaches", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(CompilationError) as caught:
        tlx.compile(module.kernel, {"out": "*i32"})
    assert f"tlx.{name} is not available: {REASONS[name]}" in str(caught.value)
    assert "reaches.py:6" in str(caught.value).split("\n")[0]


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
