"""Arguments of the wrong kind, and Python that kernels cannot use, are refused in words and at the user's line."""

from __future__ import annotations

import importlib.util
import sys

import pytest

pytest.importorskip("triton")

from triton.compiler.errors import CompilationError

import tlx
from tlx.lowering import versions

pytestmark = pytest.mark.triton

HEAD = "import triton\nimport triton.language as tl\nimport tlx\n\n"
RING = "ring = tlx.local_alloc((64, 64), tl.float16, 2)"
BARS = "bars = tlx.alloc_barriers(1)"
POOL = "pool = tlx.storage_alias_spec()"
MEMBER = "tlx.local_alloc((64,), tl.float32, 1, reuse=pool)"
APART = "tlx.reuse_group(a, b, group_type=tlx.reuse_group_type.distinct)"
MEMBERS = f"{POOL}; a = {MEMBER}; b = {MEMBER}; pool.set_buffer_overlap({APART})"
LINE = "line = tlx.local_alloc((128,), tl.float32, 1)"
FP32 = "tile = tlx.local_alloc((64, 64), tl.float32, 1)"
COPY = f"{RING}; {BARS}"
MASKED = "tlx.async_load(out + tl.arange(0, 128), line[0], mask=tl.arange(0, 128) < n"
KINDS = "a = tlx.alloc_barriers(1); b = tlx.alloc_warp_barrier(1)"

#: statements before, the wrong line, the message
WRONG = [
    # ---- kinds of values --------------------------------------------------------------------------------------------
    ("", "tlx.local_alloc((64, 64), tl.float16, n)", "num must be a compile-time int, not a run-time int32"),
    ("", "tlx.local_alloc((64, 64), tl.float16, 0)", "num"),
    ("", "tlx.local_alloc((n, 64), tl.float16, 1)", "shape of local_alloc must be a compile-time int"),
    ("", "tlx.local_alloc((64, 64), tl.int1, 1)", "a tile cannot hold booleans: store them as int8"),
    ("", "tlx.local_alloc((64, 64), 'fp16', 1)", "takes an element type, not 'fp16'"),
    ("", "tlx.local_alloc((64, 48), tl.float16, 1)", "must be powers of two, not [64, 48]"),
    (RING, "tlx.local_store(ring[0], ring[1])", "buffer<fp16[64, 64]> is no number and no block: local_load reads"),
    (RING, "ring + 1", "unsupported operand type(s) for +: 'buffered_tensor' and 'int'"),
    (RING, "tlx.local_load(tl.zeros((64, 64), tl.float16))", "local_load takes a buffer view, not a block of fp16"),
    (RING, "tlx.local_load(ring[1.5])", "a slot number must be an integer scalar"),
    (RING, "tlx.barrier_wait(ring[0], 0)", "barrier_wait takes an mbarrier, not a value of type buffer<fp16[64, 64]>"),
    (BARS, "tlx.barrier_wait(bars[0], 1.0)", "the phase of barrier_wait must be an integer scalar, not 1.0"),
    (BARS, "tlx.barrier_wait(bars[0], tl.arange(0, 2))", "must be an integer scalar, not a block of int32"),
    (BARS, "tlx.barrier_wait(bars[0], 2)", "the phase of barrier_wait is 0 or 1, not 2"),
    (BARS, "tlx.barrier_wait(bars[0], 0, tl.arange(0, 2) > 0)", "pred must be a boolean scalar, not a block of int1"),
    (BARS, "tlx.barrier_arrive(bars[0], n)", "arrive_count must be a compile-time int, not a run-time int32"),
    ("", "tlx.named_barrier_wait(9, 4096)", "a CTA has at most 1024 threads, not 4096"),
    ("", "tlx.async_load_wait_group(-1)", "pendings must not be negative, it is -1"),
    ("", "tlx.async_descriptor_store_wait(-1)", "pendings must not be negative, it is -1"),
    (RING, "tlx.async_dot_wait(-1, tlx.async_dot(ring[0], ring[1]))", "pendings must not be negative, it is -1"),
    (
        COPY,
        "tlx.async_descriptor_load(out, ring[0], [0, 0], bars[0])",
        "takes a tensor descriptor, not a run-time pointer<fp32>",
    ),
    (
        COPY,
        "tlx.async_descriptor_load(desc, ring[0], [0.0, 0.0], bars[0])",
        "an offset of a descriptor must be an integer scalar, not 0.0",
    ),
    (
        COPY,
        "tlx.async_descriptor_load(desc, ring[0], [0], bars[0])",
        "the descriptor has 2 dimensions, 1 offsets were given",
    ),
    (COPY, "tlx.async_descriptor_load(desc, ring[0], [0, 0], bars)", "write bars[slot]"),
    (
        LINE,
        "tlx.async_load(out + tl.arange(0, 128), line[0], mask=tl.arange(0, 128))",
        "must be a block of booleans, not a block of int32",
    ),
    (
        LINE,
        f"{MASKED}, other=7.0)",
        "async_load fills masked elements with 0, and other is 7.0: cp.async knows no other",
    ),
    (LINE, f"{MASKED}, other=-0.0)", "async_load fills masked elements with 0, and other is -0.0"),
    (LINE, f"{MASKED}, other=n)", "async_load fills masked elements with 0, and other is a run-time int32"),
    (LINE, f"{MASKED}, other=0.0 + n)", "and other is a run-time fp32"),
    (LINE, f"{MASKED}, other=tl.full((128,), 1.0, tl.float32))", "and other is a block of fp32"),
    (
        "small = out.to(tl.pointer_type(tl.float8e4nv))",
        "tlx.make_tensor_descriptor(None, small, [64, 64], [64, 1], [64, 64], padding_option='nan')",
        "the TMA moves fp8e4nv as bytes, which it can fill with 0 only",
    ),
    (
        FP32,
        "tlx.async_dot(tile[0], tlx.local_trans(tile[0]), input_precision='ieee')",
        "input_precision is \"tf32\", not 'ieee'",
    ),
    ("", "tlx.get_bufidx_phase(n, 0)", "a ring has at least one buffer, not 0"),
    (POOL, "pool.set_buffer_overlap(tlx.reuse_group())", "a reuse_group needs at least one member"),
    # ---- values that change their kind ------------------------------------------------------------------------------
    (KINDS, "for _ in range(n): a, b = b, a", "before the loop and warp mbarrier<1 x int64[1]> after"),
    (KINDS + "; i = 0", "while i < n: a, b, i = b, a, i + 1", "a is mbarrier<1 x int64[1]> before the loop"),
    (KINDS + "; c = (a, n); d = (b, n)", "for _ in range(n): c, d = d, c", "c is"),
    (MEMBERS, "for _ in range(n): a, b = b, a", "of a pool before the loop"),
    (POOL, "helper(pool)", "a storage_alias_spec stays in the function that made it"),
    # ---- tasks ------------------------------------------------------------------------------------------------------
    ("", "tlx.async_tasks()", "do nothing by themselves: open them in a with statement"),
    # ---- Python -----------------------------------------------------------------------------------------------------
    ("", "for i in [1, 2]: tl.store(out + i, 1.0)", "kernels loop over range, tl.range or tl.static_range"),
    ("", "for i, j in tl.range(3): tl.store(out + i, 1.0)", "a loop of a kernel counts in one name"),
    ("", "tl.store(out, nowhere)", "nowhere is not defined"),
    ("", "tlx.no_such_name(out)", "module 'tlx' has no attribute 'no_such_name'"),
    ("", "tl.store(out, ordinary(n))", "ordinary is an ordinary Python function"),
]

