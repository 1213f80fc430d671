"""Misuse that can be seen while compiling is refused with what is wrong and the line it stands on."""

# ruff: noqa: SIM102, SIM117
from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("triton")

import triton.language as tl
from triton.compiler.errors import CompilationError

import tlx
from tlx.lowering.expectations import reachable

pytestmark = pytest.mark.triton


def refuse(kernel, message, line, **options):
    """``kernel`` must fail with ``message``, and the error must point at ``line`` of its source."""
    with pytest.raises(CompilationError) as caught:
        tlx.compile(kernel, dict.fromkeys(kernel.arg_names, "*fp16"), **options)
    error = caught.value
    text = str(error)
    while error.__cause__ is not None:
        error = error.__cause__
        text += str(error)
    assert message in text
    shown = str(caught.value).split("\n")
    caret = next(number for number, row in enumerate(shown) if row.strip() == "^")
    assert line in shown[caret - 1]


@tlx.jit
def two_defaults(out):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(out, 1.0)
        with tlx.async_task("default"):
            tl.store(out, 2.0)


@tlx.jit
def no_default(out):
    with tlx.async_tasks():
        with tlx.async_task(num_warps=4):
            tl.store(out, 1.0)


@tlx.jit
def statement_between(out):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(out, 1.0)
        x = 1
        with tlx.async_task(num_warps=4):
            tl.store(out, x)


@tlx.jit
def dynamic_condition(out):
    flag = tl.program_id(0) > 0
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(out, 1.0)
        if flag:
            with tlx.async_task(num_warps=4):
                tl.store(out, 2.0)


@tlx.jit
def captured_block(out):
    offsets = tl.arange(0, 128)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(out + offsets, 1.0)
        with tlx.async_task(num_warps=4):
            tl.store(out + offsets, 2.0)


@tlx.jit
def nested_regions(out):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            with tlx.async_tasks():
                with tlx.async_task("default"):
                    tl.store(out, 1.0)
        with tlx.async_task(num_warps=4):
            tl.store(out, 2.0)


@tlx.jit
def return_inside(out):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            return
        with tlx.async_task(num_warps=4):
            tl.store(out, 2.0)


@tlx.jit
def task_alone(out):
    with tlx.async_task("default"):
        tl.store(out, 1.0)


@tlx.jit
def odd_warps(out):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(out, 1.0)
        with tlx.async_task(num_warps=3):
            tl.store(out, 2.0)


@tlx.jit
def odd_registers(out):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(out, 1.0)
        with tlx.async_task(num_warps=4, registers=100):
            tl.store(out, 2.0)


@tlx.jit
def too_many_registers(out):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(out, 1.0)
        with tlx.async_task(num_warps=4, registers=240, replicate=3):
            tl.store(out, 2.0)


@tlx.jit
def some_registers(out):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(out, 1.0)
        with tlx.async_task(num_warps=4, registers=232):
            tl.store(out, 2.0)
        with tlx.async_task(num_warps=4):
            tl.store(out, 3.0)


@tlx.jit
def not_exclusive(out):
    with tlx.async_tasks(exclusive=True):
        with tlx.async_task("default"):
            tl.store(out, 1.0)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(out, 2.0)


@tlx.jit
def listed_ids(out):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(out, 1.0)
        with tlx.async_task([0, 1], num_warps=4):
            tl.store(out, 2.0)


@tlx.jit
def replica_outside(out):
    tl.store(out, tlx.async_task_replica_id())


