"""Allocations that are chosen at run time."""

from __future__ import annotations

import pytest

pytest.importorskip("triton")

import triton.language as tl

import tlx
from tlx.lowering import versions

pytestmark = pytest.mark.triton


@tlx.jit
def one_of_two(out, n):
    first, second = tlx.alloc_barriers(1), tlx.alloc_barriers(1)
    bar = first[0]
    if n > 3:
        bar = second[0]
    tlx.barrier_arrive(bar)
    tlx.barrier_wait(bar, 0)
    tl.store(out, 1.0)


@tlx.jit
def one_of_a_ring(out, n):
    bars = tlx.alloc_barriers(2)
    slot = 0
    if n > 3:
        slot = 1
    tlx.barrier_arrive(bars[slot])
    tlx.barrier_wait(bars[slot], 0)
    tl.store(out, 1.0)


def compiled(kernel):
    return tlx.compile(kernel, {"out": "*fp32", "n": "i32"}, {})


def test_a_choice_between_allocations():
    if versions.BUFFERS_ARE_CHOSEN:
        assert compiled(one_of_two).asm["cubin"]
        return
    with pytest.raises(tlx.TLXError) as caught:
        compiled(one_of_two)
    place, _, caret, message = str(caught.value).split("\n")
    assert place.rpartition("test_choices.py:")[2].rstrip(":").isdigit()
    assert caret.strip() == "^"
    assert message.startswith("which of two allocations is used here is chosen at run time: Triton before 3.8")


def test_a_choice_of_a_number():
    assert compiled(one_of_a_ring).asm["cubin"]
