"""The reviewed list: in order, and no survivor passes that is not on it for a reason that holds."""

import pytest

from .survivors import LIST, complaints, reviewed

ENTRY = {"files": ["a.py"], "text": "x", "mutation": "shift slot", "class": "dead-code", "reason": "because"}
SURVIVOR = {"file": "a.py", "text": "x", "mutation": "shift slot", "classes": ("dead-code",)}


def said(survivors, entries, share=0.0):
    return complaints(survivors, reviewed({"survivor": entries}), ["a.py"], share, 0.06)


def test_the_list_can_be_read():
    assert LIST.exists()
    entries = reviewed()
    keys = [(file, entry.text, entry.mutation) for entry in entries for file in entry.files]
    assert len(keys) == len(set(keys))


def test_a_reviewed_survivor_passes():
    assert said([SURVIVOR], [ENTRY]) == []


def test_a_new_survivor_fails():
    assert said([SURVIVOR], []) == ["not reviewed (dead-code): a.py, shift slot: x"]


def test_a_class_that_does_not_hold_fails():
    (text,) = said([{**SURVIVOR, "classes": ("speed-only",)}], [ENTRY])
    assert text == "reviewed as dead-code, which does not hold: a.py, shift slot: x"


def test_an_entry_that_nothing_needs_fails():
    assert said([], [ENTRY]) == ["on the list, but noticed: a.py, shift slot: x"]
    assert said([], [{**ENTRY, "files": ["elsewhere.py"]}]) == []


def test_too_many_survivors_fail():
    assert said([SURVIVOR], [ENTRY], share=0.07) == ["7.0% survive, 6% may"]


@pytest.mark.parametrize(("change", "words"), [({"class": "luck"}, "unknown class"), ({"reason": " "}, "no reason")])
def test_a_bad_entry_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        reviewed({"survivor": [{**ENTRY, **change}]})