@pytest.mark.parametrize(
    ("kernel", "message", "line"),
    [
        (two_defaults, "this is a second one", 'with tlx.async_task("default"):'),
        (no_default, "there is none", "with tlx.async_tasks():"),
        (statement_between, "may stand directly inside async_tasks", "x = 1"),
        (dynamic_condition, "must be decided at compile time", "if flag:"),
        (captured_block, "offsets is a block of values", "tl.store(out + offsets, 2.0)"),
        (nested_regions, "cannot be nested", "with tlx.async_tasks():"),
        (return_inside, "return inside async_tasks", "return"),
        (task_alone, "directly inside async_tasks", 'with tlx.async_task("default"):'),
        (odd_warps, "a power of two, not 3", "with tlx.async_task(num_warps=3):"),
        (odd_registers, "a multiple of 8 from 24 to 256", "registers=100"),
        (too_many_registers, "it needs at least 24", "with tlx.async_tasks():"),
        (some_registers, "or none does", "with tlx.async_task(num_warps=4):"),
        (not_exclusive, "promised that there is no other region, and there is one at", "with tlx.async_tasks():"),
        (listed_ids, 'async_task("default") or async_task(num_warps=...)', "with tlx.async_task([0, 1], num_warps=4):"),
        (replica_outside, "only known inside a task", "tlx.async_task_replica_id()"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_tasks(kernel, message, line):
    refuse(kernel, message, line)


@tlx.jit
def dot_with(out, KEYWORD: tl.constexpr):
    a = tlx.local_alloc((64, 64), tl.float16, 1)
    bars = tlx.alloc_barriers(1)
    acc = tl.zeros((64, 64), tl.float32)
    if KEYWORD == "use_acc":
        acc = tlx.async_dot(a[0], a[0], acc, use_acc=True)
    elif KEYWORD == "pred":
        acc = tlx.async_dot(a[0], a[0], acc, pred=True)
    elif KEYWORD == "two_ctas":
        acc = tlx.async_dot(a[0], a[0], acc, two_ctas=True)
    else:
        acc = tlx.async_dot(a[0], a[0], acc, mBarriers=[bars[0]])
    tl.store(out, tl.sum(acc))


@pytest.mark.parametrize(
    ("keyword", "value"),
    [("use_acc", "True"), ("pred", "True"), ("mBarriers", "[bars[0]]"), ("two_ctas", "True")],
)
def test_blackwell_arguments_of_a_hopper_dot(keyword, value):
    text = shown(dot_with, {"out": "*fp16"}, {"KEYWORD": keyword})
    place, *_, line, caret, message = text.split("\n")
    assert place.rpartition("test_errors.py:")[2].isdigit()
    assert line.strip() == f"acc = tlx.async_dot(a[0], a[0], acc, {keyword}={value})"
    assert caret.strip() == "^"
    assert keyword in message
    if keyword != "two_ctas":
        assert f"{keyword} has no effect in a Hopper async_dot" in message


@tlx.jit
def dot_of(out, M: tl.constexpr, N: tl.constexpr, DTYPE: tl.constexpr):
    a = tlx.local_alloc((M, 128), DTYPE, 1)
    b = tlx.local_alloc((128, N), DTYPE, 1)
    acc = tlx.async_dot(a[0], b[0])
    acc = tlx.async_dot_wait(0, acc)
    tl.store(out, tl.sum(acc))


@pytest.mark.parametrize(
    ("shape", "dtype", "warps", "message"),
    [
        ((64, 64), tl.float16, 2, "this task has 2 warp"),
        ((32, 64), tl.float16, 4, "M to be a multiple of 64, not 32"),
        ((64, 64), tl.float8e5, 4, "must be contiguous along K"),
        ((64, 64), tl.float64, 4, "no fp64 operands"),
        ((64, 64), tl.int16, 4, "no int16 operands"),
    ],
)
def test_operands_that_wgmma_cannot_take(shape, dtype, warps, message):
    constants = {"M": shape[0], "N": shape[1], "DTYPE": dtype}
    with pytest.raises(CompilationError, match=message):
        tlx.compile(dot_of, {"out": "*fp32"}, constants, num_warps=warps)


@tlx.jit
def dot_into(out, LEFT: tl.constexpr, RIGHT: tl.constexpr, OUT: tl.constexpr):
    a = tlx.local_alloc((64, 64), LEFT, 1)
    b = tlx.local_alloc((64, 64), RIGHT, 1)
    acc = tlx.async_dot(a[0], tlx.local_trans(b[0]), out_dtype=OUT)
    acc = tlx.async_dot_wait(0, acc)
    tl.store(out, tl.sum(acc))


@pytest.mark.parametrize(
    ("left", "right", "out", "message"),
    [
        (tl.float16, tl.float16, tl.bfloat16, "fp16 operands accumulate in fp32 or fp16, not bf16"),
        (tl.bfloat16, tl.bfloat16, tl.float16, "bf16 operands accumulate in fp32, not fp16"),
        (tl.float16, tl.bfloat16, tl.float32, "operands are fp16 and bf16; they must have one type"),
    ],
)
def test_products_of_other_types(left, right, out, message):
    assert message in shown(dot_into, {"out": "*fp32"}, {"LEFT": left, "RIGHT": right, "OUT": out})


@tlx.jit
def slot_too_high(out):
    ring = tlx.local_alloc((64, 64), tl.float16, 3)
    tlx.local_store(ring[3], tl.zeros((64, 64), tl.float16))


@tlx.jit
def barrier_slot_too_high(out):
    bars = tlx.alloc_barriers(2)
    tlx.barrier_arrive(bars[2])


@tlx.jit
def whole_array(out):
    bars = tlx.alloc_barriers(2)
    tlx.barrier_wait(bars, 0)


@tlx.jit
def whole_ring(out):
    ring = tlx.local_alloc((64, 64), tl.float16, 3)
    tl.store(out, tl.sum(tlx.local_load(ring)))


@tlx.jit
def boolean_phase(out):
    bars = tlx.alloc_barriers(2)
    tlx.barrier_wait(bars[0], tl.program_id(0) > 0)


@tlx.jit
def run_time_bytes(out):
    bars = tlx.alloc_barriers(2)
    tlx.barrier_expect_bytes(bars[0], tl.program_id(0))


@tlx.jit
def reserved_barrier(out):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.named_barrier_arrive(3, 256)
        with tlx.async_task(num_warps=4, replicate=2):
            tlx.named_barrier_wait(3, 256)


@tlx.jit
def few_threads(out):
    tlx.named_barrier_wait(9, 64)


@tlx.jit
def wrong_dtype(out):
    ring = tlx.local_alloc((64, 64), tl.float16, 1)
    tlx.local_store(ring[0], tl.zeros((64, 64), tl.float32))


@tlx.jit
def bad_slice(out):
    ring = tlx.local_alloc((64, 64), tl.float16, 1)
    tlx.local_slice(ring[0], [48, 0], [32, 64])


@tlx.jit
def reinterpreted_slice(out):
    ring = tlx.local_alloc((64, 64), tl.float16, 1)
    tlx.local_reinterpret(tlx.local_slice(ring[0], [0, 0], [64, 32]), tl.int16)


@tlx.jit
def row_of_a_swizzled_tile(out):
    tile = tlx.local_alloc((64, 64), tl.float16, 1)
    tl.store(out + tl.arange(0, 64), tlx.local_load(tlx.local_view(tile[0], 3)))


@tlx.jit
def reused_but_larger(out):
    small = tlx.local_alloc((64, 64), tl.float16, 1)
    tlx.local_alloc((64, 64), tl.float32, 1, reuse=small)


@tlx.jit
def loaded_into_another_shape(out):
    desc = tl.make_tensor_descriptor(out, [64, 64], [64, 1], [64, 64])
    tile = tlx.local_alloc((32, 64), tl.float16, 1)
    bars = tlx.alloc_barriers(1)
    tlx.async_descriptor_load(desc, tile[0], [0, 0], bars[0])


@tlx.jit
def narrow_copy(out):
    offsets = tl.arange(0, 128)
    tile = tlx.local_alloc((128,), tl.float16, 1)
    tlx.async_load(out + offsets * 3, tile[0])
    tlx.async_load_commit_group()


@tlx.jit
def not_available(out):
    tlx.amd_mfma_commit(out)


@tlx.jit
def block_pointer(out):
    tl.make_block_ptr(out, (64,), (1,), (0,), (64,), (0,))


@pytest.mark.parametrize(
    ("kernel", "message", "line"),
    [
        (slot_too_high, "slot 3 is out of range: there are 3", "ring[3]"),
        (barrier_slot_too_high, "slot 2 is out of range: there are 2", "bars[2]"),
        (whole_array, "write bars[slot]", "tlx.barrier_wait(bars, 0)"),
        (whole_ring, "write buf[slot]", "tlx.local_load(ring)"),
        (boolean_phase, "not a boolean", "tlx.barrier_wait"),
        (run_time_bytes, "must be a compile-time int", "tlx.barrier_expect_bytes"),
        (
            reserved_barrier,
            "named barrier 3 belongs to the compiler here (it uses 0, 1, 2, 3)",
            "named_barrier_arrive(3",
        ),
        (few_threads, "include this task's own 128", "named_barrier_wait(9, 64)"),
        (wrong_dtype, "local_store of fp32 into a buffer of fp16", "tlx.local_store"),
        (bad_slice, "32 from 48 is no aligned part of 64", "tlx.local_slice"),
        (reinterpreted_slice, "not a slice or a transposed view", "tlx.local_reinterpret"),
        (row_of_a_swizzled_tile, "swizzled by 128 bytes do not lie together", "tlx.local_view(tile[0], 3)"),
        (reused_but_larger, "the buffer has 8192 bytes, 16384 are needed", "reuse=small"),
        (loaded_into_another_shape, "[64, 64]", "tlx.async_descriptor_load"),
        (not_available, "tlx.amd_mfma_commit is not available: ", "tlx.amd_mfma_commit"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_values(kernel, message, line):
    refuse(kernel, message, line)


def test_cp_async_narrower_than_four_bytes():
    with pytest.raises(tlx.TLXError, match=r"test_errors.py:\d+:\n +tlx.async_load\(.*\n +\^\n.*only 2 bytes per"):
        tlx.compile(narrow_copy, {"out": "*fp16"})


def shown(kernel, signature, constants=None, **options):
    """What the author reads."""
    with pytest.raises((tlx.TLXError, CompilationError)) as caught:
        tlx.compile(kernel, signature, constants, **options)
    return str(caught.value)


@tlx.jit
def product_read_too_early(out, WHERE: tl.constexpr):
    a = tlx.local_alloc((64, 64), tl.float16, 2)
    acc = tl.zeros((64, 64), tl.float32)
    for _ in range(4):
        acc = tlx.async_dot(a[0], a[1], acc)
        if WHERE == "in the loop":
            tl.store(out, tl.sum(acc))
        if WHERE == "nowhere":
            acc = tlx.async_dot_wait(1, acc)
    if WHERE == "nowhere":
        acc = tlx.async_dot_wait(0, acc)
    if WHERE == "through a branch":
        if tl.program_id(0) > 0:
            acc = tlx.async_dot_wait(0, acc)
    if WHERE == "as an operand":
        acc = tlx.async_dot(acc.to(tl.float16), a[0])
        acc = tlx.async_dot_wait(0, acc)
    tl.store(out, tl.sum(acc))


@pytest.mark.parametrize("where", ["in the loop", "after the loop", "through a branch", "as an operand"])
def test_a_product_read_before_its_wait(where):
    text = shown(product_read_too_early, {"out": "*fp32"}, {"WHERE": where})
    assert "is read here while the tensor cores are still writing it" in text
    assert "thread it through async_dot_wait first" in text
    file, line, *_ = text.split("\n")[0].split(":")
    assert file.endswith("test_errors.py")
    assert int(line) > 0
    assert text.split("\n")[2].strip() == "^"


def test_a_product_that_is_waited_for():
    assert "wgmma.wait_group" in tlx.compile(product_read_too_early, {"out": "*fp32"}, {"WHERE": "nowhere"}).asm["ptx"]


@tlx.jit
def announces(desc, out, BYTES: tl.constexpr, LOADS: tl.constexpr):
    tiles = tlx.local_alloc((64, 64), tl.float16, 2)
    bars = tlx.alloc_barriers(2)
    tlx.barrier_expect_bytes(bars[0], BYTES)
    for i in tl.static_range(LOADS):
        tlx.async_descriptor_load(desc, tiles[i], [0, 0], bars[0])
    tlx.barrier_wait(bars[0], 0)
    tl.store(out, tl.sum(tlx.local_load(tiles[0])))


@pytest.mark.parametrize(("size", "loads"), [(8192, 1), (16384, 2), (0, 0)])
def test_announcements_that_come_true(size, loads):
    signature = {"desc": "tensordesc<fp16[64,64]>", "out": "*fp16"}
    tlx.compile(announces, signature, {"BYTES": size, "LOADS": loads})


@pytest.mark.parametrize(
    ("size", "loads", "why"),
    [
        (12288, 2, r"the copies bound to it bring 8192 \(line \d+\) bytes each, which never adds up"),
        (4096, 1, r"the copies bound to it bring 8192"),
        (8192, 0, "no copy in this kernel signals this barrier"),
    ],
)
def test_announcements_that_cannot_come_true(size, loads, why):
    signature = {"desc": "tensordesc<fp16[64,64]>", "out": "*fp16"}
    text = shown(announces, signature, {"BYTES": size, "LOADS": loads})
    assert f"barrier_expect_bytes announces {size} bytes" in text
    assert re.search(why, text)
    assert "tlx.barrier_expect_bytes(bars[0], BYTES)" in text.split("\n")[1]


def test_sums_of_copies():
    assert reachable(24, {8, 16})
    assert reachable(10, {4, 6})
    assert not reachable(2, {4, 6})
    assert not reachable(9, {4, 6})
    assert reachable(7, {3, 4})
    assert not reachable(5, {3, 4})


@tlx.jit
def one_id_two_counts(out):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.named_barrier_arrive(9, 256)
        with tlx.async_task(num_warps=4):
            tlx.named_barrier_wait(9, 128)


def test_a_named_barrier_with_two_counts():
    text = shown(one_id_two_counts, {"out": "*fp32"})
    assert "named barrier 9 is used with 128 threads here and with 256 elsewhere" in text
    assert "tlx.named_barrier_wait(9, 128)" in text


@tlx.jit
def too_much_memory(out, STAGES: tl.constexpr):
    a_ring = tlx.local_alloc((128, 64), tl.float16, STAGES)
    b_ring = tlx.local_alloc((64, 256), tl.float16, STAGES)
    unused = tlx.local_alloc((64, 64), tl.float16, 4)
    full = tlx.alloc_barriers(STAGES)
    tlx.local_store(unused[0], tl.zeros((64, 64), tl.float16))
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(full[0], 0)
            tl.store(out, tl.sum(tlx.local_load(a_ring[0])))
        with tlx.async_task(num_warps=4):
            tlx.local_store(a_ring[0], tl.zeros((128, 64), tl.float16))
            tlx.local_store(b_ring[0], tl.zeros((64, 256), tl.float16))
            tlx.barrier_arrive(full[0])


def test_more_shared_memory_than_there_is():
    tlx.compile(too_much_memory, {"out": "*fp16"}, {"STAGES": 4})
    text = shown(too_much_memory, {"out": "*fp16"}, {"STAGES": 5})
    assert "these buffers need 245800 bytes of shared memory at the same time, sm_90 has 232448" in text
    assert "b_ring 163840, a_ring 81920, full 40" in text
    assert "with tlx.async_tasks():" in text


@tlx.jit
def too_much_without_tasks(out, STAGES: tl.constexpr):
    small = tlx.local_alloc((64, 64), tl.float16, 1)
    tiles = tlx.local_alloc((128, 128), tl.float32, STAGES)
    tlx.local_store(small[0], tl.zeros((64, 64), tl.float16))
    tlx.local_store(tiles[tl.program_id(0)], tl.zeros((128, 128), tl.float32))
    tl.store(out, tl.sum(tlx.local_load(tiles[0])) + tl.sum(tlx.local_load(small[0])))


@tlx.jit
def too_much_staging(out):
    """What one line takes is named by the line if the line names nothing."""
    desc = tl.make_tensor_descriptor(out, [1024, 1024], [1024, 1], [128, 256])
    tile = tlx.local_alloc((128, 128), tl.float32, 3)
    tlx.local_store(tile[0], tl.zeros((128, 128), tl.float32))
    desc.store([0, 0], tl.zeros((128, 256), tl.float16) + tl.sum(tlx.local_load(tile[0])).to(tl.float16))
    tl.store(out, tl.sum(tlx.local_load(tile[1])).to(tl.float16))


def test_more_shared_memory_without_tasks():
    tlx.compile(too_much_without_tasks, {"out": "*fp32"}, {"STAGES": 3})
    place, line, caret, message = shown(too_much_without_tasks, {"out": "*fp32"}, {"STAGES": 4}).split("\n")
    number = int(place.rpartition("test_errors.py:")[2].rstrip(":"))
    assert line.strip() == "tiles = tlx.local_alloc((128, 128), tl.float32, STAGES)"
    assert caret.strip() == "^"
    assert "too_much_without_tasks needs 270336 bytes of shared memory, sm_90 has 232448" in message
    assert f": tiles 262144 (line {number}), small 8192 (line {number - 1}). Take fewer stages" in message


def test_more_shared_memory_in_lines_that_name_no_buffer():
    place, line, _, message = shown(too_much_staging, {"out": "*fp16"}).split("\n")
    number = int(place.rpartition("test_errors.py:")[2].rstrip(":"))
    assert line.strip() == "tile = tlx.local_alloc((128, 128), tl.float32, 3)"
    assert f": tile 196608 (line {number}), 65536 (line {number + 2})" in message


def test_errors_name_their_file():
    text = shown(slot_too_high, {"out": "*fp16"})
    first = text.split("\n")[0]
    file, _, line = first.rpartition(":")
    assert file.endswith("test_errors.py")
    assert "ring[3]" in Path(file).read_text().split("\n")[int(line) - 1]


@pytest.mark.skipif(hasattr(tl.core, "_block_ptr"), reason="this Triton makes block pointers of pointers by itself")
def test_block_pointers():
    with pytest.raises(CompilationError, match=r"block.?p(oin)?t"):
        tlx.compile(block_pointer, {"out": "*fp16"})


def test_builtins_need_a_tlx_kernel():
    import triton

    @triton.jit
    def plain(out):
        tlx.named_barrier_wait(9, 128)

    with pytest.raises(CompilationError, match=r"decorated with tlx\.jit, not triton\.jit"):
        tlx.compile(plain, {"out": "*fp16"})
    with pytest.raises(tlx.TLXError, match=r"only be called from a kernel"):
        tlx.fence_async_shared()


def test_compile_names_what_is_missing():
    with pytest.raises(tlx.TLXError, match=r"unknown parameters \['x'\], without type \['out'\]"):
        tlx.compile(slot_too_high, {"x": "i32"})
    with pytest.raises(tlx.TLXError, match="unknown target"):
        tlx.compile(slot_too_high, {"out": "*fp16"}, target="h100")
    with pytest.raises(tlx.TLXError, match="compiled for Hopper"):
        tlx.compile(slot_too_high, {"out": "*fp16"}, target="sm_80")
