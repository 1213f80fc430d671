"""Calls: each function of Triton has one handler, methods are functions of their receiver, the unknown is declined."""

from __future__ import annotations

import pytest

from tests.analyses.kernels import facts_of, kernel_of
from tlxify.analyses import analyze
from tlxify.analyses.language import HANDLERS
from tlxify.analyses.language.registry import handles
from tlxify.diagnostics import Decline
from tlxify.schedules.writing import write_in_scope

PLAIN = "i[:, None] * sm + k[None, :] * sk"
BLOCK = f"a_ptr + {PLAIN}"


def test_a_function_has_one_handler():
    with pytest.raises(ValueError, match=r"tl\.dot has two handlers"):
        handles("dot")(lambda run, call: None)
    assert HANDLERS["dot"].__name__ == "dot"


@pytest.mark.parametrize(
    "use",
    [
        "tl.load({p}).sum(axis=1)",
        "tl.sum(tl.load({p}), axis=1)",
        "tl.load({p}).to(tl.float32)",
        "tl.load({p}).T",
        "-tl.load({p})",
    ],
)
def test_a_nested_load_is_recorded_once(use):
    (load,) = facts_of(f"x = {use.format(p=BLOCK)}").loads
    assert load.target is None


@pytest.mark.parametrize(
    ("use", "other"),
    [
        ("x + 1", True),
        ("tl.exp(x)", True),
        ("x.to(tl.float32)", True),
        ("x.T", False),
        ("tl.trans(x)", False),
        ("x", False),
    ],
)
def test_what_counts_as_looking_at_loaded_data(use, other):
    (load,) = facts_of(f"x = tl.load({BLOCK})\ny = {use}").loads
    assert (load.other_use is not None) == other


@pytest.mark.parametrize(
    ("dot", "how"),
    [
        ("tl.dot(x, y)", ("direct", "direct")),
        ("tl.dot(x, z.T)", ("direct", "transposed")),
        ("tl.dot(x, z.trans())", ("direct", "transposed")),
        ("tl.dot(x, tl.trans(z))", ("direct", "transposed")),
        ("tl.dot(x, tl.permute(z, (1, 0)))", ("direct", "transposed")),
        ("tl.dot(x, tl.permute(y, 0, 1))", ("direct", "direct")),
        ("tl.dot(x, z.T.T.T)", ("direct", "transposed")),
        ("tl.dot(x * 2, y)", ("computed", "direct")),
    ],
)
def test_how_operands_reach_a_dot(dot, how):
    facts = facts_of(
        f"x = tl.load({BLOCK})\n"
        "y = tl.load(b_ptr + k[:, None] * sk + j[None, :] * sn)\n"
        "z = tl.load(b_ptr + j[:, None] * sn + k[None, :] * sk)\n"
        f"acc = {dot}"
    )
    (found,) = facts.dots
    assert (found.a.how.value, found.b.how.value) == how


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("tl.load()", "TLX104"),
        ("tl.sum(axis=0)", "TLX104"),
        ("tl.trans()", "TLX104"),
        ("tl.cdiv(M)", "TLX104"),
        ("tl.dot(i)", "TLX104"),
        ("tl.dot(i, i)", "TLX104"),
        ("tl.zeros()", "TLX104"),
        ("tl.arange(TM)", "TLX104"),
        ("tl.store(a_ptr)", "TLX104"),
        ("tl.exp(*i)", "TLX104"),
        ("i[0]", "TLX104"),
        ("i.colour", "TLX104"),
        ("[a for a in (1, 2)]", "TLX104"),
        ("helper(SIZE=4)", "TLX105"),
        ("unknown_name", "TLX107"),
        ("tl.make_block_ptr(a_ptr)", "TLX104"),
        ("tl.make_block_ptr(a_ptr, (M, N), (sm, sn), (0, 0), (TM,), (1, 0))", "TLX104"),
        ("tl.make_block_ptr(a_ptr, (M, N), (sm, sn), (0, 0), (a_ptr.dtype, TN), (1, 0))", "TLX403"),
        ("tl.make_block_ptr(a_ptr + i, (M, N), (sm, sn), (0, 0), (TM, TN), (1, 0))", "TLX201"),
        ("tl.load(i, boundary_check=(0,))", "TLX209"),
        ("tl.make_tensor_descriptor(a_ptr)", "TLX104"),
        ("tl.load(a_ptr).load([0, 0])", "TLX210"),
        ("tl.inline_asm_elementwise('')", "TLX307"),
        ("tl.dot_scaled(i, i)", "TLX315"),
        ("tl.no_such_function(i)", "TLX317"),
        ("i.no_such_method()", "TLX317"),
        ("open('x')", "TLX317"),
        ("tl.full((a_ptr.dtype,), 0, tl.int32)", "TLX403"),
    ],
)
def test_a_call_that_cannot_be_followed_is_declined(text, code):
    with pytest.raises(Decline) as refusal:
        facts_of(f"x = {text}")
    assert refusal.value.diagnostic.code == code


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("not pid", "(not pid)"),
        ("~pid", "(~pid)"),
        ("pid and M and 3", "(pid and M and 3)"),
        ("pid or 3", "(pid or 3)"),
        ("tl.where(x=pid, y=3, condition=pid > 2)", "tl.where(x=pid, y=3, condition=(pid > 2))"),
        ("min(pid, M - 1)", "min(pid, M - 1)"),
        ("pid // (tl.cdiv(N, TN) * 2)", "(pid // (2 * tl.cdiv(N, TN)))"),
        ("(pid & 3) << 2", "((pid & 3) << 2)"),
        ("pid ** 2 % M", "((pid ** 2) % M)"),
    ],
)
def test_a_scalar_without_a_name_is_written_as_the_source_computes_it(text, written):
    facts = facts_of(f"x = tl.load(a_ptr + ({text}) * sb + {PLAIN})")
    scope = facts.loads[0].scope
    (batch, *_) = facts.accesses[0][1].dimensions
    assert write_in_scope(batch.coordinate, scope).text == written


