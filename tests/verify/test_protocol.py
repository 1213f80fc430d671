"""The static protocol check on small texts: what it proves, what it finds, and what it says it does not understand."""

from __future__ import annotations

import itertools
import subprocess
import sys
from textwrap import dedent, indent

import pytest

from tests.golden import CASES, read
from tlxify.pipeline import convert
from tlxify.source import SourceFile
from tlxify.verdict import Evidence
from tlxify.verify.protocol import World, check_protocol, worlds_of

HEAD = """
import triton.language as tl
import tlx
"""
RING = """
@tlx.jit
def kernel(a_desc, b_desc, K, STAGES: tl.constexpr):
    a_ring = tlx.local_alloc((64, 64), tlx.dtype_of(a_desc), STAGES)
    b_ring = tlx.local_alloc((64, 64), tlx.dtype_of(b_desc), STAGES)
    full = tlx.alloc_barriers(STAGES, arrive_count=1)
    empty = tlx.alloc_barriers(STAGES, arrive_count=1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for k in range(0, tl.cdiv(K, 64)):
                tlx.barrier_wait(empty[k % STAGES], (k // STAGES & 1) ^ 1)
                tlx.barrier_expect_bytes(full[k % STAGES], 2 * 64 * 64 * 2)
                tlx.async_descriptor_load(a_desc, a_ring[k % STAGES], [0, k * 64], full[k % STAGES])
                tlx.async_descriptor_load(b_desc, b_ring[k % STAGES], [k * 64, 0], full[k % STAGES])
        with tlx.async_task(num_warps=4, registers=232):
            acc = tl.zeros((64, 64), dtype=tl.float32)
            for k in range(0, tl.cdiv(K, 64)):
                tlx.barrier_wait(full[k % STAGES], k // STAGES & 1)
                acc = tlx.async_dot(a_ring[k % STAGES], b_ring[k % STAGES], acc)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(empty[k % STAGES])
            out = acc.to(tl.float16)
"""


def worlds(stages=(2, 3), **values):
    for depth, seed in itertools.product(stages, (0, 1, 2)):
        for trips in (0, 1, depth, depth + 1, 2 * depth + 1):
            yield World(
                {"K": 64 * trips - (7 if trips else 0), "STAGES": depth, **values}, seed=seed, label=f"{trips} trips"
            )


def check(text: str, **values) -> tuple[Evidence, ...]:
    return check_protocol(HEAD + text, "kernel.py", worlds(**values), kernel="kernel")


def codes(text: str, **values) -> set[str]:
    return {item.code for item in check(text, **values) if not item.ok}


def changed(*pairs: tuple[str, str]) -> str:
    text = RING
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


def test_a_sound_ring_is_proved():
    (evidence,) = check(RING)
    assert evidence.ok
    assert "30 launches" in evidence.text


WAIT_EMPTY = "tlx.barrier_wait(empty[k % STAGES], (k // STAGES & 1) ^ 1)"
WAIT_FULL = "tlx.barrier_wait(full[k % STAGES], k // STAGES & 1)"
EXPECT = "tlx.barrier_expect_bytes(full[k % STAGES], 2 * 64 * 64 * 2)"
DOT = "acc = tlx.async_dot(a_ring[k % STAGES], b_ring[k % STAGES], acc)"
RETIRE = "acc = tlx.async_dot_wait(0, acc)"
FREE = "tlx.barrier_arrive(empty[k % STAGES])"
ALLOC = "a_ring = tlx.local_alloc((64, 64)"
TASKS = "with tlx.async_tasks():"
CONSUMER = "with tlx.async_task(num_warps=4, registers=232):"
EMPTY = "empty = tlx.alloc_barriers(STAGES, arrive_count=1)"
LAST = "out = acc.to(tl.float16)"

