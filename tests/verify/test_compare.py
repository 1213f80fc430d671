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


def test_one_bad_element_of_the_source_excuses_no_shift_of_all():
    noise = GENERATOR.standard_normal(EXACT.shape) * 0.02
    source = (EXACT + noise).astype(np.float32)
    source[0, 0] = EXACT[0, 0] + 2.0
    again = (EXACT - noise).astype(np.float32)
    assert outcome(again, source, dtype="fp32").passed
    shifted = (EXACT + noise + 0.05 * np.sqrt(np.mean(EXACT**2))).astype(np.float32)
    found = outcome(shifted, source, dtype="fp32")
    assert not found.passed
    assert found.mismatch.startswith("c is less exact as a whole: 50% of its 128 elements are off by more than")


def test_a_shift_of_few_elements_is_seen_among_many():
    exact = GENERATOR.standard_normal((64, 64))
    noise = GENERATOR.standard_normal(exact.shape) * 0.01
    source = (exact + noise).astype(np.float32)
    source[0, 0] = exact[0, 0] + 2.0
    converted = (exact - noise).astype(np.float32)
    converted[:8] += 0.3
    assert outcome((exact - noise).astype(np.float32), source, exact, "fp32").passed
    found = outcome(converted, source, exact, "fp32")
    assert "10% of its 4096 elements" in found.mismatch
