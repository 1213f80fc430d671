"""Where a tile may begin and end: before a tensor the TMA reads zeros, past what the launch tells it cannot mask."""

from __future__ import annotations

import pytest

from tests.analyses.kernels import facts_of
from tlxify.diagnostics import Decline
from tlxify.schedules.positions import begin_inside, no_block_pointers

LOOP = """
for t in {head}:
    x = tl.load(a_ptr + i[:, None] * sm + ({index} + k)[None, :], mask=({index} + k)[None, :] < K, other=0.0)
"""
TILES = "tl.cdiv(K, TK)"


def refusal(body):
    facts = facts_of(body)
    try:
        begin_inside(facts, facts.accesses[0][1], facts.loads[-1])
    except Decline as decline:
        return decline.diagnostic.code
    return None


@pytest.mark.parametrize(
    ("head", "index", "code"),
    [
        pytest.param(f"range({TILES})", "t * TK", None, id="up"),
        pytest.param(f"range({TILES} - 1, -1, -1)", "t * TK", None, id="down to the first"),
        pytest.param(f"range({TILES} - 1, -2, -1)", "t * TK", "TLX201", id="down past the first"),
        pytest.param(f"range({TILES} - 1, -1, -1)", "t * TK - TK", "TLX201", id="down to one before the first"),
        pytest.param("range(pid * TK, -TK, -TK)", "t", None, id="down by whole tiles"),
        pytest.param("range(pid * TK, 0, -TK)", "t - TK", None, id="down by whole tiles, each from its end"),
        pytest.param("range(M, -TK, -TK)", "t", "TLX201", id="down from between tiles"),
        pytest.param("range(M, -1, -TK)", "t", None, id="down from between tiles, as far as there is"),
        pytest.param(f"range({TILES})", f"({TILES} - 1 - t) * TK", None, id="backwards"),
        pytest.param(f"range({TILES})", f"({TILES} - 2 - t) * TK", "TLX201", id="backwards past the first"),
    ],
)
def test_a_tile_begins_inside(head, index, code):
    assert refusal(LOOP.format(head=head, index=index)) == code


def test_a_block_pointer_may_begin_before_the_tensor_where_it_is_checked():
    made = "p = tl.make_block_ptr(a_ptr, (M, K), (sm, 1), (0, pid - 4), (TM, TK), (1, 0))\n"
    assert refusal(made + "x = tl.load(p, boundary_check=(0, 1))") is None
    assert refusal(made + "x = tl.load(p, boundary_check=(0,))") == "TLX201"


def test_a_bound_that_the_launch_does_not_tell_is_refused():
    assert refusal("n = tl.load(b_ptr + pid)\nx = tl.load(a_ptr + i * sm, mask=i < n)") == "TLX211"
    assert refusal("x = tl.load(a_ptr + i * sm, mask=(i < M) & (i >= pid))") == "TLX204"


def test_block_pointers_that_stay_are_refused():
    facts = facts_of(
        "p = tl.make_block_ptr(a_ptr, (M, K), (sm, 1), (0, 0), (TM, TK), (1, 0))\nx = tl.load(p)\ntl.store(p, x)"
    )
    with pytest.raises(Decline, match=r"TLX209: .* loads no operand"):
        no_block_pointers(facts, ())
    with pytest.raises(Decline, match=r"TLX209: .* stored through"):
        no_block_pointers(facts, (0,))
