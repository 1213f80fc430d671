"""Parameters of a converted kernel: what is said between them is said once, also where one of them goes away."""

from __future__ import annotations

import libcst as cst
import pytest

from tlxify.rewrites.signature import signature

SOURCE = """
def kernel(
    # pointers
    a_ptr,  # the one
    unused,{behind}
    # sizes
    M,
    BLOCK: tl.constexpr,
):
    pass
"""


@pytest.mark.parametrize("behind", ["", "  # nobody reads it"])
@pytest.mark.parametrize("kept", [{"a_ptr", "M", "BLOCK"}, {"a_ptr", "unused", "M", "BLOCK"}, {"a_ptr", "BLOCK"}])
def test_every_comment_is_there_once(behind, kept):
    module = cst.parse_module(SOURCE.format(behind=behind))
    function = module.body[0]
    assert isinstance(function, cst.FunctionDef)
    made = signature(function.params, frozenset(kept), {"a_ptr": ["a_desc"]}, [], ["STAGES"], "tl")
    text = module.with_changes(body=[function.with_changes(params=made)]).code
    assert [text.count(comment) for comment in ("# pointers", "# the one", "# sizes")] == [1, 1, 1]
    assert text.count("# nobody reads it") == bool(behind)
