"""Every name of the first two tiers stands in a rule, and every rule has tests that use its names."""

from __future__ import annotations

import pytest

pytest.importorskip("triton")

from tests.tlx.rules import Rule, UnknownTestError, rules, text_of, unused
from tlx.surface import entries, uncovered

pytestmark = pytest.mark.triton

RULES = rules()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.says[:60])
def test_a_rule_has_tests_that_use_its_names(rule):
    assert rule.tests
    assert unused(rule) == []


def test_every_name_that_tutorials_for_nvidia_need_has_a_rule():
    assert uncovered(name for rule in RULES for name in rule.names) == []


def test_rules_are_about_public_names():
    assert {name for rule in RULES for name in rule.names} <= {entry.name for entry in entries()}


def test_no_rule_stands_twice():
    assert len({rule.says for rule in RULES}) == len(RULES)


@pytest.mark.parametrize(
    "test",
    ["test_errors.py::test_no_such", "no_such.py::test_tasks", "barriers: no such", "sim/bugs/test_no_such.py"],
)
def test_a_test_that_is_not_there(test):
    with pytest.raises(UnknownTestError):
        text_of(test)


def test_names_are_looked_for_where_the_test_leads():
    # By a kernel of the module, by a helper of the kernel, by a kernel of another module.
    assert "barrier_arrive" in text_of("barriers: by thread")
    assert "async_descriptor_load" in text_of("test_gemm.py::test_two_consumer_groups")
    assert unused(Rule("", "", ("tmem_copy", "named_barrier_wait"), ("barriers: turns",))) == ["tmem_copy"]


def test_what_has_no_rule_is_listed():
    assert "local_store" in uncovered({"local_load"})
    assert "local_load" not in uncovered({"local_load"})
    # Tiers 3 and 4 are tested, but not by rules.
    assert "buffer_load" not in uncovered(())
