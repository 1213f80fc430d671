"""Constexprs that decide which way a kernel goes, and what values of them are launches."""

from __future__ import annotations

import pytest

from tests.analyses.kernels import facts_of, kernel_of
from tlxify.analyses.contracts.deciding import deciding_values, dtype_flags


@pytest.mark.parametrize(
    ("body", "values"),
    [
        ("if FLAG & 1:\n    x = 1\nif FLAG & 2:\n    x = 2", (1, 2, 3)),
        ("if 4 - FLAG == 1:\n    x = 1", (3,)),
        ("x = 1 if FLAG % 2 == 1 else 2", (1,)),
        ("if FLAG & M:\n    x = 1", ()),
        ("if FLAG == 'relu':\n    x = 1", ()),
        ("if 4 // FLAG == 1:\n    x = 1", ()),
        ("if FLAG:\n    x = 1", ()),
    ],
)
def test_values_that_answer_a_kernels_questions(body, values):
    assert deciding_values(kernel_of(body), "FLAG") == values


CAST = """
v = tl.load(b_ptr + k[:, None] * sk + j[None, :])
p = tl.load(a_ptr + i[:, None] * sm + k[None, :]).to(tl.float32)
if FLAG:
    p = p.to({first})
else:
    p = p.to({second})
x = tl.dot({operand}, v)
"""


@pytest.mark.parametrize(
    ("first", "second", "operand", "told"),
    [
        ("tl.bfloat16", "tl.float16", "p", {"FLAG": ("b_ptr", "bf16")}),
        ("tl.float16", "tl.bfloat16", "p", {"FLAG": ("b_ptr", "fp16")}),
        ("tl.float16", "tl.float16", "p", {}),
        ("v.dtype", "tl.float16", "p", {}),
        ("tl.bfloat16", "tl.float16", "p.to(v.dtype)", {}),
    ],
)
def test_a_flag_that_casts_an_operand_tells_the_dtype_of_the_other(first, second, operand, told):
    body = CAST.format(first=first, second=second, operand=operand)
    assert dtype_flags(kernel_of(body), facts_of(body)) == told
