"""Launches described by text: what is understood, and what is said about the rest."""

import ml_dtypes
import numpy as np
import pytest
import triton
import triton.language as tl
from hypothesis import given, settings
from hypothesis import strategies as st

from tlx.sim.tool.contract import Contract, in_module, prepare
from tlx.sim.tool.expressions import evaluate


@triton.jit
def scale(x, out, N, factor, BLOCK: tl.constexpr, MODE: tl.constexpr = "plain"):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < N) * factor, mask=at < N)


MODULE = {"scale": scale, "other": 3}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("cdiv(M, 64) * 2", 4),
        ("-M // 7", -15),
        ("max(M, 3), min(M, 3)", (100, 3)),
        ("2 ** 5 >> 1", 16),
        ("'relu'", "relu"),
        ("None", None),
        ("1.5", 1.5),
    ],
)
def test_arithmetic(text, value):
    assert evaluate(text, {"M": 100}) == value


@pytest.mark.parametrize(
    "text", ["M", "__import__('os')", "M.real", "[x for x in (1,)]", "1 +", "f()", "1 / 0", "lambda: 1", "cdiv(*M)"]
)
def test_what_is_no_arithmetic(text):
    with pytest.raises(ValueError, match=r".+"):
        evaluate(text, {})


@settings(max_examples=100, deadline=None)
@given(st.integers(-999, 999), st.integers(1, 99))
def test_division_rounds_up(a, b):
    assert evaluate("cdiv(A, B)", {"A": a, "B": b}) == int(np.ceil(a / b))


def test_arguments():
    contract = Contract("scale", {"x": "bf16[N]", "out": "fp32[2*N]=0", "factor": "1.5"}, {"BLOCK": 16, "N": "3*BLOCK"}, "cdiv(N,BLOCK)")  # fmt: skip  # noqa: E501
    launch = prepare(contract, MODULE)
    assert launch.grid == (3,)
    assert launch.kwargs["x"].shape == (48,)
    assert launch.kwargs["x"].dtype == ml_dtypes.bfloat16
    assert launch.kwargs["x"].astype(np.float32).std() > 0.5
    assert not launch.kwargs["out"].any()
    assert {name: launch.kwargs[name] for name in ("N", "BLOCK", "factor")} == {"N": 48, "BLOCK": 16, "factor": 1.5}
    assert np.array_equal(prepare(contract, MODULE).kwargs["x"], launch.kwargs["x"])
    assert not np.array_equal(prepare(contract, MODULE, seed=1).kwargs["x"], launch.kwargs["x"])


def test_descriptors_have_aligned_rows():
    contract = Contract("scale", {"x": "fp16[5,3]@[4,8]", "out": "i32[4]", "factor": "1"}, {"N": 4, "BLOCK": 4})
    desc = prepare(contract, MODULE).kwargs["x"]
    assert (desc.shape, desc.strides, desc.block_shape) == ([5, 3], [8, 1], [4, 8])


@pytest.mark.parametrize(
    ("contract", "says"),
    [
        (Contract("scales", {}), "has no scales; it has scale"),
        (Contract("other", {}), "expected a function"),
        (Contract("scale", {"x": "fp16[N]"}), "N is not set"),
        (Contract("scale", {"x": "fp17[4]"}), "no element type fp17"),
        (Contract("scale", {"x": "fp16[0]"}), "not positive"),
        (Contract("scale", {"x": "fp16[4,4]@[4]"}), "a block of 1 dimensions"),
        (Contract("scale", {"y": "1"}), "no parameter y"),
        (Contract("scale", {"x": "fp16[4]", "out": "fp16[4]"}, {"N": 4}), "also needs factor, BLOCK"),
    ],
)
def test_what_is_wrong_is_said(contract, says):
    with pytest.raises(ValueError, match=says):
        prepare(contract, MODULE)


def test_in_a_file():
    (contract,) = in_module({"TLX_SIM": [{"kernel": "scale", "grid": 2, "args": {"x": "fp16[4]"}, "set": {"N": 4}}]})
    assert contract == Contract("scale", {"x": "fp16[4]"}, {"N": 4}, "2")
    assert in_module({}) == []


@pytest.mark.parametrize("entries", [3, ["scale"], [{"grid": 1}], [{"kernel": "scale", "size": 3}]])
def test_a_list_that_is_none(entries):
    with pytest.raises(ValueError, match="TLX_SIM"):
        in_module({"TLX_SIM": entries})
