"""Times follow from what a kernel orders, not from the schedule; a picture is one file that says what happened."""

import itertools
import re
import xml.etree.ElementTree as xml

import numpy as np
import pytest
import triton.language as tl

import tlx
from tlx.sim.picture import to_html, to_svg

from ..kernels.attention_ws import attention_ws
from ..kernels.gemm_ws import gemm_ws
from .bugs.test_missing_empty_wait import kernel as missing_empty_wait
from .launch import SCHEDULES, descriptor, padded

CHIP = tlx.sim.CHIPS["hopper"]


def gemm(schedule="late", stages=3, tile=(128, 256, 64), k_tiles=6):
    m, n, step = tile
    k = step * k_tiles
    a, b, c = np.zeros((m, k), np.float16), np.zeros((k, n), np.float16), np.zeros((m, n), np.float16)
    args = (descriptor(a, [m // 2, step]), descriptor(b, [step, n]), c, m, n, k, n, 1)
    constants = {
        "BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": step, "GROUP_M": 1, "ACTIVATION": "", "STAGES": stages,
    }  # fmt: skip
    return (gemm_ws, (1,), args, constants), {"schedule": schedule}


def traced(launch, options):
    tracer = tlx.sim.Tracer()
    tlx.sim.run(*launch, **options, observer=tracer)
    (trace,) = tracer.traces
    return trace


def lane_of(timeline, name):
    names = [lane.name for lane in timeline.trace.lanes]
    return names.index(name)


@tlx.jit
def one_load(x_desc, out, ROWS: tl.constexpr, COLS: tl.constexpr):
    slot = tlx.local_alloc((ROWS, COLS), tl.float16, 1)
    full = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_expect_bytes(full[0], ROWS * COLS * 2)
            tlx.async_descriptor_load(x_desc, slot[0], [0, 0], full[0])
        with tlx.async_task(num_warps=4):
            tlx.barrier_wait(full[0], 0)
            acc = tlx.async_dot(slot[0], tlx.local_trans(slot[0]))
            acc = tlx.async_dot_wait(0, acc)
            tlx.local_store(slot[0], acc.to(tl.float16))


def test_times_add_up():
    """Expect, issue, latency, bytes, wake, issue of the dot, its flops: sums that anybody can do."""
    x = descriptor(np.zeros((64, 64), np.float16), [64, 64])
    drawn = tlx.sim.timeline(traced((one_load, (1,), (x, np.zeros(1)), {"ROWS": 64, "COLS": 64}), {}), CHIP)
    bars = {drawn.trace.acts[bar.act].kind: bar for bar in drawn.bars}
    load, dot = bars["TMA load"], bars["async_dot"]
    assert load.ready == pytest.approx(2 * CHIP.instruction)
    assert load.begin == pytest.approx(load.ready + CHIP.latency)
    assert load.length == pytest.approx(64 * 64 * 2 / CHIP.l2)
    assert dot.begin == pytest.approx(load.end + CHIP.wake + CHIP.instruction)
    assert dot.length == pytest.approx(2 * 64**3 / CHIP.tensor)
    waits = [bar for bar in drawn.bars if drawn.trace.acts[bar.act].kind == "wait" and bar.after is not None]
    (for_load,) = (bar for bar in waits if drawn.trace.acts[bar.after].kind == "TMA load")
    (for_dot,) = (bar for bar in waits if drawn.trace.acts[bar.after].kind == "async_dot")
    assert (for_load.begin, for_load.end) == (0.0, pytest.approx(load.end + CHIP.wake))
    assert for_dot.end == pytest.approx(dot.end + CHIP.wake)
    task = drawn.shares[lane_of(drawn, drawn.trace.lanes[drawn.trace.acts[dot.act].owner].name)]
    assert dict(task.reasons)["loads"] * drawn.end == pytest.approx(for_load.length)


@tlx.jit
def one_store(x_desc, out):
    slot = tlx.local_alloc((64, 64), tl.float16, 1)
    tlx.local_store(slot[0], tl.zeros((64, 64), tl.float16))
    tlx.fence("async_shared")
    tlx.async_descriptor_store(x_desc, slot[0], [0, 0])
    tlx.async_descriptor_store_wait(0)


def test_a_store_is_waited_for_until_its_source_is_read():
    x = descriptor(np.zeros((64, 64), np.float16), [64, 64])
    drawn = tlx.sim.timeline(traced((one_store, (1,), (x, np.zeros(1))), {}), CHIP)
    bars = {drawn.trace.acts[bar.act].kind: bar for bar in drawn.bars}
    assert bars["TMA store"].begin == pytest.approx(bars["issue"].end)
    assert bars["wait"].end == pytest.approx(bars["issue"].end + 64 * 64 * 2 / CHIP.l2 + CHIP.wake)
    assert [name for name, _ in drawn.shares[0].reasons] == ["stores"]


def test_the_picture_does_not_depend_on_the_schedule():
    drawn = [tlx.sim.timeline(traced(*gemm(schedule)), CHIP) for schedule in SCHEDULES]
    assert len({round(timeline.end, 6) for timeline in drawn}) == 1
    assert len({round(timeline.shares[lane_of(timeline, "Tensor cores")].busy, 9) for timeline in drawn}) == 1
    assert len({timeline.verdict() for timeline in drawn}) == 1


def test_a_third_stage_hides_the_loads():
    two, three = (tlx.sim.timeline(traced(*gemm(stages=stages)), CHIP) for stages in (2, 3))
    assert "do not hide" in two.verdict()
    assert "the loads hide behind the dots" in three.verdict()
    assert three.end < 0.8 * two.end
    assert three.idle()[0] < 0.05 < dict(two.idle()[1])["loads"]


def test_slower_memory_shows():
    trace = traced(*gemm())
    assert tlx.sim.timeline(trace, CHIP, from_device=True).end > 1.5 * tlx.sim.timeline(trace, CHIP).end


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_every_lane_does_one_thing_after_the_other(stages):
    timeline = tlx.sim.timeline(traced(*gemm(stages=stages)), CHIP)
    acts = timeline.trace.acts
    for bar in timeline.bars:
        assert bar.ready <= bar.begin <= bar.end <= timeline.end
        for cause in acts[bar.act].causes:
            assert cause < bar.act
            assert timeline.bars[cause].end <= bar.end + 1e-9
    for lane in range(len(timeline.trace.lanes)):
        bars = sorted(
            (bar for bar in timeline.bars if acts[bar.act].lane == lane), key=lambda bar: (bar.begin, bar.end)
        )
        for earlier, later in itertools.pairwise(bars):
            assert earlier.end <= later.begin + 1e-9
        assert timeline.shares[lane].busy + timeline.shares[lane].stalled <= 1 + 1e-9


def test_arithmetic_takes_time():
    tiles = [descriptor(np.zeros((256, 64), np.float16), [64, 64]) for _ in range(4)]
    constants = {"BLOCK_M": 128, "BLOCK_N": 64, "HEAD": 64, "GROUPS": 2, "STAGES": 2}
    trace = traced((attention_ws, (1, 1), (*tiles, 0.3, 256), constants), {})
    assert sum(act.work.special for act in trace.acts) >= 2 * 4 * 64 * 64  # exp2 of every score
    timeline = tlx.sim.timeline(trace, CHIP)
    assert dict(timeline.idle()[1])["own work"] > 0.05


def test_a_page_is_one_file(tmp_path):
    launch, options = gemm(k_tiles=3)
    for name in ("run.html", "run.svg"):
        report = tlx.sim.draw(tmp_path / name, *launch, **options)
        assert report.ok
    page = (tmp_path / "run.html").read_text()
    assert not re.search(r"(?:src|href)\s*=|url\((?!#)|@import", page)
    assert "gemm_ws" in page
    assert "the loads hide" in page
    assert page.count('class="box dot') >= 6
    assert "tlx.async_dot(a_ring[slot + STAGES * half]" in page  # the user's line
    tree = xml.parse(tmp_path / "run.svg")
    assert tree.getroot().tag.endswith("svg")
    assert len((tmp_path / "run.svg").read_text()) < 60_000


@pytest.mark.parametrize("schedule", ["late", 3])
def test_findings_are_marked(schedule, tmp_path):
    x, out = np.ones((5 * 16, 16), np.float16), np.zeros((16, 16), np.float32)
    args = (descriptor(x, [16, 16]), out, 5, 2, 16, 16)
    report = tlx.sim.draw(tmp_path / "bug.html", missing_empty_wait, (1,), args, schedule=schedule)
    page = (tmp_path / "bug.html").read_text()
    assert page.count('class="flag') == len(report.findings) > 0
    for finding in report.findings:
        assert finding.code in page
        assert f"schedule={finding.schedule}".replace("'", "&#39;") in page
    if "deadlock" in report.codes:
        assert 'class="box stuck' in page


def test_text_of_a_kernel_is_escaped():
    timeline = tlx.sim.timeline(traced(*gemm(k_tiles=1)), CHIP)
    for text in (to_html(timeline, "<script>"), to_svg(timeline, "<script>")):
        assert "&lt;script&gt;" in text
    xml.fromstring(to_svg(timeline, "a & b"))


def test_what_cannot_be_drawn(tmp_path):
    launch, options = gemm(k_tiles=1)
    with pytest.raises(ValueError, match=r"\.html or an \.svg"):
        tlx.sim.draw(tmp_path / "run.png", *launch, **options)
    with pytest.raises(ValueError, match="no cost model for 'volta'; known: hopper"):
        tlx.sim.draw(tmp_path / "run.svg", *launch, **options, target="volta")


def test_a_long_run_is_cut():
    launch, options = gemm(k_tiles=6)
    tracer = tlx.sim.Tracer(limit=40)
    tlx.sim.run(*launch, **options, observer=tracer)
    assert tracer.traces[0].truncated
    assert len(tracer.traces[0].acts) <= 41
    assert "the end is left out" in to_html(tlx.sim.timeline(tracer.traces[0], CHIP), "cut")


def test_only_the_first_programs_are_traced():
    rng = np.random.default_rng(0)
    a, b, c = padded(rng, 64, 32), padded(rng, 32, 16), np.zeros((64, 16), np.float16)
    args = (descriptor(a, [16, 16]), descriptor(b, [16, 16]), c, 64, 16, 32, 16, 1)
    constants = {"BLOCK_M": 32, "BLOCK_N": 16, "BLOCK_K": 16, "GROUP_M": 1, "ACTIVATION": "", "STAGES": 2}
    tracer = tlx.sim.Tracer(programs=2)
    tlx.sim.run(gemm_ws, (2,), args, constants, observer=tracer)
    assert [trace.program for trace in tracer.traces] == [(0, 0, 0), (1, 0, 0)]
