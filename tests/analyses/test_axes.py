"""The union-find over axes: what becomes one axis, and which flags it has then."""

from __future__ import annotations

import pytest

from tests.analyses.kernels import facts_of
from tlxify.analyses.axes import AxisTable
from tlxify.facts import Creator
from tlxify.poly import Poly, Symbol
from tlxify.source import Span

LENGTH = Poly.of(Symbol("TM", constexpr=True, launch=True))
FLAGS = ("contracted", "reduced", "opaque")


def creator(line):
    return Creator("arange", Span(line, 0, line, 9), Span(line, 0, line, 20))


def test_an_axis_is_made_once_per_creator():
    table = AxisTable()
    assert table.create(LENGTH, creator(1)) == table.create(LENGTH, creator(1))
    assert len({table.create(LENGTH, creator(n)) for n in (1, 2, 3)}) == 3
    assert table.create(LENGTH, None) != table.create(LENGTH, None)


def test_one_axis_has_all_creators_and_the_lowest_number():
    table = AxisTable()
    axes = [table.create(LENGTH, creator(n)) for n in range(4)]
    table.union(axes[3], axes[1])
    table.union(axes[2], axes[3])
    assert {table.find(axis) for axis in axes[1:]} == {axes[1]}
    first, second = table.freeze()
    assert first.creators == (creator(0),)
    assert set(second.creators) == {creator(1), creator(2), creator(3)}


@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize("marked_first", [True, False])
def test_flags_survive_a_union_made_before_or_after(flag, marked_first):
    table = AxisTable()
    a, b, other = (table.create(LENGTH, creator(n)) for n in range(3))
    if marked_first:
        table.mark(b, flag)
    table.union(a, b)
    if not marked_first:
        table.mark(b, flag)
    one, untouched = table.freeze()
    assert [name for name in FLAGS if getattr(one, name)] == [flag]
    assert untouched.id == other
    assert not any(getattr(untouched, name) for name in FLAGS)


def test_broadcasting_aligns_at_the_right_and_skips_length_one():
    table = AxisTable()
    a, b, c = (table.create(LENGTH, creator(n)) for n in range(3))
    assert table.broadcast((a, None), (b,)) == (a, b)
    assert table.broadcast((a, b), (None, c), ()) == (a, b)
    assert table.find(c) == b
    assert table.find(a) != table.find(b)


def test_an_axis_that_a_value_has_twice_is_doubled():
    table = AxisTable()
    a, b = (table.create(LENGTH, creator(n)) for n in range(2))
    table.broadcast((a, None), (None, b))
    assert not table.freeze()[0].doubled
    table.broadcast((a, None), (None, a))
    assert table.freeze()[0].doubled


DOT = """
x = tl.load(a_ptr + i[:, None] * sm + k[None, :] * sk)
y = tl.load(b_ptr + k[:, None] * sk + j[None, :] * sn)
acc = tl.dot(x, y)
"""


@pytest.mark.parametrize(
    ("more", "rows", "columns", "depth"),
    [
        ("", set(), set(), {"contracted"}),
        ("z = tl.sum(acc, axis=1)", set(), {"reduced"}, {"contracted"}),
        ("z = acc.max(0)", {"reduced"}, set(), {"contracted"}),
        ("z = tl.sum(acc)", {"reduced"}, {"reduced"}, {"contracted"}),
        ("z = tl.reshape(acc, (TN, TM))", {"opaque"}, {"opaque"}, {"contracted"}),
        ("z = tl.cumsum(acc, 0)", {"opaque"}, {"opaque"}, {"contracted"}),
        ("z = acc + acc.T", {"doubled"}, {"doubled"}, {"contracted"}),
        ("z = tl.exp(acc) * 2 - i[:, None]", set(), set(), {"contracted"}),
        ("z = i[:, None] == i[None, :]", {"doubled"}, set(), {"contracted"}),
    ],
)
def test_what_a_kernel_does_to_its_axes(more, rows, columns, depth):
    facts = facts_of(DOT + more)
    (dot,) = facts.dots

    def flags(number):
        axis = facts.axis(number)
        return {name for name in (*FLAGS, "doubled") if getattr(axis, name)}

    assert dot.a.axes[1] == dot.b.axes[0]
    found = [flags(number) for number in (dot.a.axes[0], dot.b.axes[1], dot.a.axes[1])]
    if "acc.T" in more:  # rows and columns have become one axis
        assert dot.a.axes[0] == dot.b.axes[1]
    assert found == [rows, columns, depth]


def test_what_a_helper_creates_is_fixed():
    facts = facts_of("x = helper(pid)\ny = tl.load(a_ptr + tl.arange(0, 4))")
    assert [axis.fixed for axis in facts.axes if axis.length == Poly.of(4)] == [True, False]


def test_a_range_that_starts_elsewhere_has_no_creator():
    facts = facts_of("x = tl.arange(TM, 2 * TM)")
    assert [(axis.fixed, axis.creators) for axis in facts.axes if axis.length == LENGTH][1:] == [(True, ())]


def test_a_range_of_one_makes_no_axes_one():
    """Rows and columns that are each compared with one position stay apart."""
    facts = facts_of("one = tl.arange(0, 1)\nx = (i + one)[:, None] * (j + one)[None, :]\ntl.store(c_ptr + x, x)")
    assert sorted(axis.length.text() for axis in facts.axes) == ["TK", "TM", "TN"]


def test_a_mask_of_one_position_is_a_condition_and_no_bound():
    (access,) = [
        access
        for _, access in facts_of(
            "r = pid + tl.arange(0, 1)\nx = tl.load(a_ptr + r[:, None] * sm + k[None, :], mask=r[:, None] < M)"
        ).accesses
    ]
    assert access.partial
    assert access.dynamic
