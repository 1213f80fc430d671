"""One memory that is seen in several ways."""

from __future__ import annotations

import pytest

from tlxify.analyses.contracts.views import View, merged, tied

MATRIX = View(("M", "K"), ("stride_m", "stride_k"))
ROWS = View(("B", "T", "V"), ("T * V", "V", "1"))


def test_one_view_stays_as_it_is():
    assert merged([MATRIX, MATRIX], frozenset({"stride_m", "stride_k"}), written=True) == MATRIX


def test_views_with_strides_of_the_launch_are_laid_over_each_other():
    vector = View(("N",), ("stride_m",))
    found = merged([MATRIX, vector], frozenset({"stride_m", "stride_k"}), written=False)
    assert found == View(("max(M, N)", "K"), ("stride_m", "stride_k"))


def test_two_steps_of_one_stride_reach_as_far_as_both():
    peeled = View(("M", "K", "T"), ("stride_m", "stride_k", "stride_k"))
    found = merged([MATRIX, peeled], frozenset({"stride_m", "stride_k"}), written=False)
    assert dict(zip(found.strides, found.shape, strict=True)) == {"stride_m": "M", "stride_k": "max(K, K + T - 1)"}


def test_views_that_end_alike_are_the_one_with_most_axes():
    assert merged([View(("B", "T * V"), ("T * V", "1")), ROWS], frozenset(), written=True) == ROWS


def test_views_that_end_differently_are_a_row_as_long_as_the_longest():
    longer = View(("B", "T + 1", "V"), ("T * V", "V", "1"))
    assert merged([ROWS, longer], frozenset(), written=False) == View(("max(B * T * V, B * T * V + V)",), ("1",))


@pytest.mark.parametrize("written", [False, True])
def test_positions_that_share_elements_are_written_as_a_row(written):
    overlapping = View(("N", "M"), ("BC", "1"))
    found = merged([overlapping], frozenset(), written=written)
    assert (found == overlapping) is not written
    if written:
        assert found == View(("BC * N + M - BC",), ("1",))


def test_strides_are_no_choice_where_the_same_memory_is_also_seen_with_fixed_ones():
    chosen = frozenset({"stride_m", "stride_k"})
    assert tied([MATRIX, View(("M", "K"), ("K", "1"))], chosen) == {"stride_m": "K", "stride_k": "1"}
    assert tied([MATRIX, View(("K", "M"), ("M", "1"))], chosen) == {"stride_k": "M", "stride_m": "1"}


@pytest.mark.parametrize("other", [View(("M", "N"), ("N", "1")), View(("M",), ("1",)), MATRIX])
def test_other_views_tie_nothing(other):
    assert tied([MATRIX, other], frozenset({"stride_m", "stride_k"})) == {}
