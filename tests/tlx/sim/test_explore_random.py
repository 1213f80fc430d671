"""Random programs, right or wrong: the search finds as many orders, results and kinds of findings as brute force."""

import importlib.util
import random

import pytest

import tlx

from .test_explore import brute_force, launch

HEAD = """\
import triton.language as tl
import tlx


@tlx.jit
def kernel(x_desc, out):
    row = tlx.local_alloc((16,), tl.float32, 1)
    tile = tlx.local_alloc((4, 16), tl.float32, 1)
    a = tlx.alloc_barriers(1, arrive_count={a})
    b = tlx.alloc_barriers(1, arrive_count={b})
    with tlx.async_tasks():
"""

STATEMENTS = """\
tlx.barrier_arrive(a[0])
tlx.barrier_arrive(b[0])
tlx.barrier_wait(a[0], 0)
tlx.barrier_wait(b[0], 0)
tlx.barrier_wait(a[0], 1)
tlx.barrier_expect_bytes(b[0], 256)
tlx.async_descriptor_load(x_desc, tile[0], [0, 0], b[0])
tlx.async_descriptor_load(x_desc, tile[0], [4, 0], a[0])
tlx.async_descriptor_store(x_desc, tile[0], [0, 0])
tlx.async_descriptor_store_wait(0)
tlx.fence("async_shared")
tlx.named_barrier_wait(9, 256)
tlx.named_barrier_arrive(9, 256)
tlx.local_store(row[0], tl.full((16,), {value}, tl.float32))
tl.store(out + tl.arange(0, 16), tlx.local_load(row[0]))
tl.atomic_add(out, {value})
tl.atomic_xchg(out + 1, {value})
""".splitlines()


def program(seed):
    """A kernel of two tasks of one to three statements each."""
    rng = random.Random(seed)
    text = HEAD.format(a=rng.randint(1, 2), b=rng.randint(1, 2))
    for arguments, most in (('"default"', 3), ("num_warps=4", 2)):
        text += f"        with tlx.async_task({arguments}):\n"
        for _ in range(rng.randint(1, most)):
            text += f"            {rng.choice(STATEMENTS).format(value=float(rng.randint(1, 9)))}\n"
    return text


#: two of these programs have too many interleavings to enumerate
SEEDS = sorted(set(range(24)) - {12, 15})


@pytest.mark.parametrize("seed", SEEDS)
def test_random_program(seed, tmp_path):
    text = program(seed)
    path = tmp_path / "program.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(f"program_{seed}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with tlx.sim.session():
        runs, classes, results, codes = brute_force(module.kernel)
        found = tlx.sim.explore(module.kernel, (1,), launch(), keep_going=True)
    assert found.complete
    assert found.orders == len(classes), text
    assert found.results == len(results), text
    assert {finding.code for finding in found.findings} == codes, text
    assert found.orders + found.cut <= runs