#: Name → the text replaced, what by, the code that must be found.
FLAWS = {
    "no empty wait": (WAIT_EMPTY, "pass", "race"),
    "producer starts with parity 0": (WAIT_EMPTY, WAIT_EMPTY.replace(" ^ 1", ""), "deadlock"),
    "consumer starts with parity 1": (WAIT_FULL, WAIT_FULL.replace("& 1", "& 1 ^ 1"), "deadlock"),
    "constant phase": (WAIT_FULL, WAIT_FULL.replace("k // STAGES & 1", "0"), "phase-lag"),
    "nobody arrives": (FREE, "pass", "deadlock"),
    "arrives on the wrong slot": (FREE, FREE.replace("k %", "(k + 1) %"), "phase-lag"),
    "arrives twice": (FREE, FREE.replace("])", "], 2)"), "too-many-arrivals"),
    "too few bytes": (EXPECT, EXPECT.replace("2 * 64", "64", 1), "expect-bytes"),
    "too many bytes": (EXPECT, EXPECT.replace("2 * 64", "3 * 64", 1), "expect-bytes"),
    "expects twice": (EXPECT, f"{EXPECT}; {EXPECT}", "expect-bytes"),
    "releases before the dot has retired": (RETIRE, RETIRE.replace("0", "1"), "release-before-retire"),
    "reads the result in flight": (RETIRE, RETIRE.replace("0", "1"), "result-before-retire"),
    "reads a slot that was never filled": (DOT, DOT.replace("k %", "(k + 1) %"), "read-before-fill"),
    "slot out of range": (DOT, DOT.replace("STAGES]", "STAGES + 1]"), "slot-out-of-range"),
    "producer takes one trip more": ("range(0, tl.cdiv(K, 64))", "range(0, tl.cdiv(K, 64) + 1)", "leftover-state"),
    "too many registers": (CONSUMER, CONSUMER.replace("=232", "=256, replicate=2"), "register-budget"),
    "registers not a multiple of eight": (CONSUMER, CONSUMER.replace("232", "230"), "register-budget"),
    "a consumer of two warps": (CONSUMER, CONSUMER.replace("=4", "=2"), "warps"),
    "too much shared memory": (ALLOC, ALLOC.replace("64, 64", "256, 256"), "shared-memory-budget"),
    "no default task": ('tlx.async_task("default")', "tlx.async_task(num_warps=4, registers=24)", "default-task"),
    "a statement between tasks": (TASKS, f"{TASKS}\n        x = 1", "statement-between-tasks"),
    "a return in a task": (LAST, "return", "return-in-task"),
    "an ignored argument": (DOT, DOT.replace("acc)", "acc, use_acc=True)"), "ignored-argument"),
    "no dot at all": (DOT, "pass", "not-specialized"),
}  # fmt: skip


@pytest.mark.parametrize("flaw", FLAWS)
def test_a_flaw_is_named_with_its_line(flaw):
    old, new, code = FLAWS[flaw]
    assert old in RING
    text = RING.replace(old, new, 1)
    findings = [item for item in check(text) if not item.ok]
    assert code in {item.code for item in findings}, findings
    for finding in findings:
        line = (HEAD + text).splitlines()[finding.line - 1].strip()
        assert f"kernel.py:{finding.line}: {line}" in finding.detail


NOT_UNDERSTOOD = {
    "an unknown depth": (("STAGES: tl.constexpr", "DEPTH: tl.constexpr"), ("STAGES", "DEPTH")),
    "a slot from memory": (("a_ring[k % STAGES], [0", "a_ring[tl.load(K)], [0"),),
    "a parity from memory": (("full[k % STAGES], k // STAGES & 1", "full[k % STAGES], tl.load(K)"),),
    "a primitive it does not know": (("            out = acc.to(tl.float16)", "            tlx.cluster_barrier()"),),
    "a buffer given to an unknown function": (("out = acc.to(tl.float16)", "out = tl.sum(a_ring[0])"),),
    "a predicated wait": (
        ("k // STAGES & 1)\n                acc", "k // STAGES & 1, pred=tl.load(K))\n                acc"),
    ),
}


@pytest.mark.parametrize("what", NOT_UNDERSTOOD)
def test_what_is_not_understood_is_said(what):
    findings = check_protocol(HEAD + changed(*NOT_UNDERSTOOD[what]), "kernel.py", worlds())
    assert {item.code for item in findings} == {"not-proved"}
    assert all(item.line for item in findings)


