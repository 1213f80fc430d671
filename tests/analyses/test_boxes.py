"""Block pointers and descriptors as tiles, where their base is not understood."""

from __future__ import annotations

import pytest

from tlxify.analyses.boxes import Box, describe_box
from tlxify.diagnostics import Decline
from tlxify.poly import ONE, ZERO, Poly, Symbol
from tlxify.source import Span


def test_a_base_that_a_branch_chose_is_declined_whatever_pointer_was_guessed():
    rows, chosen = Symbol("T", launch=True), Poly.of(Symbol("either p_x@12:4"))
    box = Box(chosen, (Poly.of(rows),), (ONE,), (ZERO,), (0,), descriptor=False)
    with pytest.raises(Decline, match=r"TLX201.*no single base pointer"):
        describe_box(box, (0,), Span(1, 0, 1, 1), "stride_x_t", frozenset(), "tile")
