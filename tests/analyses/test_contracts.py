"""What a valid launch looks like, inferred from the kernel alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.golden import ROOT
from tlxify import analyze
from tlxify.contract import ContractFault, NoValue, Undefined, complete, evaluate, extent_of
from tlxify.source import SourceFile


def contract(name):
    (analysis,) = analyze(SourceFile.read(ROOT / "corpus" / "gemm" / f"{name}.py"))
    return analysis.contract


def shapes(found):
    return {tensor.name: (tensor.shape, tensor.strides) for tensor in found.tensors}


def test_wrapped_and_masked_axes_have_the_extent_they_are_held_to():
    found = contract("matmul")
    assert shapes(found)["a_ptr"] == (("M", "K"), ("stride_am", "stride_ak"))
    assert shapes(found)["c_ptr"] == (("M", "N"), ("stride_cm", "stride_cn"))
    assert found.contracted == ("K", "BLOCK_K")
    assert found.tiled == (("M", "BLOCK_M"), ("N", "BLOCK_N"))
    assert found.multiples == ()


def test_configs_and_grid_come_from_the_source():
    found = contract("matmul")
    assert found.configs_known
    assert [config.num_warps for config in found.configs] == [8, 8, 8, 4, 4, 4]
    (axis,) = found.grid
    assert evaluate(axis, {"M": 300, "N": 130, "BLOCK_M": 128, "BLOCK_N": 64}) == 9


def test_operands_of_a_dot_share_a_dtype():
    groups = {tensor.name: tensor.dtype_group for tensor in contract("linear").tensors}
    assert groups["x_ptr"] == groups["w_ptr"]
    assert groups["y_ptr"] != groups["x_ptr"]


def test_a_batch_has_as_many_entries_as_its_grid_axis():
    found = contract("batched")
    assert shapes(found)["a_ptr"][0] == ("grid_2", "M", "K")
    assert found.grid == ("cdiv(M, BLOCK_M)", "cdiv(N, BLOCK_N)", "grid_2")
    assert found.free_sizes == ("grid_2",)


def test_an_unmasked_axis_is_a_multiple_of_its_tile():
    found = contract("even")
    assert found.multiples == (("K", "BLOCK_K"),)
    assert shapes(found)["a_ptr"][0] == ("M", "K")


def test_one_grid_axis_may_count_batches_and_heads():
    found = contract("heads")
    assert sorted(shapes(found)["q_ptr"][0]) == sorted(("outer_0", "heads", "length", "depth"))
    assert found.free_sizes == ("outer_0",)
    assert evaluate(found.grid[0], {"outer_0": 3, "heads": 4}) == 12


def test_options_are_what_the_kernel_compares_with():
    kinds = {spec.name: (spec.kind, spec.choices) for spec in contract("matmul").constexprs}
    assert kinds["ACTIVATION"] == ("option", ("", "leaky_relu"))
    assert {spec.name: spec.kind for spec in contract("linear").constexprs}["HAS_BIAS"] == "flag"


@pytest.mark.parametrize("text", ["M +", "open('x')", "M.real", "[1]", "min()", "cdiv(M)", "cdiv(M, M, M)", "max(M)"])
def test_only_arithmetic_is_evaluated(text):
    with pytest.raises((ValueError, SyntaxError)):
        evaluate(text, {"M": 2})


@pytest.mark.parametrize(
    ("text", "fault", "why"),
    [
        ("M // (H // M)", NoValue, r"`M // \(H // M\)` has no value at M = 2, H = 1"),
        ("M % (H - 1)", NoValue, "has no value"),
        ("M / (H - 1)", NoValue, "has no value"),
        ("cdiv(M, 0)", NoValue, "has no value at M = 2"),
        ("1e999 // 1", NoValue, "no whole number"),
        (f"1{'0' * 400} / 2", NoValue, "has no value"),
        ("H / M", NoValue, "no whole number: it is 0.5"),
        ("NAME // 2", NoValue, "has no value at NAME = 'relu'"),
        ("N // 2", Undefined, "nothing says what `N` is"),
    ],
)
def test_an_expression_without_a_value_says_why(text, fault, why):
    with pytest.raises(ContractFault, match=why) as raised:
        evaluate(text, {"M": 2, "H": 1, "NAME": "relu"})
    assert type(raised.value) is fault
    assert extent_of(text, {"M": 2, "H": 1, "NAME": "relu"}) is None


def test_what_follows_from_what_has_no_value_stays_open():
    found = replace(contract("matmul"), computed=(("A", "M // (M - 2)"), ("B", "A + 1"), ("C", "M + 1")))
    known: dict[str, object] = {"M": 2}
    complete(found, known)
    assert known == {"M": 2, "C": 3}


def test_8_bit_operands_are_told_which_axis_lies_together():
    (analysis,) = analyze(SourceFile.read(ROOT / "corpus" / "quantized" / "int8_rows.py"))
    tensors = {tensor.name: tensor for tensor in analysis.contract.tensors}
    assert (tensors["a_ptr"].dtypes, tensors["a_ptr"].deep) == (("i8",), 1)
    assert (tensors["b_ptr"].dtypes, tensors["b_ptr"].deep) == (("i8",), 0)
    assert tensors["c_ptr"].deep is None


def test_a_divided_axis_has_as_many_places_as_quotients():
    (analysis,) = analyze(SourceFile.read(ROOT / "corpus" / "quantized" / "fp8_blocks.py"))
    assert shapes(analysis.contract)["b_s_ptr"][0] == ("cdiv(N, BLOCK_K)", "cdiv(K, BLOCK_K)")


def test_extents_at_which_tiles_wrap_as_a_whole_are_known():
    text = (ROOT / "tests" / "cases" / "address" / "wrap_without_mask.py").read_text().split("# output")[0]
    (analysis,) = analyze(SourceFile("kernel.py", text))
    assert analysis.contract.whole == (("M", "BLOCK_M"),)
    assert analysis.contract.multiples == ()
