"""Section A: compilers and hand-written kernels that crashed, hung or computed nonsense when warps were specialized."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import pytest
import triton

from tests.faults.trying import (
    INPUTS,
    INT8,
    bound,
    broken,
    converted,
    dispatched,
    launches,
    outcome,
    product,
    refused,
    sound,
    tensor,
    text_of,
)
from tests.tlx.launch.test_compiled import compiled
from tlxify import convert
from tlxify.source import SourceFile
from tlxify.verify.inputs import edge_cases

pytestmark = pytest.mark.triton

TILES = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64}


@pytest.mark.parametrize("name", ["specialized_loop", "specialized_attention", "specialized_single_loop"])
def test_fault_1_loops_that_ask_for_specialization_are_converted(name):
    kernel = converted(name)
    assert "warp_specialize" not in text_of(kernel)
    sound(kernel)


def test_fault_1_a_loop_that_only_loads_is_left_alone():
    assert refused("load_only_loop") == "TLX301"


def test_fault_3_unit_axes_of_a_box_are_squeezed():
    kernel = converted("unit_axis")
    found = dispatched(
        "unit_axis",
        {**product(512, 512, 64), "q_ptr": product(1, 1, 1)["a_ptr"], "k_ptr": product(1, 1, 1)["b_ptr"]}
        | {"o_ptr": product(1, 1, 1)["c_ptr"], "T": 512, "H": 4, "D": 64, "BLOCK_M": 64, "BLOCK_N": 64},
    )
    assert found.path == "specialized", found.text
    assert [box.shape for box in found.plan.boxes.values()] == [(1, 64, 64), (1, 64, 64)]
    assert "tlx.local_load" not in text_of(kernel)
    sound(kernel)


@pytest.mark.parametrize("number", [4, 5, 83])
def test_fault_4_5_83_other_chips_run_the_original_and_are_told_why(number, hopper_driver, caplog):
    arch = {4: 120, 5: 120, 83: 121}[number]
    hopper_driver("cuda", arch)
    from tlx.launch import chip

    refusal = chip.refusal([])
    assert refusal is not None
    assert refusal.code == "chip"
    assert "cuda 12.x" in refusal.text
    assert "specialized kernel is written for cuda 9.x" in refusal.text


def test_fault_5_a_target_says_which_chip_it_is_for():
    from tlxify.targets import hopper

    assert hopper.HOPPER.name == "sm_90"


@pytest.mark.parametrize(("warps", "consumers"), [(1, 4), (2, 4), (4, 4), (8, 8)])
def test_fault_6_consumers_are_whole_warp_groups(warps, consumers):
    stages = {1: 1, 2: 2, 4: 3, 8: 4}[warps]
    config = {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 32, "num_warps": warps, "num_stages": stages}
    found = dispatched("few_warps", product(512, 512, 256), config=config)
    assert found.path == "specialized", found.text
    assert found.plan.consumers * found.plan.consumer_warps == consumers


def test_fault_6_whatever_the_warps_results_are_the_source_s():
    kernel = converted("few_warps")
    cases = [replace(case, schedules=("late",)) for case in edge_cases(kernel.contract) if case.trips in (1, 4)]
    assert {case.config for case in cases} == {0, 1, 2, 3}
    assert sound(kernel, cases).configs == {0, 1, 2, 3}


def test_fault_7_no_plan_exceeds_the_registers_of_an_sm():
    for warps, rows, columns in itertools.product((4, 8), (64, 128, 256), (64, 128, 256)):
        config = {"BLOCK_M": rows, "BLOCK_N": columns, "BLOCK_K": 64, "num_warps": warps, "num_stages": 3}
        found = dispatched("specialized_loop", product(512, 512, 256), config=config)
        assert found.path == "specialized", found.text
        plan = found.plan
        assert registers(plan) * plan.resident <= 65_536
        assert plan.consumers * plan.consumer_warps in (4, 8)


def test_fault_7_a_plan_over_the_budget_is_left_to_the_original():
    config = {"BLOCK_M": 256, "BLOCK_N": 256, "BLOCK_K": 256, "num_warps": 8, "num_stages": 3}
    found = dispatched("specialized_loop", product(512, 512, 512), config=config)
    assert (found.path, found.code) == ("original", "shared-memory")


def registers(plan):
    """Registers that a CTA asks for: the producer's warp group has the rest of an even share."""
    from tlx.launch.prepare import PRODUCER_WARPS

    threads = 32 * (plan.consumers * plan.consumer_warps + PRODUCER_WARPS)
    if plan.maxnreg is not None:
        return threads * plan.maxnreg
    return 32 * plan.consumers * plan.consumer_warps * plan.consumer_registers + 32 * PRODUCER_WARPS * 24


