"""What a kernel may write through, read from its text: never too little."""

import pytest
import triton
import triton.language as tl

from tests.tlx.launch import kernels
from tlx.launch.writes import written_parameters

pytestmark = pytest.mark.triton


@triton.jit
def put(where, what, mask):
    tl.store(where, what, mask=mask)


@triton.jit
def through_helper(x, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    put(y + at, tl.load(x + at, mask=at < n), at < n)


@triton.jit
def sums(x, total, count, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.atomic_add(total, tl.sum(tl.load(x + at)))
    tl.atomic_max(count, 1)


@triton.jit
def walking(x, y, z, n, BLOCK: tl.constexpr):
    here = x + tl.arange(0, BLOCK)
    there = z
    for _ in range(n):
        tl.store(there + tl.arange(0, BLOCK), tl.load(here))
        here += BLOCK
        there = y


@triton.jit
def by_index(x, index, y, BLOCK: tl.constexpr):
    at = tl.load(index + tl.arange(0, BLOCK))
    tl.store(y + at, tl.load(x + at))


@triton.jit
def by_table(x, table, BLOCK: tl.constexpr):
    out = tl.load(table).to(tl.pointer_type(tl.float16))
    tl.store(out + tl.arange(0, BLOCK), tl.load(x + tl.arange(0, BLOCK)))


@triton.jit
def through_descriptor(x, y, n, BLOCK: tl.constexpr):
    desc = tl.make_tensor_descriptor(y, shape=[n], strides=[1], block_shape=[BLOCK])
    desc.store([0], tl.load(x + tl.arange(0, BLOCK)))


POINTERS = {"x", "y", "z", "index", "table", "total", "count", "a_ptr", "b_ptr", "c_ptr"}


@pytest.mark.parametrize(
    ("kernel", "written"),
    [
        (kernels.matmul, {"c_ptr"}),
        (through_helper, {"y"}),
        (sums, {"total", "count"}),
        (walking, {"y", "z"}),
        (by_index, {"y"}),
        (through_descriptor, {"y"}),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_pointers_that_are_written_through(kernel, written):
    found = [target & POINTERS for target in written_parameters(kernel)]
    assert all(found)
    assert set().union(*found) == written


def test_addresses_from_memory_lead_to_no_parameter():
    assert [target & POINTERS for target in written_parameters(by_table)] == [set()]
