"""Every thread of a task arrives at a warp barrier by itself: no barrier of the task, and no fence where it can be."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("triton")

import triton.language as tl

import tlx
from tests.tlx.behaviour.barriers import by_thread
from tlx.lowering.arrivals import captured

pytestmark = pytest.mark.triton

PLAIN = r"mbarrier\.arrive\.shared::cta\.b64 _, \[%r\d+\];"
FENCED = r"fence\.acq_rel\.cta;[^;]*?(?:bar\.sync\s+\d+[^;]*;[^;]*?)?cp\.async\.mbarrier\.arrive\.noinc\.shared"


def counts(kernel, constants=None):
    ptx = tlx.compile(kernel, {"out": "*i32"}, constants).asm["ptx"]
    return len(re.findall(PLAIN, ptx)), len(re.findall(FENCED, ptx)), ptx


def test_workers_arrive_without_their_warps_meeting():
    plain, fenced, ptx = counts(by_thread)
    # Where the workers' code is the same, newer releases have it once.
    assert plain in (1, 2)
    assert not fenced
    assert "fence.acq_rel.cta" not in ptx
    # The workers' own barriers have the numbers 2 and 3.
    assert not re.search(r"bar\.sync\s+[23]", ptx)


@tlx.jit
def from_the_default_task(out, WHERE: tl.constexpr):
    ready = tlx.alloc_warp_barrier(2, num_warps=4)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            if WHERE == "in the task":
                ready = tlx.alloc_warp_barrier(2, num_warps=4)
            tlx.barrier_arrive(ready[0])
            tlx.barrier_wait(ready[0], 0)
        with tlx.async_task(num_warps=4):
            tl.store(out, 1)


@pytest.mark.parametrize(("where", "wanted"), [("outside", (1, 0)), ("in the task", (0, 1))])
def test_which_barriers_the_compiler_may_lose_sight_of(where, wanted):
    assert counts(from_the_default_task, {"WHERE": where})[:2] == wanted


@tlx.jit
def without_tasks(out):
    ready = tlx.alloc_warp_barrier(1, num_warps=4)
    tlx.barrier_arrive(ready[0])
    tlx.barrier_wait(ready[0], 0)
    tl.store(out, 1)


def test_a_barrier_made_where_it_is_used():
    plain, fenced, ptx = counts(without_tasks)
    assert (plain, fenced) == (0, 1)
    # One thread has initialised it: the others must not arrive earlier.
    assert re.search(r"mbarrier\.init.*?bar\.sync.*?cp\.async\.mbarrier\.arrive", ptx, re.S)


BARS, BAR = "!ttg.memdesc<2x1xi64, #s, #smem, mutable>", "!ttg.memdesc<1xi64, #s, #smem, mutable>"
FENCE = '%z = tt.elementwise_inline_asm "mov.u32 $0, 0; fence.acq_rel.cta;" {constraints = "=r,~{memory}"} -> i32'


def region(*body):
    lines = "\n".join(f"      {line}" for line in body)
    return f"""\
  %bars = ttg.local_alloc : () -> {BARS}
  ttg.warp_specialize(%bars)
  default {{
    ttg.warp_yield
  }}
  partition0(%arg0: {BARS}) num_warps(4) {{
{lines}
      ttg.warp_return
  }} : ({BARS}) -> ()"""


ARRIVAL = f"ttng.async_copy_mbarrier_arrive %bar {{noIncrement}} : {BAR}"
VIEW = f"%bar = ttg.memdesc_index %arg0[%i] : {BARS} -> {BAR}"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        pytest.param((FENCE, VIEW, ARRIVAL), [True], id="a view between the fence and the arrival"),
        pytest.param((VIEW, FENCE, '"other"() : () -> ()', ARRIVAL), [False], id="a fence for something else as well"),
        pytest.param((VIEW, FENCE, ARRIVAL.replace("noIncrement", "")), [], id="of copies"),
        pytest.param((f'%bar = "choose"() : () -> {BAR}', FENCE, ARRIVAL), [], id="who knows which"),
    ],
)
def test_what_is_recognised(body, found):
    assert [fence is not None for _, fence in captured(region(*body))] == found