def test_trip_counts_from_memory_agree_between_roles():
    same = changed(("tl.cdiv(K, 64)", "tl.load(K + tl.program_id(0))"))
    assert codes(same) == set()
    text = RING.replace("range(0, tl.cdiv(K, 64))", "range(0, tl.load(K))", 1)
    text = text.replace("range(0, tl.cdiv(K, 64))", "range(0, tl.load(K + 1))", 1)
    assert codes(text) & {"deadlock", "leftover-state"}


def test_opposite_conditions_of_two_roles_agree():
    producer = RING[RING.index("            for k") : RING.index("        with tlx.async_task(num_warps")]
    consumer = RING[RING.index("            for k", RING.index("acc = tl.zeros")) : RING.index("            out =")]

    def under(condition: str, loop: str) -> str:
        return f"            if {condition}:\n{indent(loop, ' ' * 4)}"

    one = RING.replace(producer, under("tl.load(K) < 3", producer))
    assert codes(one) & {"deadlock"}  # only the producer takes the branch
    assert codes(one.replace(consumer, under("not tl.load(K) >= 3", consumer))) == set()
    assert codes(one.replace(consumer, under("3 > tl.load(K)", consumer))) == set()
    assert codes(one.replace(consumer, under("tl.load(K) >= 3", consumer))) & {"deadlock"}


#: The tiles pass through the consumers' registers, and the source's own dot multiplies them.
THROUGH = changed(
    (
        DOT,
        "a = tlx.local_load(a_ring[k % STAGES])\n"
        "                b = tlx.local_load(b_ring[k % STAGES]).to(tl.float16) * 2",
    ),
    (RETIRE, "acc = tl.dot(a, b, acc)"),
)


def test_slots_may_feed_a_dot_through_registers():
    (evidence,) = check(THROUGH)
    assert evidence.ok
    assert "dots ordered" not in evidence.text
    assert "78 dots multiply what passed through registers" in evidence.text


#: What is done with the tiles instead of multiplying them: the roles are for nothing then.
UNFED = {
    "only added": "acc = tl.dot(tl.load(K), tl.load(K + 1), a + b)",
    "dropped": "acc = tl.dot(tl.load(K), other=tl.load(K + 1), acc=acc)",
    "no dot": "acc += a * b",
}


@pytest.mark.parametrize("what", UNFED)
def test_a_dot_that_no_slot_feeds_is_none(what):
    assert codes(THROUGH.replace("acc = tl.dot(a, b, acc)", UNFED[what])) == {"not-specialized"}


def test_a_slot_read_into_registers_is_not_freed_before():
    early = THROUGH.replace(FREE, "pass").replace("a = tlx.local_load(", f"{FREE}; a = tlx.local_load(")
    assert "race" in codes(early)


ANEW = changed(
    (ALLOC, f"staged = tlx.local_alloc((64, 64), tlx.dtype_of(b_desc), 1)\n    {ALLOC}"),
    (
        DOT,
        "tlx.local_store(staged[0], tlx.local_load(b_ring[k % STAGES]) * 2)\n"
        "                acc = tlx.async_dot(tlx.local_load(a_ring[k % STAGES]), staged[0], acc)",
    ),
)


def test_a_tile_may_be_stored_anew_for_the_dot():
    (evidence,) = check(ANEW)
    assert evidence.ok
    assert "78 dots multiply what passed through registers" in evidence.text
    own = ANEW.replace("tlx.local_load(b_ring[k % STAGES]) * 2", "tl.load(K)")
    own = own.replace("tlx.async_dot(tlx.local_load(a_ring[k % STAGES])", "tlx.async_dot(tl.load(K + 1)")
    assert codes(own) == {"not-specialized"}


def test_two_consumers_need_two_arrivals():
    two = changed(("registers=232)", "registers=232, replicate=2)"))
    assert codes(two) & {"too-many-arrivals", "release-before-retire", "phase-lag", "deadlock"}
    right = two.replace(EMPTY, EMPTY.replace("=1", "=2"))
    assert codes(right) == set()