@pytest.mark.parametrize("keywords", ["input=i, axis=0", "axis=0, input=i"])
def test_arguments_may_be_named(keywords):
    axis = next(axis for axis in facts_of(f"x = tl.sum({keywords})").axes if axis.reduced)
    assert str(axis.length) == "TM"


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("min(4, 8)", "4"),
        ("max(4, 8)", "8"),
        ("tl.minimum(4, 8)", "4"),
        ("tl.cdiv(9, 4)", "3"),
        ("triton.cdiv(TM, 4)", "cdiv(TM, 4)"),
        ("TM // 2", "(TM // 2)"),
        ("2 * TM if True else 1", "2 * TM"),
        ("i.shape[0]", "TM"),
    ],
)
def test_scalars_are_followed(text, length):
    *_, axis = facts_of(f"x = tl.zeros(({text},), tl.float32)").axes
    assert str(axis.length) == length


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("tl.split(tl.zeros((TM, TN, 2), tl.float32))[0]", "TM TN"),
        ("tl.join(tl.zeros((TM, TN), tl.float32), 0.0)", "TM TN 2"),
        ("tl.interleave(tl.zeros((TM, TN), tl.float32), tl.zeros((TM, TN), tl.float32))", "TM 2 * TN"),
        ("tl.gather(tl.zeros((TM, TN), tl.float32), tl.zeros((TK, TN), tl.int32), axis=0)", "TK TN"),
        ("tl.zeros(tl.zeros((TM, TN), tl.float32).shape, tl.float32)", "TM TN"),
        ("tl.broadcast_to(j, tl.zeros((TM, TN), tl.float32).shape)", "TN TM"),
        ("tl.zeros((1, TM, TN), tl.float32).reshape(TM, TN)", "TM TN"),
        ("tl.zeros((TM, TN), tl.float32).reshape(TM, 1, TN)", "TM TN"),
        ("i.__lshift__(4).__and__(15)", "TM"),
    ],
)
def test_shapes_are_followed(text, lengths):
    axes = facts_of(f"x = {text}\ny = tl.sum(x)").axes
    assert " ".join(str(axis.length) for axis in axes if axis.reduced) == lengths


def test_what_cannot_be_joined_names_what_to_assume():
    body = "p = a_ptr + i * sm if FLAG else a_ptr + i % M * sk\nx = tl.load(p)"
    facts = analyze(kernel_of(body))
    assert facts.undecided == ("FLAG",)
    assert facts.accesses == ()
    for value, stride in ((True, "sm"), (False, "sk")):
        facts = analyze(kernel_of(body), {"FLAG": value})
        assert facts.assumed == (("FLAG", value),)
        assert facts.undecided == ()
        assert str(facts.accesses[0][1].dimensions[0].stride) == stride


def test_only_what_is_known_when_a_kernel_is_compiled_can_be_assumed():
    assert analyze(kernel_of("x = M"), {"M": 1}).assumed == (("M", 1),)
    for name, value in (("M", 0.5), ("nowhere", 1)):
        with pytest.raises(ValueError, match=f"no parameter {name}"):
            analyze(kernel_of("x = M"), {name: value})
