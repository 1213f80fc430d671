"""What counts as work on data besides loads, dots and stores, and what does not."""

from __future__ import annotations

from .kernels import facts_of


def done(body: str) -> list[tuple[str, str, int]]:
    """Name, shape and number of loops of every operation."""
    facts = facts_of(body)
    return [
        (one.name, " × ".join("1" if a is None else str(facts.axis(a).length) for a in one.axes), len(one.loops))
        for one in facts.operations
    ]


def test_positions_bounds_and_addresses_are_no_work():
    assert not done("""
        rows = pid * TM + i
        mask = (rows[:, None] < M) & (k[None, :] < K)
        page = tl.load(b_ptr + i)
        a = tl.load(a_ptr + rows[:, None] * sm + k[None, :] * sk, mask=mask, other=0.0)
        b = tl.load(c_ptr + page[:, None] + k[None, :])
    """)


def test_operators_functions_casts_and_reductions_are():
    assert done("""
        x = tl.load(a_ptr + i[:, None] * sm + j[None, :])
        for t in range(0, K):
            x = tl.exp2(x * 2.0 - tl.max(x, 1)[:, None])
            y = tl.where(i[:, None] >= j[None, :], x, 0.0).to(tl.float16)
        tl.store(c_ptr + i, tl.sum(x, 1) / 2)
    """) == [
        ("*", "TM × TN", 1),
        ("max", "TM × TN", 1),
        ("-", "TM × TN", 1),
        ("exp2", "TM × TN", 1),
        (">=", "TM × TN", 1),
        ("where", "TM × TN", 1),
        ("to", "TM × TN", 1),
        ("sum", "TM × TN", 0),
        ("/", "TM", 0),
    ]


def test_tensor_cores_add_up_in_what_a_product_is_added_to():
    body = """
        a = tl.load(a_ptr + i[:, None] * sm + k[None, :])
        b = tl.load(b_ptr + k[:, None] * sk + j[None, :])
        acc = tl.zeros((TM, TN), dtype=tl.float32)
        for t in range(0, K):
            acc = {}
        tl.store(c_ptr + i[:, None] * sn + j[None, :], acc)
    """
    assert done(body.format("acc + tl.dot(a, b)")) == []
    assert done(body.format("acc * 2.0 + tl.dot(a, b)")) == [("*", "TM × TN", 1)]
    assert done(body.format("acc + tl.dot(a, b) * 2.0")) == [("*", "TM × TN", 1), ("+", "TM × TN", 1)]
