"""Operands that a role computes: whether one is tried, and what becomes of a kernel where none can."""

from __future__ import annotations

import pytest

from tests.golden import CASES
from tlxify import convert
from tlxify.source import SourceFile


def planned(name: str, **how: object):
    """The outcome of a case, and its source."""
    text = (CASES / "transform" / f"{name}.py").read_text().replace("# flags: --ungated\n", "")
    text = text.partition("# output")[0].partition("# declined")[0]
    (kernel,) = convert(SourceFile(f"{name}.py", text), **{"profitable": False, **how}).kernels
    return kernel


def test_the_roles_share_what_both_need():
    plan = planned("shared_statement").plan
    transform, consumer = plan.task("transform"), plan.task("consumer")
    assert (transform.warps, transform.registers, transform.replicas) == ("4", "TRANSFORM_REGISTERS", None)
    assert {span.line for span in transform.keeps & consumer.keeps} == {16, 20, 22}
    assert {(edge.source, edge.target, edge.barrier) for edge in plan.edges} == {
        ("producer", "consumer", "a_full"),
        ("consumer", "producer", "a_empty"),
        ("producer", "transform", "w_full"),
        ("transform", "producer", "w_empty"),
        ("transform", "consumer", "b_full"),
        ("consumer", "transform", "b_empty"),
    }


def test_what_the_role_reads_itself_must_not_be_written():
    assert planned("scales_in_the_loop").plan.guard.scalars == ("s_ptr",)


def test_the_role_map_names_the_role():
    roles = {line.text.strip(): line.roles for line in planned("scales_in_the_loop").roles}
    assert roles["b = b.to(a.dtype)"] == {"transform"}
    assert roles["acc = tl.dot(a, b, acc)"] == {"transform", "consumer"}


@pytest.mark.parametrize("name", ["declined_used_besides", "declined_after_branch", "declined_both_computed"])
def test_without_a_role_operands_pass_through_the_consumers_registers(name):
    kernel = planned(name, profitable=False)
    assert kernel.verdict_word == "converted"
    assert kernel.plan.transform is None
    assert not kernel.plan.dots


def test_groups_that_take_turns_leave_the_operand_to_the_consumers():
    gated = planned("cast", schedule="pingpong", profitable=True)
    assert [item.code for item in gated.diagnostics] == ["TLX305"]
    assert planned("cast", schedule="pingpong", profitable=False).plan.transform is None
