"""Section B: alignment, bounds and the making of tensor descriptors."""

from __future__ import annotations

from dataclasses import replace

import pytest
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.faults.trying import (
    BF16,
    INT8,
    bound,
    broken,
    converted,
    dispatched,
    launches,
    product,
    sound,
    tensor,
    text_of,
    tried,
)
from tests.tlx.launch.device import Device, install
from tlx.lowering import versions
from tlxify.verify.inputs import edge_cases

pytestmark = pytest.mark.triton

TILES = {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 64}


@pytest.mark.parametrize(("depth", "path"), [(511, "original"), (508, "original"), (512, "specialized")])
@pytest.mark.parametrize("name", ["packed_depth", "specialized_loop"])
def test_fault_32_rows_of_an_odd_number_of_bytes_run_the_original(name, depth, path):
    given = product(512, 512, depth, BF16)
    found = dispatched(name, given, config={**TILES, "num_warps": 8, "num_stages": 3})
    assert (found.path, found.code) == (path, "" if path == "specialized" else "unaligned-stride")
    if path == "original":
        assert f"{2 * depth} bytes" in found.text or "16 bytes" in found.text


def test_fault_32_padded_rows_of_511_elements_are_converted():
    given = product(512, 512, 511, BF16, stride_am=512, stride_bk=512)
    found = dispatched("specialized_loop", given, config={**TILES, "num_warps": 8, "num_stages": 3})
    assert found.path == "specialized", found.text
    kernel = converted("specialized_loop")
    base = next(case for case in edge_cases(kernel.contract) if case.name.startswith("ragged"))
    odd = replace(
        base, values=tuple({**dict(base.values), "K": 61}.items()), layouts=(("a_ptr", "padded"), ("b_ptr", "padded"))
    )
    sound(kernel, [odd], least=1)


def test_fault_33_no_store_of_ours_writes_past_the_end_of_a_row():
    kernel = converted("descriptor_store")
    text = text_of(kernel)
    assert "c_desc.store" not in text
    assert "async_descriptor_store" not in text
    base = next(case for case in edge_cases(kernel.contract) if case.name.startswith("4 trips"))
    narrow = replace(
        base, values=tuple({**dict(base.values), "N": 18}.items()), layouts=(("b_ptr", "padded"), ("c_ptr", "padded"))
    )
    sound(kernel, [narrow], least=1)
    assert broken(kernel, "(stored_columns[None, :] < N)", "(stored_columns[None, :] < N + 4)", [narrow])


@pytest.mark.parametrize("stages", [1, 2, 3, 4, 5])
def test_fault_34_descriptors_are_made_once_by_the_launcher(stages):
    kernel = converted("descriptor_in_loop")
    assert "make_tensor_descriptor" not in text_of(kernel)
    config = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "num_warps": 4, "num_stages": stages}
    found = dispatched("descriptor_in_loop", product(512, 512, 256), config=config)
    assert found.plan.stages == max(2, stages)
    cases = [
        case for case in edge_cases(kernel.contract) if case.config == stages - 1 and case.trips in (1, stages + 1)
    ]
    sound(kernel, cases, least=1)


@pytest.mark.parametrize(("step", "path"), [(3, "original"), (4, "original"), (8, "specialized"), (512, "specialized")])
def test_fault_35_what_begins_off_16_bytes_runs_the_original(step, path):
    given = {**product(512, 512, 256), "step": step, "lda": 2048, "BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}
    assert dispatched("begins_inside", given, grid=(8, 4)).path == path


@pytest.mark.parametrize("offset", [2, 4, 8])
def test_fault_35_a_base_off_16_bytes_runs_the_original(offset):
    given = {**product(512, 512, 256), "a_ptr": tensor(0, offset=offset)}
    found = dispatched("specialized_loop", given, config={**TILES, "num_warps": 8, "num_stages": 3})
    assert (found.path, found.code) == ("original", "unaligned-base")


def test_fault_35_results_are_the_source_s_wherever_it_begins():
    sound(converted("begins_inside"))


@pytest.mark.skipif(not versions.ARGUMENTS_ONE_BY_ONE, reason="this Triton's launcher is left to itself")
def test_fault_39_no_allocator_is_needed(monkeypatch):
    import tlx
    from tlx.launch import chip

    device = Device()
    with monkeypatch.context() as patched:
        install(patched.setattr, device)
        tlx.policy("always")
        kernel = bound("descriptor_in_loop")
        kernel[(8, 8)](*[value for name, value in product(512, 512, 256).items() if name in kernel.arg_names])
        assert tlx.stats()["fault_descriptor_in_loop.anew_kernel"].fast == 1
    chip.forget()
    chip.processors.cache_clear()
    bound.cache_clear()


def test_fault_40_loads_of_attention_go_through_the_launcher_s_descriptors():
    text = text_of(converted("specialized_attention"))
    assert "make_tensor_descriptor" not in text
    assert text.count("tlx.async_descriptor_load(") >= 3


@pytest.mark.parametrize(
    "name", ["specialized_loop", "packed_depth", "block_pointers", "wrapped_rows", "descriptor_in_loop"]
)
def test_fault_41_a_ragged_depth_adds_nothing(name):
    kernel = converted(name)
    ragged = [case for case in edge_cases(kernel.contract) if "agged" in case.name or case.name.startswith("sizes")]
    depth = [replace(case, values=tuple({**dict(case.values), "K": 40}.items())) for case in ragged if case.trips]
    assert all(dict(case.tiles)["BLOCK_K"] == 16 for case in depth)
    sound(kernel, [replace(case, schedules=("late",)) for case in depth[:4]], least=1)


def test_fault_41_gathered_rows_end_where_their_depth_does():
    kernel = converted("gathered_rows")
    assert "tlx.async_load(" in text_of(kernel)
    # Tiles of 32: the rows end inside the second one.
    own = [case for case in edge_cases(kernel.contract) if not case.tiles]
    depth = [replace(case, values=tuple({**dict(case.values), "K": 48}.items()), trips=2) for case in own]
    sound(kernel, [replace(case, schedules=("late", 0)) for case in depth], least=1)


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_fault_42_block_pointers_made_in_a_loop(stages):
    kernel = converted("heads_in_rows")
    assert "make_block_ptr" not in text_of(kernel)
    cases = [case for case in launches(kernel) if case.config == 0]
    assert {config.num_stages for config in kernel.contract.configs} == {2, 3, 4}
    every = [case for case in edge_cases(kernel.contract) if case.config == stages - 2]
    sound(kernel, [replace(case, schedules=("late", 0)) for case in (every[:3] or cases)], least=1)


def test_fault_45_what_may_be_none_may_be_none():
    for bias in (None, tensor(5)):
        given = {**product(512, 512, 256), "bias_ptr": bias, "BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}
        found = dispatched("optional_bias", given)
        assert found.path == "specialized", found.text
        assert (found.kwargs["bias_ptr"] is None) == (bias is None)
    sound(converted("optional_bias"))


@pytest.mark.parametrize(("block", "path"), [([1, 1], "original"), ([64, 64], "original"), ([64, 32], "specialized")])
def test_fault_45_a_launch_with_a_placeholder_box_is_refused(block, path):
    given = {**product(512, 512, 256), "BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}
    given["a_desc"] = TensorDescriptor(tensor(0), [512, 256], [256, 1], block)
    found = dispatched("placeholder_box", given, grid=(8, 8))
    assert found.path == path, found.text
    if path == "original":
        assert "a_desc" in found.text


def test_inputs_of_this_section_are_tried():
    assert tried(converted("packed_depth")).specialized >= 2
    assert INT8.itemsize == 1
