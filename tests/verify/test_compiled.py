"""Each check of machine code has a kernel that it must refuse."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("triton")

from triton.compiler.errors import CompilationError

import tlx
from tlxify import convert
from tlxify.source import SourceFile
from tlxify.verify.compiled import Variant, compile_dispatch, compile_variants, dispatched, judge, variants
from tlxify.verify.loading import load
from tlxify.verify.sizing import full_size_case

from . import samples

pytestmark = pytest.mark.triton

CONVERTED = samples.TEXT.index("@tlx.jit")
DOT = "acc = tlx.async_dot(a, b, acc)\n"
WAIT = "acc = tlx.async_dot_wait(1, acc)\n"
INDENT = " " * 20


def changed(*pairs: tuple[str, str]) -> str:
    """The sample with replacements in its specialized kernel."""
    head, tail = samples.TEXT[:CONVERTED], samples.TEXT[CONVERTED:]
    for old, new in pairs:
        assert old in tail, old
        tail = tail.replace(old, new)
    return head + tail


def facts_of(text: str, **constants: int):
    """Facts of the first config, with constants of the launch replaced."""
    loaded = load(samples.conversion(text))
    dispatch, _ = dispatched(loaded, full_size_case(samples.CONTRACT, 0))
    assert dispatch.path == "specialized", dispatch.text
    return compile_dispatch(replace(dispatch, kwargs={**dispatch.kwargs, **constants})).facts


@pytest.fixture(scope="module")
def sound():
    return facts_of(samples.TEXT)


def test_the_sample_is_sound(sound):
    assert list(judge(sound)) == []


SUMMED = "acc += tl.sum(tlx.local_load(a).to(tl.float32), 1)[:, None]\n"
B_LOAD = "                    if B_TRANSPOSED:\n                        tlx.async_descriptor_load"
SKIP = f"{INDENT}if STAGES > 0:\n{INDENT}    pass\n"
# A tile of 256 × 256 that lives across the dot loop: more than the registers of a consumer.
TILE = "c_ptr + tl.arange(0, 256)[:, None] * stride_cm + tl.arange(0, 256)[None, :]"
HELD = f"                held = tl.load({TILE}).to(tl.float32)\n"
RELEASED = f"                tl.store({TILE}, held.to(tl.float16))\n"
ZEROS = "                acc = tl.zeros((ROWS"
ROWS = "                rows = pid_m"
REFUSED = {
    "no-setmaxreg": changed((", registers=CONSUMER_REGISTERS", "")),
    "no-hgmma": changed((DOT, SUMMED), (WAIT, "pass\n"), (WAIT.replace("1", "0"), "pass\n")),
    "stack": changed((ZEROS, f"{HELD}{ZEROS}"), (ROWS, f"{RELEASED}{ROWS}")),
}


@pytest.mark.parametrize("code", REFUSED)
def test_a_kernel_without_it_is_refused(code):
    assert code in dict(judge(facts_of(REFUSED[code])))


#: faults that the language refuses before there is machine code to look at → the fault, what is said
REFUSED_EARLIER = {
    "no-utmaldg": (
        changed(
            ("in tl.static_range(CONSUMERS)", "in tl.static_range(0)"),
            (B_LOAD, f"{SKIP}{B_LOAD.replace('if', 'elif')}"),
        ),
        "no copy in this kernel signals this barrier",
    ),
    "c7514": (changed((DOT, f"{DOT}{INDENT}acc = acc * 1.5\n")), "while the tensor cores are still writing it"),
}


@pytest.mark.parametrize("code", REFUSED_EARLIER)
def test_the_language_refuses_it_earlier(code):
    text, message = REFUSED_EARLIER[code]
    with pytest.raises(tlx.TLXError, match=message):
        facts_of(text)


def test_no_loop_through_the_tma_is_refused(sound):
    assert "no-utmaldg" in dict(judge(replace(sound, load_loops=())))


def test_a_loop_that_converts_layouts_is_refused(sound):
    line = "%y = ttg.convert_layout %d : tensor<64x64xf32, #mma> -> tensor<64x64xf32, #blocked>"
    assert "convert-layout" in dict(judge(replace(sound, dot_loop_conversions=(line,))))


def test_more_shared_memory_than_a_cta_has_is_refused(sound):
    assert "shared-memory" in dict(judge(replace(sound, shared=300_000)))
    with pytest.raises(CompilationError, match="bytes of shared memory at the same time, sm_90 has 232448"):
        facts_of(samples.TEXT, STAGES=12)


def test_registers_that_are_not_moved_are_refused():
    found = dict(judge(facts_of(samples.TEXT, CONSUMER_REGISTERS=24)))
    assert set(found) == {"no-setmaxreg", "c7507"}


@pytest.mark.parametrize("note", [7507, 7510, 7514, 7602])
def test_remarks_that_undo_the_plan_are_refused(sound, note):
    assert set(dict(judge(replace(sound, notes=(7517, note))))) == {f"c{note}"}


def test_every_config_dtype_and_layout_is_compiled():
    found = variants(samples.CONTRACT, frozenset({"a_ptr", "b_ptr"}))
    assert {(item.case.config, item.case.dtype) for item in found} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    layouts = {item.case.layouts for item in found if not item.odd}
    assert len(layouts) == 4
    assert sum(item.odd for item in found) == 1


def test_a_config_that_does_not_compile_is_a_finding():
    text = changed((ZEROS, "                tl.static_assert(BLOCK_K == 64, 'too small')\n" + ZEROS))
    built = compile_variants(samples.conversion(text), share=(3, 8))
    (finding,) = built.findings
    assert finding.code == "compiler"
    assert "config 1" in finding.text
    assert "BLOCK_K = 32" in finding.detail


def test_variants_name_themselves():
    case = full_size_case(samples.CONTRACT, 1)
    assert Variant(case).label == "config 1, dtype 0"
    assert Variant(replace(case, layouts=(("a_ptr", "columns"),))).label == "config 1, dtype 0, a_ptr columns"


def test_a_config_that_cannot_be_specialized_is_told_and_no_fault():
    config = samples.CONTRACT.configs[1]
    thin = replace(config, values=(("BLOCK_M", 32), *config.values[1:]))
    built = compile_variants(
        samples.conversion(contract=replace(samples.CONTRACT, configs=(config, thin))), share=(2, 4)
    )
    assert built.findings == []
    assert built.left[1].startswith("rows:")


def test_strides_named_by_a_constexpr_reach_the_guard():
    from tlxify.verify.compiled import launch_constants

    path = Path(__file__).parents[2] / "corpus" / "attention" / "softcap.py"
    (conversion,) = (kernel.conversion for kernel in convert(SourceFile.read(path)).kernels)
    found, refusal = launch_constants(conversion)
    assert len(found) >= len(conversion.contract.configs), refusal
    assert {entry["D"] for entry in found} == {64}
