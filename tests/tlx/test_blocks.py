"""Ordinary ``tl`` code compiles in a tlx kernel: the layouts behind it are nobody's business."""

from __future__ import annotations

import pytest

pytest.importorskip("triton")

import triton
import triton.language as tl
from triton.compiler.errors import CompilationError
from triton.language.extra import libdevice

import tlx

pytestmark = pytest.mark.triton

POINTERS = {"x": "*fp16", "y": "*fp32"}


@triton.jit
def pair(x, y):
    return x * y + 1, x - y


@tlx.jit
def nested(x, N: tl.constexpr):
    a, b = pair(x, tl.exp(x) + 1)
    if N > 3:
        return a + b
    return a - b


@tlx.jit
def elementwise(x, y, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    a = tl.load(x + offsets, mask=inside, other=0.0).to(tl.float32)
    b = libdevice.tanh(nested(a, 4))
    b = tl.where(a > 0, b, 0.5 * b)
    b = tl.fma(tl.clamp(b, -1.0, 1.0), b, a)
    c = tl.inline_asm_elementwise("max.f32 $0, $1, $2;", "=f,f,f", [a, b], tl.float32, is_pure=True, pack=1)
    tl.store(y + offsets, tl.maximum(b, c), mask=inside)


def test_elementwise_with_helpers():
    ptx = tlx.compile(elementwise, {**POINTERS, "n": "i32"}, {"BLOCK": 1024}, divisible_by_16=["x", "y", "n"]).asm[
        "ptx"
    ]
    assert "max.f32" in ptx
    # Addresses are contiguous and aligned, so the 8 elements of a thread come at once.
    assert "ld.global.v4.b32" in ptx
    assert "st.global.v4.b32" in ptx


@tlx.jit
def rows(x, y, stride, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.arange(0, ROWS)
    column = tl.arange(0, COLUMNS)
    values = tl.load(x + row[:, None] * stride + column, mask=column < n, other=-float("inf")).to(tl.float32)
    values -= tl.max(values, axis=1, keep_dims=True)
    weights = tl.exp(values)
    weights /= tl.sum(weights, 1)[:, None]
    best = tl.argmax(weights, axis=1)
    tl.store(y + row[:, None] * stride + column[None, :], tl.cumsum(weights, axis=1) + best[:, None])
    tl.atomic_add(y + row, tl.sum(weights, axis=1), mask=row < n)
    tl.store(y + row, tl.sort(tl.max(weights, 1)))
    tl.store(y + tl.arange(0, 32), tl.histogram(row, 32).to(tl.float32))
    tl.device_assert(n > 0, "empty")


def test_reductions_scans_atomics():
    signature = {**POINTERS, "stride": "i32", "n": "i32"}
    compiled = tlx.compile(rows, signature, {"ROWS": 32, "COLUMNS": 32})
    for operation in ("tt.reduce", "tt.scan", "tt.atomic_rmw", "tt.histogram"):
        assert operation in compiled.asm["ttgir"]


@tlx.jit
def shapes(x, y, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, COLUMNS)[None, :]
    block = tl.load(x + row * COLUMNS + column).to(tl.float32)
    # Taking a block apart into two halves of its columns and putting it together again.
    left, right = tl.split(tl.permute(tl.reshape(block, (ROWS, 2, COLUMNS // 2)), (0, 2, 1)))
    again = tl.reshape(tl.permute(tl.join(left, right), (0, 2, 1)), (ROWS, COLUMNS))
    both = tl.interleave(left, right).reshape(2, ROWS, COLUMNS // 2).sum(0)
    tl.store(y + row * COLUMNS + column, again + tl.trans(tl.trans(block)) + tl.sum(both))
    tl.store(y + tl.arange(0, 2), tl.join(tl.sum(left), tl.sum(right)))


def test_shapes():
    assert "tt.split" in tlx.compile(shapes, POINTERS, {"ROWS": 64, "COLUMNS": 64}).asm["ttgir"]


@tlx.jit
def concatenated(x, y):
    one = tl.load(x + tl.arange(0, 64)).to(tl.float32)
    tl.store(y + tl.arange(0, 128), tl.cat(one, one + 1, can_reorder=True))


@pytest.mark.filterwarnings("ignore:tl.cat")
def test_cat():
    assert "tt.cat" in tlx.compile(concatenated, POINTERS).asm["ttgir"]


@tlx.jit
def control_flow(x, y, n, BLOCK: tl.constexpr):
    row = tl.arange(0, BLOCK)
    column = tl.arange(0, BLOCK)
    pointers = x + row[:, None] * BLOCK + column[None, :]
    total = tl.zeros((BLOCK,), tl.float32)
    highest = tl.full((BLOCK,), -float("inf"), tl.float32)
    for step in tl.range(0, n, 2):
        block = tl.load(pointers).to(tl.float32)
        # Enters as a plain row of zeros, leaves as a slice of a two-dimensional layout.
        total += tl.sum(block, axis=1)
        highest = tl.maximum(highest, tl.max(block, 1))
        if step > 3:
            total = total * 2
            extra = total
        else:
            total = total + highest
            extra = highest + 1
        total += extra
        pointers += BLOCK * BLOCK
    left = 0
    while left < n:
        for inner in range(left, n):
            total += highest * inner
        left += 8
    for k in tl.static_range(3):
        total += k
    picked = total if BLOCK > 16 else highest
    tl.store(y + row, picked)
    if n > 100:
        return
    tl.store(y + row, total)


def test_layouts_through_control_flow():
    ttgir = tlx.compile(control_flow, {**POINTERS, "n": "i32"}, {"BLOCK": 64}).asm["ttgir"]
    body = ttgir[ttgir.index("scf.for") :]
    body = body[: body.index("scf.yield")]
    assert "tt.reduce" in body
    assert "ttg.convert_layout" not in body


@tlx.jit
def wide_loop(x, y, n):
    last = n * 0
    total = tl.zeros((64,), tl.float32)
    for k in tl.range(0, n, step=2):
        if tl.load(x + k) > 0:
            last = k
            total += tl.sum(tl.zeros((64, 64), tl.float32) + k, 1)
    tl.store(y + tl.arange(0, 64), total + last)


def test_induction_variable_of_64_bits():
    assert "i64 {" in tlx.compile(wide_loop, {**POINTERS, "n": "i64"}).asm["ttgir"].split("scf.for")[1]


@triton.jit
def sum_or_row(block, row, n):
    if n > 3:
        return tl.sum(block, 1), n
    else:  # noqa: RET505
        return row, n + 1


@tlx.jit
def choices(x, y, n):
    offsets = tl.arange(0, 64)
    block = tl.load(x + offsets[:, None] * 64 + offsets[None, :]).to(tl.float32)
    row = tl.load(y + offsets)
    total, count = sum_or_row(block, row, n)
    tl.store(y + offsets, total + count)
    tl.store(y + offsets, tl.max(block, 0) if n > 5 else total)
    tl.store(y + offsets, row if n is None else total)


def test_values_that_depend_on_a_run_time_choice():
    assert "scf.if" in tlx.compile(choices, {**POINTERS, "n": "i32"}).asm["ttgir"]


@tlx.jit
def dot_loop(a, b, c, K, BLOCK: tl.constexpr, DEPTH: tl.constexpr):
    rows = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, DEPTH):
        depth = k + tl.arange(0, DEPTH)
        left = tl.load(a + rows[:, None] * K + depth[None, :], mask=depth[None, :] < K, other=0.0)
        right = tl.load(b + depth[:, None] * BLOCK + rows[None, :], mask=depth[:, None] < K, other=0.0)
        acc = tl.dot(left, right, acc)
    narrow = acc.to(a.dtype.element_ty)
    once = tl.dot(narrow, narrow)
    tl.store(c + rows[:, None] * BLOCK + rows[None, :], acc + once)


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32"])
def test_synchronous_dot(dtype):
    signature = {"a": f"*{dtype}", "b": f"*{dtype}", "c": "*fp32", "K": "i32"}
    ttgir = tlx.compile(dot_loop, signature, {"BLOCK": 64, "DEPTH": 32}, divisible_by_16=["a", "b", "c", "K"]).asm[
        "ttgir"
    ]
    assert ttgir.count("ttng.warp_group_dot ") == 2
    # The operands were written by ordinary stores: without this fence the tensor cores may read stale data.
    assert ttgir.count("ttng.fence_async_shared") >= 2


@tlx.jit
def block_pointer(x, y):
    pointer = tl.make_block_ptr(x, (64,), (1,), (0,), (64,), (0,))
    tl.store(y + tl.arange(0, 64), tl.load(pointer))


@pytest.mark.skipif(hasattr(tl.core, "_block_ptr"), reason="this Triton makes block pointers of pointers by itself")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_block_pointers_are_declined():
    with pytest.raises(CompilationError):
        tlx.compile(block_pointer, POINTERS)
