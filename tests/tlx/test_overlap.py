"""Pools of memory: where their members lie, and what of it reaches the machine."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("triton")

import triton
import triton.language as tl
from hypothesis import given
from hypothesis import strategies as st
from triton.compiler.errors import CompilationError

import tlx
from tlx.lowering.overlap import Group, Member, SlotMap, arrange, on_top, slot_size

pytestmark = pytest.mark.triton


def bits(member, slots, index):
    """The range of bits that slot ``index`` of a member takes."""
    start = slots(index) * member.slot
    return range(start, start + member.slot)


def test_without_a_tree_all_start_together():
    small, large = Member("small", 8, 3), Member("large", 32, 2)
    layout = on_top([small, large])
    assert layout.bits == 64
    assert {member.name: slots for member, slots in layout.maps} == {"small": SlotMap(), "large": SlotMap()}


def test_attention_shares_scores_with_what_becomes_of_them():
    scores, probabilities = Member("qk", 4096, 2), Member("p", 1024, 4)
    alpha, total = Member("alpha", 32, 2), Member("l", 32, 2)
    tree = Group((scores, Group((Group((probabilities,), size=2), alpha, total), distinct=True)))
    layout = arrange(tree)
    maps = dict(layout.maps)
    assert layout.bits == 2 * 4096
    assert [bits(scores, maps[scores], i).start for i in range(2)] == [0, 4096]
    assert [bits(probabilities, maps[probabilities], i).start for i in range(4)] == [0, 1024, 4096, 5120]
    assert [bits(alpha, maps[alpha], i).start for i in range(2)] == [2048, 2048 + 4096]
    assert [bits(total, maps[total], i).start for i in range(2)] == [2080, 2080 + 4096]


@st.composite
def trees(draw, depth=3):
    """Trees of buffers whose slots are powers of two, largest first, so that offsets are reachable."""
    if depth == 0 or draw(st.booleans()):
        return Member(f"m{draw(st.integers(0, 10**9))}", 2 ** draw(st.integers(0, 6)) * 64, draw(st.integers(1, 4)))
    parts = draw(st.lists(trees(depth - 1), min_size=1, max_size=3))
    parts = sorted(parts, key=slot_size, reverse=True)
    return Group(tuple(parts), draw(st.booleans()), draw(st.sampled_from([1, 1, 2])))


def apart(tree, path=()):
    """Pairs of members that a distinct group keeps apart."""
    if isinstance(tree, Member):
        return [tree], []
    members, pairs = [], []
    for part in tree.parts:
        inner, kept = apart(part)
        if tree.distinct:
            pairs += [(a, b) for a in members for b in inner]
        members += inner
        pairs += kept
    return members, pairs


@given(trees().map(lambda tree: Group((tree,))))
def test_members_of_a_distinct_group_never_meet(tree):
    try:
        layout = arrange(tree)
    except tlx.TLXError:
        return  # an offset that a member's own slots cannot reach
    maps = dict(layout.maps)
    for member, slots in layout.maps:
        assert max(bits(member, slots, i).stop for i in range(member.num)) <= max(layout.bits, 0)
    for a, b in apart(tree)[1]:
        # Group sizes lay slots of one member side by side where the other's may be; those are not compared.
        if maps[a].group == maps[b].group == 1:
            for i in range(a.num):
                for j in range(b.num):
                    first, second = bits(a, maps[a], i), bits(b, maps[b], j)
                    assert first.stop <= second.start or second.stop <= first.start


@pytest.mark.parametrize(
    ("tree", "limit", "message"),
    [
        (
            Group((Member("a", 24, 1), Member("b", 64, 1)), distinct=True),
            None,
            "cannot reach: list larger buffers first",
        ),
        (Group((Member("a", 8 * 64, 4),)), 8 * 128, "need 256 bytes, buffer_size_bytes allows 128"),
    ],
)
def test_trees_that_cannot_be_laid_out(tree, limit, message):
    with pytest.raises(tlx.TLXError, match=message):
        arrange(tree, limit)


def test_a_member_twice():
    member = Member("a", 8, 1)
    with pytest.raises(tlx.TLXError, match="a stands in the tree twice"):
        arrange(Group((member, member)))


# ---- in kernels -----------------------------------------------------------------------------------------------------


@tlx.jit
def pooled(out, n, ARRANGED: tl.constexpr):
    pool = tlx.storage_alias_spec()
    large = tlx.local_alloc((64, 64), tl.float32, 2, reuse=pool)
    half = tlx.local_alloc((64, 64), tl.float16, 2, reuse=pool)
    row = tlx.local_alloc((64,), tl.float32, 2, reuse=pool)
    if ARRANGED:
        inner = tlx.reuse_group(half, row, group_type=tlx.reuse_group_type.distinct)
        pool.set_buffer_overlap(tlx.reuse_group(large, inner, group_type=tlx.reuse_group_type.shared))
    tlx.local_store(large[n], tl.zeros((64, 64), tl.float32))
    tlx.local_store(half[n], tl.full((64, 64), 1.0, tl.float16))
    tlx.local_store(row[n], tl.full((64,), 2.0, tl.float32))
    tl.store(out + tl.arange(0, 64), tlx.local_load(row[n]))


@pytest.mark.parametrize("arranged", [False, True])
def test_a_pool_is_one_allocation(arranged):
    compiled = tlx.compile(pooled, {"out": "*fp32", "n": "i32"}, {"ARRANGED": arranged})
    assert compiled.shared == 2 * 64 * 64 * 4
    assert compiled.asm["ttgir"].count("ttg.local_alloc") == 1
    # Slot n of the row lies n large tiles further, and behind half of one.
    found = re.search(r"muli %\S+, %(c64_i32\S*)", compiled.asm["ttgir"])
    assert bool(found) == arranged


@tlx.jit
def used_in_control_flow(out, n, WHERE: tl.constexpr):
    pool = tlx.storage_alias_spec()
    a = tlx.local_alloc((64, 64), tl.float32, 1, reuse=pool)
    b = tlx.local_alloc((64, 64), tl.float32, 1, reuse=pool)
    block = tl.zeros((64, 64), tl.float32)
    if WHERE == "loop":
        for _ in range(n):
            block = block + tlx.local_load(a[0])
    if WHERE == "while":
        i = 0
        while i < n:
            block = block + tlx.local_load(a[0])
            i += 1
    if WHERE == "branch":
        if n > 3:
            block = block + tlx.local_load(a[0])
        else:
            block = block + tlx.local_load(b[0])
    if WHERE == "tasks":
        with tlx.async_tasks():
            with tlx.async_task("default"):
                tlx.local_store(a[0], tl.zeros((64, 64), tl.float32))
            with tlx.async_task(num_warps=4):
                tl.store(out, tl.sum(tlx.local_load(b[0])))
    tlx.local_store(b[0], block)
    tl.store(out, tl.sum(tlx.local_load(a[0])))


@pytest.mark.parametrize("where", ["loop", "while", "branch", "tasks"])
def test_a_pool_first_used_in_control_flow_exists_before(where):
    text = tlx.compile(used_in_control_flow, {"out": "*fp32", "n": "i32"}, {"WHERE": where}).asm["ttgir"]
    assert text.count("ttg.local_alloc") == 1
    inner = re.search(r"scf\.(for|while|if)|ttg\.warp_specialize", text)
    assert text.index("ttg.local_alloc") < inner.start()


@triton.jit
def fill(member):
    tlx.local_store(member[0], tl.zeros((64, 64), tl.float32))


@tlx.jit
def handed_over(out, n):
    pool = tlx.storage_alias_spec()
    a = tlx.local_alloc((64, 64), tl.float32, 1, reuse=pool)
    b = tlx.local_alloc((64, 64), tl.float32, 1, reuse=pool)
    fill(a)
    for i in range(n):
        tlx.local_store(b[0], tlx.local_load(a[0]) + i)
    tl.store(out, tl.sum(tlx.local_load(b[0])))


def test_a_helper_gets_a_member_of_a_pool():
    text = tlx.compile(handed_over, {"out": "*fp32", "n": "i32"}).asm["ttgir"]
    assert text.count("ttg.local_alloc") == 1


@tlx.jit
def misused(out, WHAT: tl.constexpr):
    pool = tlx.storage_alias_spec(buffer_size_bytes=8192)
    a = tlx.local_alloc((64, 64), tl.float16, 1, reuse=pool)
    b = tlx.local_alloc((64, 32), tl.float16, 1, reuse=pool)
    own = tlx.local_alloc((64, 64), tl.float16, 1)
    if WHAT == "late":
        tlx.local_store(a[0], tl.zeros((64, 64), tl.float16))
        tlx.local_alloc((64, 64), tl.float16, 1, reuse=pool)
    if WHAT == "twice":
        pool.set_buffer_overlap(tlx.reuse_group(a, b))
        pool.set_buffer_overlap(tlx.reuse_group(a, b))
    if WHAT == "partial":
        pool.set_buffer_overlap(tlx.reuse_group(a))
    if WHAT == "foreign":
        pool.set_buffer_overlap(tlx.reuse_group(a, b, own))
    if WHAT == "too large":
        pool.set_buffer_overlap(tlx.reuse_group(a, b, group_type=tlx.reuse_group_type.distinct))
    if WHAT == "no group":
        pool.set_buffer_overlap(a)
    if WHAT == "size 0":
        pool.set_buffer_overlap(tlx.reuse_group(a, b, group_size=0))


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("late", "allocate all its buffers before the first is used"),
        ("twice", "set_buffer_overlap comes once, before any use"),
        ("partial", "set_buffer_overlap leaves out b"),
        ("foreign", "a buffer that was not allocated with reuse= this pool"),
        ("too large", "the members need 12288 bytes, buffer_size_bytes allows 8192"),
        ("no group", "takes a reuse_group"),
        ("size 0", "group_size must be at least 1"),
    ],
)
def test_misuse_of_a_pool(what, message):
    with pytest.raises(CompilationError) as caught:
        tlx.compile(misused, {"out": "*fp32"}, {"WHAT": what})
    assert message in str(caught.value)
    assert "test_overlap.py:" in str(caught.value).split("\n")[0]
