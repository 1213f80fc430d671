"""Tensors without memory."""

from __future__ import annotations

import numpy as np
import pytest

from tlxify.contract import ELEMENT_TYPES
from tlxify.verify.dtypes import storage
from tlxify.verify.pretended import Pretended


def test_what_a_launcher_asks_has_answers_and_takes_no_memory():
    large, other = (Pretended((1 << 20, 1 << 14), np.dtype(np.float16), (1 << 14, 1)) for _ in range(2))
    assert large.shape == (1 << 20, 1 << 14)
    assert large.stride() == (1 << 14, 1)
    assert large.untyped_storage().nbytes() == 2 << 34
    assert large.data_ptr() % 256 == 0
    assert abs(other.data_ptr() - large.data_ptr()) > large.untyped_storage().nbytes(), "they do not overlap"


@pytest.mark.parametrize("name", ELEMENT_TYPES)
def test_it_has_any_element_type(name):
    one = Pretended((3, 5), storage(name), (5, 1))
    assert (one.shape, one.stride(), str(one.dtype)) == ((3, 5), (5, 1), name)
    assert Pretended((), storage(name), ()).untyped_storage().nbytes() == storage(name).itemsize


def test_its_elements_are_not_to_be_written():
    with pytest.raises(ValueError, match="read-only"):
        Pretended((4,), np.dtype(np.float32), (1,)).numpy()[0] = 1.0


def test_without_elements_it_has_a_place_all_the_same():
    assert Pretended((0, 16), np.dtype(np.float16), (16, 1)).untyped_storage().nbytes() == 2
