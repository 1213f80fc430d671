"""Arguments are given to parameters as Python gives them."""

from __future__ import annotations

import inspect

import libcst as cst
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tlxify.inline.arguments import Mismatch, bound, parameters

NAMES = ("a", "b", "c", "d")


@st.composite
def signatures(draw):
    """A parameter list of every kind that Triton's helpers have."""
    names = list(NAMES[: draw(st.integers(0, 4))])
    slash, star = sorted((draw(st.integers(0, len(names))), draw(st.integers(0, len(names)))))
    defaults = draw(st.integers(0, star))
    written = []
    for position, name in enumerate(names):
        has_default = position >= star - defaults if position < star else draw(st.booleans())
        if position == star:
            written.append("*")
        written.append(f"{name}={position * 10}" if has_default else name)
        if position == slash - 1:
            written.append("/")
    return ", ".join(written)


calls = st.builds(
    lambda positional, named: ", ".join([*map(str, positional), *(f"{k}={v}" for k, v in named.items())]),
    st.lists(st.integers(100, 199), max_size=5),
    st.dictionaries(st.sampled_from((*NAMES, "e")), st.integers(200, 299), max_size=4),
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)  # a busy machine draws slowly
@given(signatures(), calls)
def test_python_agrees(signature, arguments):
    scope: dict[str, object] = {}
    exec(f"def f({signature}): return dict(sorted(locals().items()))", scope)
    function = cst.parse_module(f"def f({signature}): pass\n").body[0]
    call = cst.parse_expression(f"f({arguments})")
    try:
        expected = eval(f"f({arguments})", scope)
    except TypeError:
        with pytest.raises(Mismatch):
            bound(parameters(function), call)
        return
    found = {one.parameter.name: int(one.value.value) for one in bound(parameters(function), call)}
    assert found == expected
    positional, named = eval(f"(lambda *a, **k: (a, k))({arguments})")
    given_names = set(inspect.signature(scope["f"]).bind(*positional, **named).arguments)
    assert {one.parameter.name for one in bound(parameters(function), call) if not one.default} == given_names


@pytest.mark.parametrize(
    ("signature", "arguments", "what"),
    [
        ("*rows", "1", "starred parameters"),
        ("a, **rest", "1", "starred parameters"),
        ("a", "*rows", "starred arguments"),
        ("a", "**rest", "starred arguments"),
        ("a", "", "no argument `a`"),
        ("a", "1, 2", "more than 1 positional arguments"),
        ("a", "1, a=2", "two arguments `a`"),
        ("a, /", "1, a=2", "an argument `a` that it does not have"),
    ],
)
def test_what_does_not_fit_is_named(signature, arguments, what):
    function = cst.parse_module(f"def f({signature}): pass\n").body[0]
    with pytest.raises(Mismatch, match=what.replace("*", r"\*")):
        bound(parameters(function), cst.parse_expression(f"f({arguments})"))