@pytest.mark.parametrize("name", ["packed_depth", "specialized_loop"])
def test_fault_9_rows_are_dealt_out_with_the_box(name):
    config = {**TILES, "num_warps": 8, "num_stages": 3}
    found = dispatched(name, product(512, 512, 256), config=config)
    assert found.plan.consumers == 2
    rows = {box.shape[0] for box in found.plan.boxes.values() if box.count == 2}
    assert rows == {64}
    sound(converted(name))


def test_fault_10_one_stage_asked_for_is_two_and_no_hang():
    config = {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 32, "num_warps": 4, "num_stages": 1}
    assert dispatched("few_warps", product(512, 512, 256), config=config).plan.stages == 2
    kernel = converted("few_warps")
    cases = [case for case in edge_cases(kernel.contract) if case.config == 0 and case.trips]
    sound(kernel, cases)


@pytest.mark.parametrize("trips", [0, 1, 2, 3, 4, 5, 6, 7])
def test_fault_11_any_number_of_trips_comes_to_its_end(trips):
    kernel = converted("specialized_loop")
    cases = [case for case in edge_cases(kernel.contract) if case.config == 0 and case.trips is not None]
    kind = next((case for case in cases if case.trips == trips), None)
    if kind is None:
        base = next(case for case in cases if case.trips and case.zeroed is None)
        depth = dict(base.tiles)["BLOCK_K"]
        kind = replace(base, values=tuple({**dict(base.values), "K": trips * depth}.items()), trips=trips)
    sound(kernel, [kind], least=1)


def test_fault_13_a_while_loop_around_the_pipeline():
    sound(converted("while_tiles"))
    assert refused("while_result") == "TLX322"


def two_groups(kernel):
    """Launches in which two consumer groups share what the producer loads."""
    return [case for case in launches(kernel) if dict(case.tiles).get("BLOCK_M", 0) == 32 and case.config == 0]


def test_fault_14_a_slot_is_free_once_every_group_has_read_it():
    kernel = converted("specialized_loop")
    assert "arrive_count=CONSUMERS" in text_of(kernel)
    sound(kernel, two_groups(kernel))
    assert broken(kernel, "arrive_count=CONSUMERS", "arrive_count=1", two_groups(kernel))


def test_fault_17_a_loop_under_a_condition_has_its_roles():
    kernel = converted("under_runtime_if")
    text = text_of(kernel)
    assert text.count("if start < length") == 2
    assert "tlx.async_descriptor_load" in text
    sound(kernel)


def test_fault_17_a_condition_that_the_producer_cannot_know():
    assert refused("while_result") == "TLX322"


def test_fault_18_loads_under_if_in_nested_loops_and_in_helpers():
    for name in ("if_in_tile_loop", "inside_tile_loop", "helper_called_twice"):
        path = next((INPUTS.parents[1] / "cases").rglob(f"{name}.py"))
        source = path.read_text().partition("# output\n")[0]
        (kernel,) = convert(SourceFile(path.name, source)).converted
        producer = text_of(kernel).partition("# Producer")[2].partition("# Consumer")[0]
        assert "tlx.async_descriptor_load" in producer, name
        assert "tlx.async_dot(" not in producer, name


def test_fault_19_no_producer_is_empty():
    assert refused("computed_operands") == "TLX305"