def test_a_per_thread_barrier_counts_threads():
    text = changed((EMPTY, "empty = tlx.alloc_warp_barrier(STAGES, num_warps=4)"))
    assert codes(text) == set()
    assert codes(text.replace("STAGES, num_warps=4)", "STAGES, num_warps=8)")) & {"deadlock", "leftover-state"}


def test_a_waiter_that_may_lag_two_phases_is_found():
    # A second waiter on `full` that nobody waits for: the ring may go round twice before it looks.
    text = RING + indent(
        dedent("""
        with tlx.async_task(num_warps=4, registers=24):
            for k in range(0, tl.cdiv(K, 64)):
                tlx.barrier_wait(full[k % STAGES], k // STAGES & 1)
        """),
        " " * 8,
    )
    assert "phase-lag" in codes(text)


PINGPONG = """
@tlx.jit
def kernel(a_desc, b_desc, K, STAGES: tl.constexpr):
    ring = tlx.local_alloc((64, 64), tlx.dtype_of(a_desc), 1)
    full = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_expect_bytes(full[0], 64 * 64 * 2)
            tlx.async_descriptor_load(a_desc, ring[0], [0, 0], full[0])
            tlx.named_barrier_wait(9, 256)
        with tlx.async_task(num_warps=4, registers=128):
            tlx.barrier_wait(full[0], 0)
            acc = tlx.async_dot(ring[0], ring[0])
            acc = tlx.async_dot_wait(0, acc)
            tlx.named_barrier_arrive(9, 256)
"""


def test_named_barriers_meet_by_threads():
    assert codes(PINGPONG) == set()
    assert codes(PINGPONG.replace("wait(9, 256)", "wait(9, 384)")) == {"named-barrier-count"}
    assert codes(PINGPONG.replace("arrive(9, 256)", "arrive(8, 256)")) == {"deadlock"}


STAGED = """
@tlx.jit
def kernel(a_desc, b_desc, c_desc, K, STAGES: tl.constexpr):
    ring = tlx.local_alloc((64, 64), tl.float16, 1)
    staging = tlx.local_alloc((64, 64), tl.float16, 1, reuse=ring)
    full = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_expect_bytes(full[0], 64 * 64 * 2)
            tlx.async_descriptor_load(a_desc, ring[0], [0, 0], full[0])
        with tlx.async_task(num_warps=4, registers=128):
            tlx.barrier_wait(full[0], 0)
            acc = tlx.async_dot(ring[0], ring[0])
            acc = tlx.async_dot_wait(0, acc)
            tlx.local_store(staging[0], acc.to(tl.float16))
            tlx.fence("async_shared")
            tlx.async_descriptor_store(c_desc, staging[0], [0, 0])
            tlx.async_descriptor_store_wait(0)
            tlx.local_store(staging[0], tl.zeros((64, 64), tl.float16))
"""


def test_storage_that_is_used_again_needs_an_order():
    assert codes(STAGED) == set()
    early = STAGED.replace("            acc = tlx.async_dot_wait(0, acc)\n", "").replace(
        "acc.to(tl.float16)", "tl.zeros((64, 64), tl.float16)", 1
    )
    assert codes(early) == {"release-before-retire"}
    assert codes(STAGED.replace("            tlx.async_descriptor_store_wait(0)\n", "")) == {"release-before-retire"}


COPIES = """
@tlx.jit
def kernel(a_ptrs, b_ptrs, K, STAGES: tl.constexpr):
    a_ring = tlx.local_alloc((64, 64), tl.float16, 2)
    full = tlx.alloc_barriers(1)
    for k in range(0, tl.cdiv(K, 64)):
        tlx.async_load(a_ptrs, a_ring[k % 2])
        tlx.async_load_commit_group()
        tlx.async_load_wait_group(0)
        acc = tlx.async_dot(a_ring[k % 2], a_ring[k % 2])
        acc = tlx.async_dot_wait(0, acc)
"""