HELPERS = """
def ordinary(n):
    return n


@triton.jit
def helper(pool):
    tile = tlx.local_alloc((64,), tl.float32, 1, reuse=pool)
    tlx.local_store(tile[0], 1.0)


"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A function from statements to the module with the kernel that holds them."""

    def load(*lines):
        path = tmp_path / "wrong_kinds_module.py"
        body = "".join(f"    {line}\n" for line in lines if line)
        path.write_text(f"{HEAD}{HELPERS}@tlx.jit\ndef kernel(out, n, desc):\n{body}")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        made = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, path.stem, made)
        spec.loader.exec_module(made)
        return made, path

    return load


SIGNATURE = {"out": "*fp32", "n": "i32", "desc": "tensordesc<fp16[64,64]>"}


@pytest.mark.parametrize(("before", "line", "message"), WRONG, ids=lambda value: value[:40])
def test_message_and_line(before, line, message, module):
    made, path = module(before, line)
    with pytest.raises((CompilationError, tlx.TLXError)) as caught:
        tlx.compile(made.kernel, SIGNATURE)
    text = str(caught.value)
    assert message in text
    assert "object at 0x" not in text
    first = text.split("\n")[0]
    file, number = first.rstrip(":").rsplit(":", 1)
    assert file == str(path)
    assert line in path.read_text().split("\n")[int(number) - 1]


@pytest.mark.parametrize(
    "other",
    [
        "0",
        "0.0",
        "False",
        "None",
        "tl.constexpr(0)",
        "zero",
        "zero.to(tl.float16)",
        "tl.zeros([128], tl.float32)",
        "tl.zeros_like(block)",
        "tl.full((128,), 0.0, tl.float32)",
    ],
)
def test_a_fill_of_zero(other, module):
    made, _ = module(
        LINE,
        "zero = 0.0",  # a tensor, as Triton reads it
        "block = tl.full((128,), 1.0, tl.float32)",
        f"{MASKED}, other={other})",
        "tlx.async_load_commit_group()",
    )
    assert "cp.async" in tlx.compile(made.kernel, SIGNATURE, divisible_by_16=["out"]).asm["ptx"]


@pytest.mark.skipif(versions.VERSION > (3, 6), reason="newer releases of Triton read tuples inside of tuples")
def test_tuples_that_triton_cannot_read(module):
    made, path = module("a, (b, c) = n, (n, n)", "tl.store(out, b)")
    with pytest.raises(tlx.TLXError, match="take them apart one after the other") as caught:
        tlx.compile(made.kernel, SIGNATURE)
    assert str(caught.value).startswith(
        f"{path}:{path.read_text()[: path.read_text().index('a, (b')].count(chr(10)) + 1}:"
    )


def test_more_threads_than_a_cta_has(module):
    made, _ = module(
        "with tlx.async_tasks():",
        "    with tlx.async_task('default'):",
        "        tl.store(out, 1.0)",
        "    with tlx.async_task(num_warps=16, replicate=2):",
        "        tl.store(out, 2.0)",
    )
    with pytest.raises(CompilationError, match="the tasks have 1152 threads, a CTA has at most 1024"):
        tlx.compile(made.kernel, SIGNATURE)


@pytest.mark.parametrize("kind", ["*fp99", 3, "nonsense"])
def test_a_signature_without_types(kind, module):
    made, _ = module("tl.store(out, 1.0)")
    with pytest.raises(tlx.TLXError, match="is no type for out: write it like"):
        tlx.compile(made.kernel, {**SIGNATURE, "out": kind})


def test_a_kernel_that_could_not_be_read_can_be_tried_again(module):
    made, _ = module("tl.store(out, tlx.no_such_name)")
    for _ in range(2):
        with pytest.raises((CompilationError, tlx.TLXError), match="has no attribute"):
            tlx.compile(made.kernel, SIGNATURE)
