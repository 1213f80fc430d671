"""How two outputs are compared."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tlxify.verify.compare import compare

GENERATOR = np.random.default_rng(7)
EXACT = GENERATOR.standard_normal((16, 8)) * 10


def outcome(converted, source, exact=EXACT, dtype="fp16", unwritten=None):
    nothing = np.zeros(source.shape, bool)
    return compare("c", converted, source, exact, dtype, nothing if unwritten is None else unwritten, nothing)


def test_equal_bits_are_identical():
    source = EXACT.astype(np.float16)
    found = outcome(source.copy(), source)
    assert found.passed
    assert found.identical


def test_one_unit_in_the_last_place_passes_and_is_told():
    source = EXACT.astype(np.float16)
    converted = np.nextafter(source, np.float16(np.inf))
    found = outcome(converted, source)
    assert found.passed
    assert not found.identical


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32"])
def test_one_wrong_element_is_named(dtype):
    kind = ml_dtypes.bfloat16 if dtype == "bf16" else dtype.replace("fp", "float")
    source = EXACT.astype(kind)
    converted = source.copy()
    converted[3, 5] = converted[3, 5] + converted.dtype.type(1.0)
    found = outcome(converted, source, dtype=dtype)
    assert not found.passed
    assert found.mismatch.startswith("c[3, 5] is ")
    assert "1 of 128 elements" in found.mismatch


def test_the_source_may_be_as_wrong_as_it_likes_but_not_the_conversion():
    source = (EXACT * (1 + 1e-2)).astype(np.float16)
    assert outcome((EXACT * (1 - 1e-2)).astype(np.float16), source).passed
    assert not outcome((EXACT * (1 + 4e-2)).astype(np.float16), source).passed


def test_nan_and_infinity_must_be_in_the_same_places():
    source = EXACT.astype(np.float16)
    source[0, 0], source[0, 1] = np.nan, np.inf
    assert outcome(source.copy(), source).passed
    for place, value in (((0, 0), 0.0), ((0, 1), -np.inf), ((2, 2), np.nan)):
        converted = source.copy()
        converted[place] = value
        assert outcome(converted, source).mismatch.startswith(f"c[{place[0]}, {place[1]}]")


#: By type: its largest number, and the least magnitude that rounds to infinity.
ENDS = {"fp16": (65504.0, 65520.0), "bf16": (3.3895313892515355e38, 3.3961775292304601e38)}


@pytest.mark.parametrize("dtype", ENDS)
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("swapped", [False, True])
def test_infinity_agrees_with_the_largest_number_where_the_exact_value_is_at_that_edge(dtype, sign, swapped):
    kind = ml_dtypes.bfloat16 if dtype == "bf16" else np.float16
    largest, edge = ENDS[dtype]
    infinite = sign * np.inf

    def found(exact_value, finite_value, infinite=infinite):
        exact, one, other = EXACT.copy(), EXACT.astype(kind), EXACT.astype(kind)
        exact[3, 5] = exact_value
        one[3, 5], other[3, 5] = infinite, finite_value
        return outcome(*((other, one) if swapped else (one, other)), exact, dtype)

    for exact in (largest, edge, edge * (1 + 2.0**-11)):
        agreed = found(sign * exact, sign * largest)
        assert agreed.passed
        assert not agreed.identical
    # Farther off, of the other sign, or with a number that is not near the edge itself: wrong.
    assert found(sign * largest / 2, sign * largest).mismatch.startswith("c[3, 5] is ")
    assert found(sign * edge * 1.03, sign * largest).mismatch.startswith("c[3, 5] is ")
    assert found(infinite, sign * largest).mismatch.startswith("c[3, 5] is ")
    assert found(sign * edge, -sign * largest).mismatch.startswith("c[3, 5] is ")
    assert found(sign * edge, sign * largest / 2).mismatch.startswith("c[3, 5] is ")
    assert found(sign * edge, sign * largest, -infinite).mismatch.startswith("c[3, 5] is ")


def test_without_an_oracle_infinity_is_no_number():
    source = EXACT.astype(np.float16)
    source[0, 0] = 65504.0
    converted = source.copy()
    converted[0, 0] = np.inf
    assert outcome(converted, source, None).mismatch.startswith("c[0, 0] is ")


def test_an_element_left_unwritten_is_a_mismatch_whatever_it_holds():
    source = EXACT.astype(np.float16)
    unwritten = np.zeros(source.shape, bool)
    unwritten[1, 2] = True
    assert "c[1, 2]: written by the source" in outcome(source.copy(), source, unwritten=unwritten).mismatch


def test_what_neither_wrote_does_not_widen_the_tolerance():
    source = EXACT.astype(np.float16)
    converted = source.copy()
    unwritten = np.zeros(source.shape, bool)
    unwritten[1, 2] = True
    source[1, 2], converted[1, 2] = 20000, -30000  # poison of two launches
    assert compare("c", converted, source, EXACT, "fp16", unwritten, unwritten).identical
    converted[0, 0] += np.float16(0.5)
    assert not compare("c", converted, source, EXACT, "fp16", unwritten, unwritten).passed


def test_integers_must_be_equal():
    source = np.arange(6, dtype=np.int32)
    converted = source.copy()
    converted[4] = 9
    found = compare("c", converted, source, None, "i32", np.zeros(6, bool), np.zeros(6, bool))
    assert found.mismatch.startswith("c[4] is 9 instead of 4")


def test_without_an_oracle_the_source_is_the_measure():
    source = EXACT.astype(np.float16)
    converted = source.copy()
    converted[0, 0] += np.float16(0.5)
    assert outcome(np.nextafter(source, np.float16(9)), source, exact=None).passed
    assert not outcome(converted, source, exact=None).passed


def independent(exact, size=0.02):
    return (exact + GENERATOR.standard_normal(exact.shape) * size).astype(np.float32)


def test_one_bad_element_of_the_source_excuses_no_shift_of_all():
    exact = GENERATOR.standard_normal((16, 16)) * 10
    source = independent(exact)
    source[0, 0] = exact[0, 0] + 2.0
    assert outcome(independent(exact), source, exact, "fp32").passed
    shifted = (independent(exact) + 0.05 * np.sqrt(np.mean(exact**2))).astype(np.float32)
    found = outcome(shifted, source, exact, "fp32")
    assert not found.passed
    assert found.mismatch.startswith("c is less exact as a whole: 50% of its 256 elements are off by more than")


def test_a_shift_of_few_elements_is_seen_among_many():
    exact = GENERATOR.standard_normal((64, 64))
    source = independent(exact, 0.01)
    source[0, 0] = exact[0, 0] + 2.0
    converted = independent(exact, 0.01)
    assert outcome(converted, source, exact, "fp32").passed
    converted[:8] += 0.3
    assert "10% of its 4096 elements" in outcome(converted, source, exact, "fp32").mismatch


@pytest.mark.parametrize("count", [1, 2, 4, 16, 64, 200, 1000, 20000])
def test_errors_of_one_law_hardly_ever_differ_too_much(count):
    repeats = max(20, min(10000, 40000 // count))
    refused = 0
    for _ in range(repeats):
        exact = GENERATOR.standard_normal((1, count)) * 10
        refused += not outcome(independent(exact), independent(exact), exact, "fp32").passed
    assert refused <= max(2, 0.003 * repeats)


@pytest.mark.parametrize(("rows", "columns"), [(16, 16), (61, 29), (17, 64), (128, 64)])
def test_products_of_rounded_operands_hardly_ever_differ_too_much(rows, columns):
    refused = 0
    for _ in range(200):
        x, w = GENERATOR.standard_normal((rows, 8)), GENERATOR.standard_normal((8, columns))
        one = x.astype(np.float16).astype(float) @ (w * 0.7).astype(np.float16).astype(float)
        other = (x * 0.7).astype(np.float16).astype(float) @ w.astype(np.float16).astype(float)
        exact = (x @ w) * 0.7
        refused += not outcome(one.astype(np.float32), other.astype(np.float32), exact, "fp32").passed
    assert refused <= 2


@pytest.mark.parametrize("dtype", ["fp16", "fp32"])
def test_rows_of_small_elements_are_judged_by_their_own_size(dtype):
    kind = np.float16 if dtype == "fp16" else np.float32
    exact = GENERATOR.standard_normal((64, 32)) * np.exp2(-np.arange(64.0) / 6)[:, None]
    source, converted = exact.astype(kind), exact.astype(kind)
    converted[48:] /= 2
    assert not outcome(converted, source, exact, dtype).passed
    assert not outcome(converted.T.copy(), source.T.copy(), exact.T, dtype).passed
    converted[48:] = 0
    assert not outcome(converted, source, exact, dtype).passed


@pytest.mark.parametrize(
    ("shape", "small"),
    [
        ((64,), np.s_[32:]),
        ((128, 4), np.s_[64:]),
        ((64, 32), np.s_[40:]),
        ((2, 32, 32), np.s_[1, 16:]),
        ((2, 32, 32), np.s_[0, :, 20:]),
    ],
    ids=["vector", "narrow", "matrix", "rows of one head", "columns of one head"],
)
def test_small_elements_that_stand_together_are_judged_by_their_own_size(shape, small):
    exact = GENERATOR.standard_normal(shape)
    exact[small] *= 2.0**-12
    source, converted = exact.astype(np.float16), exact.astype(np.float16)
    assert outcome(source.copy(), source, exact).passed
    converted[small] /= 2
    assert not outcome(converted, source, exact).passed
    if len(shape) == 2:
        source[0], converted[0], exact[0] = np.inf, np.inf, np.inf
        assert not outcome(converted, source, exact).passed, "a row without numbers says nothing of the others"


def test_a_row_that_cancels_is_of_the_size_of_what_cancelled():
    exact = GENERATOR.standard_normal((64, 100))
    exact[5] = 0.0
    source = exact.astype(np.float32)
    converted = source.copy()
    converted[5] = 6e-8
    assert outcome(converted, source, exact, "fp32").passed


def test_rows_too_small_for_the_element_type_are_judged_by_what_it_can_hold():
    exact = GENERATOR.standard_normal((64, 32)) * np.exp2(-np.arange(64.0))[:, None]
    source = exact.astype(np.float16)
    assert outcome((exact * (1 + 2.0**-12)).astype(np.float16), source, exact).passed
    converted = source.copy()
    converted[12] /= 2
    assert not outcome(converted, source, exact).passed


def test_where_the_oracle_has_no_number_the_source_is_the_measure():
    source = EXACT.astype(np.float16)
    exact = EXACT.copy()
    exact[3] = np.nan
    exact[4, 0] = np.inf
    assert outcome(source.copy(), source, exact).passed
    converted = source.copy()
    converted[3] *= np.float16(1.5)
    assert outcome(converted, source, exact).mismatch.startswith("c[3, 0] is ")
    assert not outcome(converted, source, np.full_like(EXACT, np.nan)).passed