def test_copy_groups_are_over_at_their_wait():
    assert codes(COPIES) == set()
    assert "race" in codes(COPIES.replace("wait_group(0)", "wait_group(1)"))


def test_helpers_are_followed():
    helper = """
def slot_of(k, depth):
    return k % depth, (k // depth) & 1

"""
    text = changed(
        (
            "tlx.barrier_wait(full[k % STAGES], k // STAGES & 1)",
            "slot, phase = slot_of(k, STAGES)\n                tlx.barrier_wait(full[slot], phase)",
        )
    )
    assert codes(helper + text) == set()
    assert codes(helper.replace("& 1", "& 1 ^ 1") + text)


def test_while_loops_are_followed():
    counted = "k = 0\n            while k < tl.cdiv(K, 64):"
    loops = RING.replace("for k in range(0, tl.cdiv(K, 64)):", counted)
    text = loops.replace(
        "b_ring[k % STAGES], [k * 64, 0], full[k % STAGES])",
        "b_ring[k % STAGES], [k * 64, 0], full[k % STAGES]); k += 1",
    )
    text = text.replace(FREE, f"{FREE}; k += 1")
    assert codes(text) == set()
    assert codes(loops) == {"not-proved"}  # it never ends


def test_helpers_may_have_defaults():
    helper = """
def slot_of(k, depth=2, *, flip=0):
    return k % depth, (k // depth) & 1 ^ flip

"""
    text = changed((WAIT_FULL, "slot, phase = slot_of(k, depth=STAGES); tlx.barrier_wait(full[slot], phase)"))
    assert codes(helper + text) == set()
    assert codes(helper + text.replace("depth=STAGES", "depth=STAGES, flip=1"))
    assert codes(helper + text.replace("k, depth=STAGES", "")) == {"not-proved"}


def test_unknown_flags_are_tried_both_ways():
    text = changed(
        ("STAGES: tl.constexpr", "STAGES: tl.constexpr, FLIP: tl.constexpr"),
        ("(k // STAGES & 1) ^ 1", "(k // STAGES & 1) ^ (0 if FLIP else 1)"),
    )
    assert "deadlock" in codes(text)
    assert codes(text, FLIP=False) == set()


def test_text_that_does_not_parse_or_has_no_tasks():
    assert codes("def f(:\n") == {"not-proved"}
    assert codes("def other(x):\n    return x\n") == {"not-proved"}


def test_the_check_needs_neither_triton_nor_numpy():
    script = f"""
import sys
for name in ("triton", "numpy", "torch", "greenlet", "hypothesis", "ml_dtypes", "libcst"):
    sys.modules[name] = None
from tlxify.verify.protocol import World, check_protocol
(evidence,) = check_protocol({HEAD + RING!r}, "kernel.py", [World({{"K": 640, "STAGES": 3}})])
assert evidence.ok, evidence
"""
    subprocess.run([sys.executable, "-c", script], check=True)


LOADED = """
@tlx.jit
def kernel(a_desc, b_desc, bounds, STAGES: tl.constexpr):
    a_ring = tlx.local_alloc((64, 64), tlx.dtype_of(a_desc), STAGES)
    b_ring = tlx.local_alloc((64, 64), tlx.dtype_of(b_desc), STAGES)
    full = tlx.alloc_barriers(STAGES, arrive_count=1)
    empty = tlx.alloc_barriers(STAGES, arrive_count=1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            filled = 0
            for tile in range(3):
                first, last = tl.load(bounds + tile), tl.load(bounds + tile + 1)
                for k in range(first, last):
                    slot = filled % STAGES
                    tlx.barrier_wait(empty[slot], (filled // STAGES & 1) ^ 1)
                    tlx.barrier_expect_bytes(full[slot], 2 * 64 * 64 * 2)
                    tlx.async_descriptor_load(a_desc, a_ring[slot], [0, k * 64], full[slot])
                    tlx.async_descriptor_load(b_desc, b_ring[slot], [k * 64, 0], full[slot])
                    filled += 1
        with tlx.async_task(num_warps=4, registers=232):
            used = 0
            for tile in range(3):
                first, last = tl.load(bounds + tile), tl.load(bounds + tile + 1)
                acc = tl.zeros((64, 64), dtype=tl.float32)
                for k in range(first, last):
                    slot = used % STAGES
                    tlx.barrier_wait(full[slot], used // STAGES & 1)
                    acc = tlx.async_dot(a_ring[slot], b_ring[slot], acc)
                    acc = tlx.async_dot_wait(1, acc)
                    if k > first:
                        tlx.barrier_arrive(empty[(used - 1) % STAGES])
                    used += 1
                acc = tlx.async_dot_wait(0, acc)
                if last > first:
                    tlx.barrier_arrive(empty[(used - 1) % STAGES])
"""


