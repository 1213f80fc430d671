"""Programs that touch the same memory: what orders them, and what does not."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.modules import from_text
from tlx import sim

pytestmark = pytest.mark.triton

HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
ADDS = "def k(x, out, done, N: tl.constexpr):\n    pid = tl.program_id(0)\n    v = tl.load(x + pid)\n"
KERNELS = {
    "read, add, store": (ADDS + "    tl.store(out, tl.load(out) + v)\n", {"reads", "stores"}),
    "two different values": (ADDS + "    tl.store(out, v)\n", {"stores"}),
    "one value": (ADDS + "    tl.store(out, 1.0)\n", set()),
    "atomics": (ADDS + "    tl.atomic_add(out, v)\n", set()),
    "an atomic beside a store": (
        ADDS + "    if pid == 0:\n        tl.store(out, v)\n    else:\n        tl.atomic_add(out, v)\n", {"adds"}
    ),
    "places of their own": (ADDS + "    tl.store(out + pid, v)\n", set()),
    "a lock": (
        ADDS + "    while tl.atomic_cas(done, 0, 1) == 1:\n        pass\n"
        "    tl.store(out, tl.load(out) + v)\n    tl.atomic_xchg(done, 0)\n",
        set(),
    ),
    "the last one adds up": (
        ADDS + "    tl.store(out + 1 + pid, v)\n    if tl.atomic_add(done, 1) == N - 1:\n"
        "        tl.store(out, tl.sum(tl.load(out + 1 + tl.arange(0, N)), axis=0))\n",
        set(),
    ),
    "somebody adds up": (
        ADDS + "    tl.store(out + 1 + pid, v)\n    if pid == N - 1:\n"
        "        tl.store(out, tl.sum(tl.load(out + 1 + tl.arange(0, N)), axis=0))\n",
        {"reads"},
    ),
}  # fmt: skip


def clashes(text: str):
    kernel = from_text("sharing", HEAD + text).k
    x, out, done = np.arange(1, 5, dtype=np.float32), np.zeros(8, np.float32), np.zeros(1, np.int32)
    return sim.run(kernel, (4,), (x, out, done), {"N": 4}, sharing=True).clashes


@pytest.mark.parametrize("name", KERNELS)
def test_clashes(name):
    text, expected = KERNELS[name]
    found = clashes(text)
    assert {clash.what.split()[0] for clash in found} == expected
    assert all(clash.site.text for clash in found)


def test_nobody_looks_unless_asked():
    kernel = from_text("unasked", HEAD + KERNELS["two different values"][0]).k
    x, out, done = np.ones(4, np.float32), np.zeros(8, np.float32), np.zeros(1, np.int32)
    assert sim.run(kernel, (4,), (x, out, done), {"N": 4}).clashes == ()
