"""Tensor memory, tcgen05 and cluster launch control: compiled for sm_100 only, since no such GPU is at hand."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("triton")

import triton
import triton.language as tl
from triton.compiler.errors import CompilationError

import tlx
from tlx.lowering import versions

pytestmark = pytest.mark.triton


def ptx_of(kernel, signature, constants=None, **options):
    text = tlx.compile(kernel, signature, constants, target="sm_100", **options).asm["ptx"]
    return re.sub(r"[ \t]+", " ", text)


def refused(kernel, signature, constants=None, target="sm_100", **options):
    with pytest.raises(CompilationError) as caught:
        tlx.compile(kernel, signature, constants, target=target, **options)
    return str(caught.value)


@tlx.jit
def keep(out, block):
    rows: tl.constexpr = block.shape[0]
    tl.store(out + tl.arange(0, rows), tl.sum(block, 1))


@tlx.jit
def product(out, a_desc, n, MODE: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    a = tlx.local_alloc((ROWS, 64), tl.float16, 1)
    b = tlx.local_alloc((64, COLUMNS), tl.float16, 1)
    acc = tlx.local_alloc((ROWS, COLUMNS), tl.float32, 2, tlx.storage_kind.tmem)
    bars = tlx.alloc_barriers(3)
    if MODE == "waits":
        tlx.async_dot(a[0], b[0], acc[0], use_acc=False)
    if MODE == "signals":
        tlx.async_dot(a[0], b[0], acc[n], use_acc=n > 0, pred=n < 2, mBarriers=[bars[0], bars[1]])
        tlx.barrier_wait(bars[0], 0)
    if MODE == "commits":
        tlx.async_dot(a[0], b[0], acc[0], force_async=True)
        tlx.tcgen05_commit(bars[2])
        tlx.barrier_wait(bars[2], 0)
    half = tlx.local_slice(acc[0], [0, COLUMNS // 2], [ROWS, COLUMNS // 2])
    tlx.local_store(half, tlx.local_load(half) * 2.0)
    keep(out, tlx.local_load(tlx.subslice(acc[0], 0, COLUMNS // 4)))


PRODUCT = {"out": "*fp32", "a_desc": "tensordesc<fp16[128,64]>", "n": "i32"}


@pytest.mark.parametrize(
    ("mode", "commits"),
    [
        pytest.param("waits", 1, id="waits"),
        pytest.param("signals", 2, id="signals"),
        pytest.param("commits", 2, id="commits"),
    ],
)
def test_products_accumulate_in_tensor_memory(mode, commits):
    ptx = ptx_of(product, PRODUCT, {"MODE": mode, "ROWS": 128, "COLUMNS": 128})
    # 64 values of K are four instructions.
    assert ptx.count("tcgen05.mma.cta_group::1.kind::f16") == 4
    # force_async has the commit of a barrier that is never signalled, which keeps the compiler from waiting.
    assert ptx.count("tcgen05.commit.cta_group::1") == commits
    assert "mbarrier.try_wait" in ptx
    assert "tcgen05.ld.sync" in ptx
    assert "tcgen05.st.sync" in ptx
    # Two accumulators of 128 columns.
    assert re.search(r"tcgen05\.alloc\S* \[\S+\], 256;", ptx)


def test_a_product_of_64_rows():
    assert "tcgen05.mma" in ptx_of(product, PRODUCT, {"MODE": "waits", "ROWS": 64, "COLUMNS": 64})


@tlx.jit
def from_tensor_memory(out):
    scores = tlx.local_alloc((128, 128), tl.float32, 1, tlx.storage_kind.tmem)
    weights = tlx.local_alloc((128, 128), tl.float16, 2, tlx.storage_kind.tmem, reuse=scores)
    v = tlx.local_alloc((128, 64), tl.float16, 1)
    acc = tlx.local_alloc((128, 64), tl.float32, 1, tlx.storage_kind.tmem)
    tlx.local_store(weights[1], tlx.local_load(scores[0]).to(tl.float16))
    tlx.async_dot(weights[1], v[0], acc[0], use_acc=False)
    keep(out, tlx.local_load(acc[0]))


def test_operand_a_may_lie_in_tensor_memory():
    ptx = ptx_of(from_tensor_memory, {"out": "*fp32"})
    assert re.search(r"tcgen05\.mma\.cta_group::1\.kind::f16 \[ ?\S+ \+ \d+ ?\], \[ ?\S+", ptx)
    # The weights take over the memory of the scores.
    assert re.search(r"tcgen05\.alloc\S* \[\S+\], 256;", ptx)


@tlx.jit
def shared_columns(out):
    pool = tlx.storage_alias_spec(storage=tlx.storage_kind.tmem)
    scores = tlx.local_alloc((128, 128), tl.float32, 2, tlx.storage_kind.tmem, reuse=pool)
    weights = tlx.local_alloc((128, 128), tl.float16, 2, tlx.storage_kind.tmem, reuse=pool)
    alpha = tlx.local_alloc((128, 32), tl.float32, 2, tlx.storage_kind.tmem, reuse=pool)
    pool.set_buffer_overlap(
        tlx.reuse_group(scores, tlx.reuse_group(weights, alpha, group_type=tlx.reuse_group_type.distinct))
    )
    tlx.local_store(weights[1], tlx.local_load(scores[0]).to(tl.float16))
    tlx.local_store(alpha[1], tl.full((128, 32), 1.0, tl.float32))
    keep(out, tlx.local_load(alpha[0]))


def test_a_pool_of_tensor_memory():
    assert re.search(r"tcgen05\.alloc\S* \[\S+\], 256;", ptx_of(shared_columns, {"out": "*fp32"}))


@tlx.jit
def scaled(out, FORMAT: tl.constexpr, DTYPE: tl.constexpr):
    a = tlx.local_alloc((128, 128), DTYPE, 1)
    b = tlx.local_alloc((128, 128), DTYPE, 1)
    acc = tlx.local_alloc((128, 128), tl.float32, 1, tlx.storage_kind.tmem)
    a_scale = tlx.local_alloc((128, 4), tl.uint8, 1, tlx.storage_kind.tmem)
    b_scale = tlx.local_alloc((128, 4), tl.uint8, 1, tlx.storage_kind.tmem)
    name: tl.constexpr = tlx.get_fp8_format_name(DTYPE)
    tl.static_assert(name == FORMAT)
    tlx.async_dot_scaled(a[0], tlx.local_trans(b[0]), acc[0], a_scale[0], FORMAT, b_scale[0], FORMAT, use_acc=False)
    keep(out, tlx.local_load(acc[0]))


@pytest.mark.parametrize(("form", "dtype"), [("e4m3", tl.float8e4nv), ("e5m2", tl.float8e5)])
def test_scaled_products(form, dtype):
    ptx = ptx_of(scaled, {"out": "*fp32"}, {"FORMAT": form, "DTYPE": dtype})
    assert ptx.count("tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale") == 4


@tlx.jit
def conversions(out, x, bits, TO: tl.constexpr):
    at = tl.arange(0, 512)
    values = tl.load(x + at)
    peak = tlx.warp_redux(values, "abs_max")
    tl.store(out + at, tlx.stoch_round(values / peak, TO, tl.load(bits + at)))


@pytest.mark.parametrize(
    ("dtype", "name", "instruction"),
    [
        (tl.float8e4nv, "fp8e4nv", "cvt.rs.satfinite.e4m3x4.f32"),
        (tl.float8e5, "fp8e5", "cvt.rs.satfinite.e5m2x4.f32"),
        (tl.float16, "fp16", "cvt.rs.f16x2.f32"),
        (tl.bfloat16, "bf16", "cvt.rs.bf16x2.f32"),
    ],
)
def test_hardware_conversions(dtype, name, instruction):
    ptx = ptx_of(conversions, {"out": f"*{name}", "x": "*fp32", "bits": "*i32"}, {"TO": dtype})
    assert instruction in ptx
    assert "redux.sync.max.f32" in ptx


@tlx.jit
def takes_over(out, MULTI: tl.constexpr):
    context = tlx.clc_create_context(1 + MULTI)
    tile = tl.program_id(0)
    turn = 0
    while tile != -1:
        tlx.clc_producer(context, 1 ^ (turn & 1), MULTI)
        tl.store(out + tile, turn)
        tile = tlx.clc_consumer(context, turn & 1, MULTI)
        turn += 1


@pytest.mark.skipif(not versions.CLC, reason=versions.too_old("cluster launch control", versions.CLC_SINCE))
@pytest.mark.parametrize("multi", [False, True])
def test_cluster_launch_control(multi):
    if multi and not versions.CLUSTERS:
        pytest.skip(versions.too_old("a cluster"))
    ptx = ptx_of(takes_over, {"out": "*i32"}, {"MULTI": multi}, options={"num_ctas": 1 + multi})
    assert ptx.count("clusterlaunchcontrol.try_cancel.async") == 1
    assert ("multicast::cluster::all" in ptx) == multi
    assert "clusterlaunchcontrol.query_cancel.is_canceled" in ptx
    assert ("mapa.shared::cluster" in ptx) == multi
    assert re.search(r"mbarrier\.arrive\.expect_tx\S* _, \[\S+\], 16;", ptx)


@pytest.mark.skipif(versions.CLC, reason="this Triton has cluster launch control")
def test_an_old_triton_has_no_cluster_launch_control():
    assert "cluster launch control needs Triton 3.8" in refused(takes_over, {"out": "*i32"}, {"MULTI": False})


@triton.constexpr_function
def is_a(value, kinds):
    return isinstance(value, kinds)


@tlx.jit
def answered(context, turn):
    return tlx.clc_consumer(context, turn & 1)


@tlx.jit
def taken_over_in_tasks(out):
    context = tlx.clc_create_context(2)
    tl.static_assert(is_a(context, tlx.CLCPipelineContext))
    tl.static_assert(is_a(context._clc_responses, tlx.clc_response))
    tl.static_assert(is_a(context._clc_responses.type, tlx.clc_response_type))
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tile, turn = tl.program_id(0), 0
            while tile != -1:
                tlx.clc_producer(context, 1 ^ (turn & 1))
                tl.store(out + tile, turn)
                tile = answered(context, turn)
                turn += 1
        with tlx.async_task(num_warps=4):
            tile, turn = tl.program_id(0), 0
            while tile != -1:
                tile = answered(context, turn)
                turn += 1


@pytest.mark.skipif(not versions.CLC, reason=versions.too_old("cluster launch control", versions.CLC_SINCE))
def test_launch_control_in_tasks():
    ptx = ptx_of(taken_over_in_tasks, {"out": "*i32"})
    assert ptx.count("clusterlaunchcontrol.try_cancel.async") == 1
    assert ptx.count("clusterlaunchcontrol.query_cancel.is_canceled") == 2
    # Both consumers free the stage.
    assert re.search(r"mbarrier\.init\S* \[\S+\], 2;", ptx)


@tlx.jit
def copied(out):
    start = tlx.local_alloc((128, 64), tl.float32, 1)
    acc = tlx.local_alloc((128, 64), tl.float32, 1, tlx.storage_kind.tmem)
    done = tlx.alloc_barriers(1)
    tlx.tmem_copy(start[0], acc[0])
    tlx.tcgen05_commit(done[0])
    tlx.barrier_wait(done[0], 0)
    keep(out, tlx.local_load(acc[0]))


def test_copies_into_tensor_memory():
    ptx = ptx_of(copied, {"out": "*fp32"})
    assert (
        ptx.index("tcgen05.cp.cta_group::1") < ptx.index("tcgen05.commit.cta_group::1") < ptx.index("tcgen05.ld.sync")
    )


# ---- misuse ---------------------------------------------------------------------------------------------------------


@tlx.jit
def misused(out, WHAT: tl.constexpr):
    a = tlx.local_alloc((128, 64), tl.float16, 1)
    b = tlx.local_alloc((64, 128), tl.float16, 1)
    acc = tlx.local_alloc((128, 128), tl.float32, 1, tlx.storage_kind.tmem)
    if WHAT == "registers":
        tlx.async_dot(tlx.local_load(a[0]), b[0], acc[0])
    if WHAT == "accumulator":
        tlx.async_dot(a[0], b[0], tl.zeros((128, 128), tl.float32))
    if WHAT == "no accumulator":
        tlx.async_dot(a[0], b[0])
    if WHAT == "shape":
        tlx.async_dot(a[0], b[0], tlx.subslice(acc[0], 0, 64))
    if WHAT == "two_ctas":
        tlx.async_dot(a[0], b[0], acc[0], two_ctas=True)
    if WHAT == "wait":
        tlx.async_dot_wait(0, acc[0])
    if WHAT == "rows":
        tlx.local_alloc((32, 64), tl.float32, 1, tlx.storage_kind.tmem)
    if WHAT == "slice":
        tlx.local_slice(acc[0], [64, 0], [64, 128])
    if WHAT == "columns":
        tlx.subslice(acc[0], 96, 64)
    if WHAT == "format":
        tlx.async_dot_scaled(a[0], b[0], acc[0], acc[0], "e4m3", acc[0], "e4m3")
    if WHAT == "copy":
        tlx.tmem_copy(acc[0], acc[0])
    if WHAT == "warps":
        with tlx.async_tasks():
            with tlx.async_task("default"):
                tl.store(out, 1.0)
            with tlx.async_task(num_warps=1):
                tlx.local_store(acc[0], tl.zeros((128, 128), tl.float32))
    if WHAT == "too much":
        more = tlx.local_alloc((128, 256), tl.float32, 2, tlx.storage_kind.tmem)
        with tlx.async_tasks():
            with tlx.async_task("default"):
                tlx.local_store(more[0], tl.zeros((128, 256), tl.float32))
            with tlx.async_task(num_warps=4):
                tlx.local_store(acc[0], tlx.local_load(acc[0]))
                tlx.local_store(more[1], tl.zeros((128, 256), tl.float32))


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("registers", "operand A is in shared or tensor memory; local_store the block first"),
        ("accumulator", "the accumulator is a view in tensor memory"),
        ("no accumulator", "the accumulator is a view in tensor memory"),
        ("shape", "the accumulator has shape [128, 64], the product [128, 128]"),
        ("two_ctas", "two_ctas of async_dot is not available"),
        ("wait", "give async_dot mBarriers and wait for those"),
        ("rows", "a tile in tmem has 64 or 128 rows"),
        ("slice", "only be sliced along its columns"),
        ("columns", "64 columns from 96 are no part of 128"),
        ("format", "A is said to be e4m3, so its buffer holds fp8e4nv, not fp16"),
        ("copy", "tmem_copy goes from shared memory to tensor memory"),
        ("warps", "so the task needs a multiple of 4 warps, not 1"),
        ("too much", "these buffers need 640 columns of tensor memory at the same time, an SM has 512"),
    ],
)
def test_misuse(what, message):
    text = refused(misused, {"out": "*fp32"}, {"WHAT": what})
    assert message in text
    assert "test_blackwell.py:" in text.split("\n")[0]


@tlx.jit
def too_many_columns(out, TILES: tl.constexpr):
    """Without tasks."""
    first = tlx.local_alloc((128, 128), tl.float32, 1, tlx.storage_kind.tmem)
    others = tlx.local_alloc((128, 128), tl.float32, TILES, tlx.storage_kind.tmem)
    for i in tl.static_range(TILES):
        tlx.local_store(others[i], tlx.local_load(first[0]) + i)
    place = out + tl.arange(0, 128)[:, None] * 128 + tl.arange(0, 128)[None, :]
    for i in tl.static_range(TILES):
        tl.store(place, tlx.local_load(others[i]) + tlx.local_load(first[0]))


def test_more_tensor_memory_without_tasks():
    tlx.compile(too_many_columns, {"out": "*fp32"}, {"TILES": 3}, target="sm_100")
    with pytest.raises(tlx.TLXError) as caught:
        tlx.compile(too_many_columns, {"out": "*fp32"}, {"TILES": 7}, target="sm_100")
    place, line, caret, message = str(caught.value).split("\n")
    number = int(place.rpartition("test_blackwell.py:")[2].rstrip(":"))
    assert line.strip() == "others = tlx.local_alloc((128, 128), tl.float32, TILES, tlx.storage_kind.tmem)"
    assert caret.strip() == "^"
    assert "too_many_columns needs 1024 columns of tensor memory, an SM has 512" in message
    assert f": others 896 (line {number}), first 128 (line {number - 1}). Take fewer stages" in message


@tlx.jit
def whole_tile(out, HOW: tl.constexpr):
    tile = tlx.local_alloc((128, 64), tl.float32, 1, tlx.storage_kind.tmem)
    tlx.local_store(tile[0], tl.zeros((128, 64), tl.float32))
    block = tlx.local_load(tile[0])
    if HOW == "sum":
        tl.store(out, tl.sum(block))
    if HOW == "of sums":
        tl.store(out, tl.max(tl.sum(block * 2.0, 1)))
    if HOW == "in a loop":
        total = tl.zeros((64,), tl.float32)
        for i in range(4):
            total += tl.sum(block, 0) * i
        tl.store(out, tl.sum(total))
    if HOW == "running sums":
        tl.store(out + tl.arange(0, 8192), tl.cumsum(tl.ravel(block), 0))


@pytest.mark.parametrize("how", ["sum", "of sums", "in a loop", "running sums"])
def test_a_tile_of_tensor_memory_reduced_to_one_number(how):
    assert "tcgen05.ld" in ptx_of(whole_tile, {"out": "*fp32"}, {"HOW": how})


@tlx.jit
def running_sums(out):
    a = tlx.local_alloc((64, 64), tl.float16, 1)
    block = tlx.async_dot_wait(0, tlx.async_dot(a[0], a[0]))
    place = tl.arange(0, 64)
    tl.store(out + place[:, None] * 64 + place[None, :], tl.cumsum(block, 1))


def test_running_sums_of_a_product():
    assert "wgmma.mma_async" in tlx.compile(running_sums, {"out": "*fp32"}).asm["ptx"]


def test_hopper_has_no_tensor_memory():
    text = refused(misused, {"out": "*fp32"}, {"WHAT": "none"}, target="sm_90")
    assert "storage_kind.tmem needs Blackwell (sm_100); this kernel is compiled for sm_90" in text
