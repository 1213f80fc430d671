"""Planted hangs, races and illegal accesses end as named findings within a minute; other results are not lost."""

from __future__ import annotations

import pytest

from tests.gpu.faults import entries, judged

#: Any machine can convert and plant; only a GPU can run.
NAMES = (
    "hang", "race", "illegal access", "illegal access of the source", "descriptors", "softcap", "unstable source",
)  # fmt: skip


@pytest.fixture(scope="module")
def planted():
    return entries()


@pytest.mark.triton
def test_every_fault_can_be_planted(planted):
    assert tuple(planted) == NAMES
    texts = {entry.conversion.module_text for entry in planted.values()}
    assert len(texts) == len(NAMES)
    for entry in planted.values():
        compile(entry.conversion.module_text, entry.conversion.file, "exec")


@pytest.mark.triton
@pytest.mark.parametrize("name", NAMES)
def test_what_is_planted_is_launched(planted, name):
    # A source that is not the one its conversion was made of would have the original run: nothing would be tried.
    from tlxify.verify.compiled import dispatched
    from tlxify.verify.loading import load
    from tlxify.verify.sizing import full_size_case

    conversion = planted[name].conversion
    loaded = load(conversion)
    for config in range(len(conversion.contract.configs)):
        found = dispatched(loaded, full_size_case(conversion.contract, config, tiles=4, trips=4))
        assert found is not None
        assert (found[0].path, found[0].code) == ("specialized", "")


@pytest.mark.gpu
@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_rung_says_what_is_wrong(planted, name):
    result = judged(name, planted[name])
    assert result["right"], result
    assert result["seconds"] < 60, result
