"""What is broken, and that nothing else of the text changes."""

import ast
import textwrap

import pytest

from .mutator import TRAP, mutants

KERNEL = textwrap.dedent(
    """\
    @tlx.jit
    def kernel(desc, n, SLOTS: tl.constexpr):
        bars = tlx.alloc_barriers(SLOTS, arrive_count=2)
        ring = tlx.local_alloc((16, 16), tl.float16, SLOTS)
        tlx.barrier_wait(bars[n % SLOTS], (n // SLOTS) & 1)  # é
        tlx.barrier_expect_bytes(
            bars[0],
            512,
        )
        acc = tlx.async_dot_wait(1, acc)
        other[0] = tl.load(n)
        tlx.fence("async_shared")
        view = tlx.local_view(ring, n)
    """
)


def changed(mutant):
    """The lines that a break replaces, as they are after it."""
    before, after = KERNEL.splitlines(), mutant.source.splitlines()
    assert len(before) == len(after)
    return [new.strip() for old, new in zip(before, after, strict=True) if old != new]


def test_every_break_of_a_kernel():
    found = [(m.what, m.line, changed(m)[0]) for m in mutants(KERNEL)]
    assert found == [
        ("arrival more: alloc_barriers", 3, "bars = tlx.alloc_barriers(SLOTS, arrive_count=(2) + 1)"),
        ("arrival less: alloc_barriers", 3, "bars = tlx.alloc_barriers(SLOTS, arrive_count=(2) - 1)"),
        ("delete wait: barrier_wait", 5, "pass  # é"),
        ("shift slot", 5, "tlx.barrier_wait(bars[((n % SLOTS) + 1) % (bars).num], (n // SLOTS) & 1)  # é"),
        ("flip phase: barrier_wait", 5, "tlx.barrier_wait(bars[n % SLOTS], ((n // SLOTS) & 1) ^ 1)  # é"),
        ("delete expect: barrier_expect_bytes", 6, "pass"),
        ("shift slot", 7, "bars[((0) + 1) % (bars).num],"),
        ("halve bytes: barrier_expect_bytes", 8, "(512) // 2,"),
        ("double bytes: barrier_expect_bytes", 8, "(512) * 2,"),
        ("delete wait: async_dot_wait", 10, "acc = (acc)"),
        ("weaken wait: async_dot_wait", 10, "acc = tlx.async_dot_wait((1) + 1, acc)"),
        ("delete fence: fence", 12, "pass"),
        ("shift slot", 13, "view = tlx.local_view(ring, ((n) + 1) % (ring).num)"),
    ]


def test_breaks_and_traps_are_python():
    for mutant in mutants(KERNEL):
        ast.parse(mutant.source)
        assert TRAP in mutant.trap
        ast.parse(mutant.trap)


def test_names_mean_nothing():
    renamed = KERNEL.replace("bars", "x").replace("ring", "y").replace("tlx.", "lang.").replace("kernel", "f")
    assert [m.what for m in mutants(renamed, ["lang"])] == [m.what for m in mutants(KERNEL)]


@pytest.mark.parametrize("text", ["x = other.barrier_wait(a, 0)", "barrier_wait(a, 0)", "a[0] = b[0]"])
def test_what_is_not_tlx_stays(text):
    assert list(mutants(f"def f(a, b, other):\n    {text}\n")) == []


def test_an_assumed_count_is_made_explicit():
    (more,) = mutants("def f():\n    a = tlx.alloc_barriers(num_barriers=2)\n")
    assert "tlx.alloc_barriers(num_barriers=2, arrive_count=(1) + 1)" in more.source


@pytest.mark.parametrize("number", ["1", "num_barriers=1", "tl.constexpr(1)"])
def test_one_slot_has_no_neighbour(number):
    text = f"def f():\n    a = tlx.alloc_barriers({number})\n    g(a[0])\n    v = tlx.local_view(a, 0)\n"
    assert "shift slot" not in [m.what for m in mutants(text)]
    assert "shift slot" in [m.what for m in mutants(text.replace("1", "2", 1))]