def test_what_is_asked_of_loaded_bounds_agrees_with_their_loop():
    assert codes(LOADED) == set()


def test_a_length_may_be_compared_before_a_loop_ends_with_it():
    text = LOADED.replace(
        "first, last = tl.load(bounds + tile), tl.load(bounds + tile + 1)", "last = tl.load(bounds + tile // 3)"
    )
    lines, inside = [], False
    for line in text.splitlines():
        inside = (inside or "last = tl.load" in line) and "async_task" not in line
        guarded = inside and line.startswith(" " * 16) and "last = tl.load" not in line
        lines.append(f"    {line}" if guarded else line)
        if "last = tl.load" in line:
            lines.append(" " * 16 + "if tile % 3 + 1 < last:")
    text = "\n".join(lines).replace("range(first, last)", "range(0, last)")
    text = text.replace("range(3)", "range(12)").replace("k > first", "k > 0").replace("last > first", "last > 0")
    assert codes(text) == set()
    assert codes(text.replace("if tile % 3 + 1 < last", "if tile % 3 + 1 > last", 1))


@pytest.mark.parametrize(
    ("old", "new"), [("if last > first:", "if first > last:"), ("if k > first:", "if k >= first:")]
)
def test_a_condition_on_loaded_bounds_that_is_wrong_is_found(old, new):
    assert old in LOADED
    assert codes(LOADED.replace(old, new))


def behind(conditions):
    """The ring, its loops behind conditions that stand in one another. The consumer asks each the other way round."""
    producer = RING[RING.index("            for k") : RING.index("        with tlx.async_task(num_warps")]
    consumer = RING[RING.index("            for k", RING.index("acc = tl.zeros")) : RING.index("            out =")]
    first, second = producer, consumer
    for number in range(conditions):
        asked = f"tl.load(K + {number})"
        first = f"            if {asked} != -1:\n{indent(first, ' ' * 4)}"
        second = f"            if {asked} == -1:\n                pass\n            else:\n{indent(second, ' ' * 4)}"
    return RING.replace(producer, first).replace(consumer, second)


@pytest.mark.parametrize("conditions", [1, 2, 5])
def test_both_arms_of_what_memory_decides_are_followed(conditions):
    text = behind(conditions)
    assert codes(text) == set()
    # What is wrong behind all of them is found, also where no seed leads there by itself.
    for right, wrong in (
        ("tlx.barrier_arrive(empty[k % STAGES])", "pass"),
        ("(k // STAGES & 1) ^ 1", "k // STAGES & 1"),
        ("(k // STAGES & 1) ^ 1", "1 if k <= 2 * STAGES else 0"),  # in the longest loops alone
        ("== -1:", "== -2:"),
    ):
        assert right in text
        assert codes(text.replace(right, wrong))


@pytest.mark.parametrize(
    "case",
    [
        "control/two_returns_on_loaded",  # the seeds choose a return each time
        "turns/unequal_tiles",  # the first program takes no trip
    ],
)
def test_what_few_launches_reach_is_followed(case):
    (kernel,) = convert(SourceFile("kernel.py", read(CASES / f"{case}.py").source)).kernels
    launches = worlds_of(kernel.contract)
    (evidence,) = check_protocol(kernel.conversion.module_text, "kernel.py", launches, kernel=kernel.plan.converted)
    assert evidence.ok, (evidence.text, evidence.detail)
