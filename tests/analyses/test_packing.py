"""How wide words are that numbers are taken out of: as the farthest shift says, else as so many share one."""

from __future__ import annotations

import pytest

from tlxify.config import Contracts
from tlxify.contracting import any_contract
from tlxify.pairing import find
from tlxify.source import SourceFile

KERNEL = """
import triton
import triton.language as tl


@triton.jit
def kernel(q_ptr, y_ptr, N, shift, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    q = tl.load(q_ptr + row * (N // {count}) + at // {count}, mask=at < N, other=0)
    {taken}
    tl.store(y_ptr + row * N + at, (w - 8).to(tl.float32), mask=at < N)
"""


def dtypes(taken: str, count: int) -> tuple[str, ...]:
    text = KERNEL.format(taken=taken.replace("; ", "\n    "), count=count)
    found = any_contract(find(SourceFile("kernel.py", text), "kernel"), Contracts(None, "kernel.py"))
    return next(spec.dtypes for spec in found.tensors if spec.name == "q_ptr")


@pytest.mark.parametrize(
    ("taken", "count", "dtype"),
    [
        ("w = (q >> ((at % 8) * 4)) & 0xF", 8, "i32"),
        ("w = (q >> ((at % 2) * 4)) & 0xF", 2, "i8"),
        ("by = at % 8; by = by * 4; w = (q >> by) & 0xF", 8, "i32"),
        ("w = (q >> (28 - at % 8 * 4)) & 0xF", 8, "i32"),
        ("w = (q >> ((at & 3) * 8)) & 0xFF", 4, "i32"),
        ("w = q.__rshift__(16)", 2, "i32"),
        ("w = q & 0xFFF", 2, "i32"),
        ("w = q & 0x0F", 2, "i8"),
        # Eight single bits in a byte.
        ("w = (q >> (at % 8)) & 1", 8, "i8"),
        # Nothing says how far: eight in a word are more than a byte has of more than one bit.
        ("w = q >> shift", 8, "i32"),
        ("w = q >> shift", 2, "i8"),
        ("w = (q >> (7 - at % 8)) & 1", 8, "i8"),
        ("w = q; for n in range(0, 8):;     w = q >> (4 * n)", 8, "i32"),
        ("w = q; for n in tl.static_range(2):;     w = q >> (4 * n)", 2, "i8"),
    ],
)
def test_a_word_has_the_bits_that_are_asked_for(taken, count, dtype):
    assert dtypes(taken, count) == (dtype,)
