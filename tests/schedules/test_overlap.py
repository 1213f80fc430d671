"""Which loops have their last dot issued late, who takes turns, and which tiles are of unequal length."""

from __future__ import annotations

import pytest

from tests.golden import ROOT
from tlxify.pipeline import analyze, convert
from tlxify.schedules.frame import unequal_trips
from tlxify.source import SourceFile


def source(name):
    path = ROOT / "corpus" / f"{name}.py"
    return SourceFile(str(path), path.read_text())


def plan(name, schedule="auto"):
    (kernel,) = convert(source(name), schedule=schedule).kernels
    return kernel.plan


@pytest.mark.parametrize(
    ("name", "loops"),
    [
        ("attention/forward", 1),
        ("attention/causal", 2),
        ("attention/pages", 1),  # exp, and nothing else of every score
        ("attention/window", 0),  # exp under a mask: the dots are not what the loop waits for
        ("attention/softcap", 0),
        ("attention/grouped_query", 0),
        ("attention/backward_q", 0),  # what the late dot reads is read by the first as well
        ("attention/probabilities", 0),  # each loop has one dot
        ("fused/mlp", 0),  # nothing rescales the sum
        ("linear_attention/retention", 0),
        ("gemm/matmul", 0),
    ],
)
def test_loops_with_a_late_dot(name, loops):
    assert len(plan(name).delayed) == loops
    assert not plan(name, "ordered").delayed


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        ("", "", ("p", "v.dtype")),
        ("tl.exp(", "tl.exp2(", None),  # pairs of 16 bits without help
        ("p.to(v.dtype)", "p.to(o_ptr.dtype.element_ty)", ("p", "o_ptr.dtype.element_ty")),
        ("tl.exp(s - m_new[:, None])", "tl.exp(s - m_new[:, None]).to(v_cache.dtype.element_ty)", None),
        # A name that the loop binds is that of another trip where the dot is issued.
        ("p.to(v.dtype)", "p.to(k.dtype)", None),
    ],
    ids=["of fp32", "exp2", "the output's", "narrow before", "bound in the loop"],
)
def test_an_operand_of_fp32_is_kept_as_it_is_and_cast_with_the_dot(old, new, kept):
    page = source("attention/pages")
    assert old in page.text
    (kernel,) = convert(SourceFile(page.path, page.text.replace(old, new) if old else page.text)).kernels
    (late,) = kernel.plan.delayed
    assert late.narrowed == kept


@pytest.mark.parametrize(
    ("name", "dots"), [("attention/forward", 1), ("attention/causal", 2), ("attention/backward_q", 1)]
)
def test_turns_for_dots(name, dots):
    found = plan(name, "pingpong")
    assert found.turns is not None
    assert len(found.turns.dots) == dots
    assert found.alternation is None


@pytest.mark.parametrize(
    ("name", "in_loop", "in_order"), [("gemm/matmul", False, False), ("gemm/persistent", True, True)]
)
def test_turns_for_tiles(name, in_loop, in_order):
    found = plan(name, "pingpong")
    assert found.turns is None
    assert found.split is None, "a group has all rows of its tiles"
    assert [barrier.arrivals for barrier in found.barriers] == ["1", "1"], "one group uses a slot"
    assert (found.alternation.block is not None, found.alternation.stores is not None) == (in_loop, in_order)


def test_turns_are_taken_only_where_they_are_asked_for():
    assert plan("attention/forward").turns is None
    assert plan("gemm/matmul").alternation is None


@pytest.mark.parametrize(
    ("name", "unequal"),
    [
        ("attention/causal", True),
        ("attention/window", True),
        ("attention/varlen", False),  # from memory
        ("linear_attention/retention", True),
        ("attention/decode", False),  # every share but the last is as long
        ("attention/forward", False),
        ("gemm/matmul", False),
        ("gemm/split_k", False),
    ],
)
def test_tiles_of_unequal_length(name, unequal):
    (analysis,) = analyze(source(name))
    filling = frozenset(load.loops[-1] for load in analysis.facts.loads if load.loops)
    assert unequal_trips(analysis.facts, filling) == unequal