@pytest.mark.parametrize("name", ["specialized_loop", "specialized_attention", "unit_axis", "while_tiles"])
def test_fault_19_every_wait_has_an_arrive(name):
    from tlxify.verify.protocol import check_protocol, worlds_of

    conversion = converted(name).conversion
    worlds = tuple(worlds_of(conversion.contract, None))
    sound_text = check_protocol(conversion.module_text, conversion.file, worlds, kernel=conversion.converted)
    assert all(item.ok for item in sound_text)
    head, mark, tail = conversion.module_text.partition("# Consumer")
    assert "tlx.barrier_arrive(empty" in tail or "_empty[" in tail
    unheard = head + mark + tail.replace("tlx.barrier_arrive(", "str(")
    found = check_protocol(unheard, conversion.file, worlds, kernel=conversion.converted)
    assert not all(item.ok for item in found)


def test_fault_20_a_slot_is_freed_after_the_dot_that_read_it():
    kernel = converted("specialized_loop")
    assert "tlx.barrier_arrive(empty[(used - 1) % STAGES])" in text_of(kernel)
    cases = [case for case in launches(kernel) if case.trips and case.trips > 2]
    sound(kernel, cases, least=1)
    assert broken(kernel, "tlx.async_dot_wait(1, acc)", "tlx.async_dot_wait(2, acc)", cases)


@pytest.mark.parametrize("number", [2, 4])
def test_fault_24_clusters_are_left_to_the_original(number):
    config = triton.Config(TILES, num_warps=8, num_stages=3, num_ctas=number)
    found = dispatched("specialized_loop", product(512, 512, 256), config=config)
    assert (found.path, found.code) == ("original", "clusters")


HINTS = ("", "warp_specialize=True", "loop_unroll_factor=2", "loop_unroll_factor=4", "flatten=True", "num_stages=4")
FORMS = {
    "pointers": "specialized_loop",
    "block pointers": "block_pointers",
    "descriptors": "packed_depth",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("hints", list(itertools.combinations(HINTS, 2)), ids=" ".join)
def test_fault_28_hints_of_the_loop_go(form, hints):
    source = (INPUTS / f"{FORMS[form]}.py").read_text().replace(", warp_specialize=True", "")
    given = ", ".join(hint for hint in hints if hint)
    source = source.replace("tl.range(0, K, BLOCK_K)", "range(0, K, BLOCK_K)")
    changed = source.replace("range(0, K, BLOCK_K)", f"tl.range(0, K, BLOCK_K, {given})")
    assert changed != source
    (kernel,) = convert(SourceFile("hints.py", changed), profitable=False).converted
    text = text_of(kernel)
    assert not any(hint.partition("=")[0] in text.partition("_guard(")[0] for hint in hints if hint)
    if hints == ("warp_specialize=True", "loop_unroll_factor=2"):
        sound(kernel)


def test_fault_30_what_is_stored_for_a_dot_is_fenced():
    sound(converted("weights_in_bytes"))
    given = {**product(512, 512, 256), "b_ptr": tensor(1, INT8), "BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64}
    found = dispatched("weights_in_bytes", given)
    assert found.path == "specialized", found.text
    code = compiled(found).asm["ptx"]
    # The role that computes the operand: behind its last store the fence, and then the arrival.
    between = r"(?:(?!st\.shared|mbarrier\.arrive|wgmma).)*?"
    assert re.search(rf"st\.shared{between}fence\.proxy\.async{between}mbarrier\.arrive", code, re.DOTALL)


@pytest.mark.parametrize("name", ["descriptor_store", "specialized_attention"])
def test_fault_30_no_conversion_stores_what_would_need_a_fence_of_ours(name):
    text = text_of(converted(name))
    assert not any(word in text for word in ("local_store", "async_descriptor_store", "_desc.store"))


def test_inputs_of_this_section_are_all_used():
    assert bound("specialized_loop") is not None
    assert outcome("load_only_loop").verdict_word == "no-dot"
