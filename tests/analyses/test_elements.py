"""Operand dtypes that the tensor cores multiply as a statement says."""

from __future__ import annotations

import pytest

from tests.analyses.kernels import facts_of
from tlxify.analyses.elements import FLOATS, HALVES, INTEGERS
from tlxify.facts import Sum

TILES = """
a = tl.load(a_ptr + i[:, None] * sm + k[None, :])
b = tl.load(b_ptr + k[:, None] * sk + j[None, :])
acc = tl.zeros((TM, TN), dtype={dtype})
for t in range(0, K, TK):
    {statement}
"""


@pytest.mark.parametrize(
    ("dtype", "statement", "use", "dtypes", "rounded"),
    [
        ("tl.float32", "acc += tl.dot(a, b)", Sum.ADDED, FLOATS, ""),
        ("tl.float32", "acc = tl.dot(a, b, acc)", Sum.ADDED, FLOATS, ""),
        ("tl.int32", "acc += tl.dot(a, b)", Sum.ADDED, INTEGERS, "tl.int32"),
        ("tl.int32", "acc = tl.dot(a, b, acc, out_dtype=tl.int32)", Sum.ADDED, INTEGERS, "tl.int32"),
        ("tl.int32", "x = tl.dot(a, b, out_dtype=tl.int32)", Sum.ALONE, INTEGERS, "tl.int32"),
        ("a.dtype", "acc += tl.dot(a, b)", Sum.ADDED, FLOATS, ""),
        ("tl.float32", "x = tl.dot(a, b)", Sum.ALONE, (*FLOATS, *INTEGERS), ""),
        ("tl.float32", "acc += tl.dot(a, b) * 2.0", Sum.WITHIN, (*FLOATS, *INTEGERS), ""),
        # A product in fp16 is rounded before it is added to a sum in fp32: the tensor cores add only to their own.
        ("tl.float32", "acc += tl.dot(a, b, out_dtype=tl.float16)", Sum.WITHIN, HALVES, "tl.float16"),
        ("tl.float16", "acc = tl.dot(a, b, acc, out_dtype=tl.float16)", Sum.ADDED, HALVES, "tl.float16"),
        ("tl.float32", "acc = tl.dot(a, b, acc, out_dtype=tl.float16)", Sum.ADDED, (), "tl.float16"),
        ("tl.float32", "acc = tl.dot(a, b, acc, out_dtype=tl.int32)", Sum.ADDED, (), ""),
        ("tl.int32", "acc = acc * 2 + tl.dot(a, b)", Sum.RESCALED, (), ""),
    ],
)
def test_dtypes_of_operands(dtype, statement, use, dtypes, rounded):
    (dot,) = facts_of(TILES.format(dtype=dtype, statement=statement)).dots
    assert (dot.sum, dot.dtypes, dot.rounded) == (use, dtypes, rounded)


def test_a_loop_keeps_the_dtype_of_what_it_carries():
    body = TILES.format(dtype="tl.int32", statement="acc += tl.dot(a, b)") + "acc += tl.dot(a, b)\n"
    assert [dot.dtypes for dot in facts_of(body).dots] == [INTEGERS, (*FLOATS, *INTEGERS)]
