"""Launches of kernels whose callers make the descriptors: what is looked at, what is passed on, what is remembered."""

import gc
import weakref

import pytest
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import tlx.launch as launch
from tests.tlx.launch.fakes import BF16, FP16, FP32, Launch, Memory, Recording
from tlx.launch.guard import Fallback, memory, require_block, require_disjoint, require_dtypes, tma_view
from tlx.launch.record import described as recorded
from tlx.launch.record import key_of

BASE = 1 << 20


def described(address=BASE, shape=(512, 256), strides=None, block=(1, 1), dtype=FP16, **more):
    strides = [shape[-1], 1] if strides is None else strides
    return TensorDescriptor(Memory(address, shape, dtype), list(shape), list(strides), list(block), **more)


def source(a_desc, b_desc, c_desc, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    row, col = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        acc = tl.dot(a_desc.load([row, k]), b_desc.load([k, col]), acc)
    c_desc.store([row, col], acc.to(c_desc.dtype))


def converted(a_desc, b_desc, c_desc, K, BLOCK_M, BLOCK_N, BLOCK_K, STAGES, CONSUMER_WARPS, CONSUMER_REGISTERS):
    """Parameters only."""


def guard(a_desc, b_desc, c_desc, **_):
    a = launch.tma_view("a_desc", a_desc, shape=tuple(a_desc.shape), strides=tuple(a_desc.strides))
    b = launch.tma_view("b_desc", b_desc, shape=tuple(b_desc.shape), strides=tuple(b_desc.strides))
    launch.require_dtypes({"a_desc": a_desc, "b_desc": b_desc}, ("fp16", "bf16"))
    launch.require_disjoint("c_desc", c_desc, tuple(c_desc.shape), tuple(c_desc.strides), reads=(a, b))
    return {"a_desc": a, "b_desc": b}


def boxes(a_desc, b_desc, c_desc, BLOCK_M, BLOCK_N, BLOCK_K, **_):
    launch.require_block("a_desc", a_desc, (BLOCK_M, BLOCK_K))
    launch.require_block("b_desc", b_desc, (BLOCK_K, BLOCK_N))
    launch.require_block("c_desc", c_desc, (BLOCK_M, BLOCK_N))
    return {"a_desc": launch.Box((BLOCK_M, BLOCK_K)), "b_desc": launch.Box((BLOCK_K, BLOCK_N))}


def set_blocks(nargs):
    nargs["a_desc"].block_shape = [nargs["BLOCK_M"], nargs["BLOCK_K"]]
    nargs["b_desc"].block_shape = [nargs["BLOCK_K"], nargs["BLOCK_N"]]
    nargs["c_desc"].block_shape = [nargs["BLOCK_M"], nargs["BLOCK_N"]]


class Bound:
    """The source in its decorators, bound to its conversion, and what was launched."""

    def __init__(self, decorate=lambda kernel: kernel, asked=None):
        self.log: list[Launch] = []
        self.source = triton.jit(source)
        names = self.source.arg_names

        def original(*args, grid, warmup, **kwargs):
            self.log.append(Launch("original", {**dict(zip(names, args, strict=False)), **kwargs}, grid, {}))

        def asking(**arguments):
            if asked is not None:
                asked.append(arguments["M"])
            return guard(**arguments)

        self.source.run = original
        self.kernel = launch.specialized(
            decorate(self.source),
            Recording(converted, self.log),
            guard=asking,
            boxes=boxes,
            schedule=launch.Schedule(output=("BLOCK_M", "BLOCK_N")),
            fingerprint=None,
        )

    def launch(self, a=None, b=None, c=None, **options):
        a = described(block=(128, 64)) if a is None else a
        b = described(BASE << 1, (256, 512), block=(64, 128)) if b is None else b
        c = described(BASE << 2, (512, 512), block=(128, 128)) if c is None else c
        self.kernel[(4, 4)](a, b, c, 512, 512, 256, **options)
        return self.log[-1]


TILES = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "num_warps": 8, "num_stages": 3}


def test_what_is_read_ahead_gets_boxes_of_its_own_and_what_is_stored_is_passed_on(hopper):
    stored = described(BASE << 2, (512, 512), block=(128, 128))
    entry = Bound().launch(c=stored, **TILES)
    assert entry.kernel == "specialized"
    a = entry.arguments["a_desc"]
    assert (list(a.shape), list(a.strides), list(a.block_shape)) == ([512, 256], [256, 1], [128, 64])
    assert entry.arguments["c_desc"] is stored


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        pytest.param("block", {"a": described(block=(64, 64))}, id="blocks of half the rows"),
        pytest.param("block", {"c": described(BASE << 2, (512, 512), block=(128, 64))}, id="a result in halves"),
        pytest.param("padding", {"a": described(block=(128, 64), padding="nan")}, id="NaN outside"),
        pytest.param("overlap", {"c": described(BASE + 512, (512, 512), block=(128, 128))}, id="in place"),
        pytest.param("dtype", {"a": described(block=(128, 64), dtype=BF16)}, id="two dtypes"),
        pytest.param("guard-error", {"a": Memory(BASE)}, id="no descriptor"),
    ],
)
def test_what_does_not_fit_is_the_original_s(hopper, code, changes):
    bound = Bound()
    assert bound.launch(**changes, **TILES).kernel == "original"
    (stats,) = (each for name, each in launch.stats().items() if name.endswith("test_host_descriptors.source"))
    assert code in stats.fallbacks


def test_hooks_fill_in_blocks_config_by_config(hopper):
    tiles = {name: value for name, value in TILES.items() if name.startswith("BLOCK")}
    configs = [
        triton.Config({**tiles, "BLOCK_M": rows}, num_warps=4, num_stages=2, pre_hook=set_blocks) for rows in (64, 128)
    ]
    tried = []

    def fastest(call, quantiles):
        tried.append(call())
        return [float(len(tried))] * 3

    bound = Bound(triton.autotune(configs, key=["M"], do_bench=fastest))
    a, b = described(), described(BASE << 1, (256, 512))
    c = described(BASE << 2, (512, 512))
    entry = bound.launch(a, b, c)
    assert {each.kernel for each in bound.log} == {"specialized"}
    seen = {(each.arguments["BLOCK_M"], each.arguments["STAGES"]) for each in bound.log}
    assert {rows for rows, _ in seen} == {64, 128}
    assert len(seen) > 2, "depths of our own are tried although the blocks are not known before a config is"
    assert entry.arguments["c_desc"] is c
    assert list(c.block_shape) == [entry.arguments["BLOCK_M"], 128]


def test_a_launch_with_equal_descriptors_is_not_decided_again(hopper):
    asked: list[int] = []
    bound = Bound(asked=asked)
    for _ in range(3):
        bound.launch(**TILES)
    assert len(asked) == 1
    others = [
        {"a": described(BASE + 4096, block=(128, 64))},
        {"a": described(shape=(500, 256), block=(128, 64))},
        {"a": described(strides=(264, 1), block=(128, 64))},
        {"a": described(block=(64, 64))},
        {"a": described(block=(128, 64), padding="nan")},
        {"a": described(block=(128, 64), dtype=BF16)},
    ]
    for count, changes in enumerate(others, 2):
        bound.launch(**changes, **TILES)
        assert len(asked) == count, changes


def test_the_device_of_what_is_described_counts(hopper):
    class Placed(Memory):
        place = 0

        def get_device(self):
            return self.place

    def launched(tensor):
        bound.launch(a=TensorDescriptor(tensor, [512, 256], [256, 1], [128, 64]), **TILES)
        return len(asked)

    asked: list[int] = []
    bound = Bound(asked=asked)
    first, elsewhere = Placed(BASE), Placed(BASE)
    elsewhere.place = 1
    assert [launched(each) for each in (Memory(BASE), first, first, elsewhere)] == [1, 2, 2, 3]


def test_the_second_launch_passes_on_its_own_descriptor(hopper):
    bound = Bound()
    first, second = (described(BASE << 2, (512, 512), block=(128, 128)) for _ in range(2))
    bound.launch(c=first, **TILES)
    assert bound.launch(c=second, **TILES).arguments["c_desc"] is second


def test_no_descriptor_is_kept_alive(hopper):
    bound = Bound()
    tensor = Memory(BASE << 2, (512, 512))
    there = weakref.ref(tensor)
    bound.launch(c=TensorDescriptor(tensor, [512, 512], [512, 1], [128, 128]), **TILES)
    bound.log.clear()
    del tensor
    gc.collect()
    assert there() is None


def test_descriptors_are_the_tensors_that_they_describe():
    seen = tma_view("a", described(), (512, 256), (256, 1))
    assert (seen.shape, seen.bytes.first) == ((512, 256), BASE)
    require_dtypes({"a": described(), "b": Memory(0)}, ("fp16",))
    with pytest.raises(Fallback, match="a is fp32"):
        require_dtypes({"a": described(dtype=FP32)}, ("fp16",))
    with pytest.raises(Fallback, match="c is stored to where a is read"):
        require_disjoint("c", described(BASE + 64), (512, 256), (256, 1), reads=[seen])
    assert memory("a", described()).bytes.first == BASE


def test_blocks_that_are_still_to_be_set_are_not_looked_at():
    require_block("a", None, (128, 64))
    require_block("a", described(block=(128, 64)), [128, 64])
    with pytest.raises(Fallback, match=r"a has blocks of \[64, 64\], not of \[128, 64\]"):
        require_block("a", described(block=(64, 64)), (128, 64))
    with pytest.raises(Fallback, match="a is Memory, not a tensor descriptor"):
        require_block("a", Memory(0), (128, 64))


def test_a_record_tells_descriptors_by_what_they_describe():
    class Shy(Memory):
        def __repr__(self):
            raise AssertionError("the text of a tensor is what it holds")

    def shy(**more):
        return TensorDescriptor(Shy(BASE, (512, 256)), [512, 256], [256, 1], [128, 64], **more)

    keys = [key_of([each], {}, (1,)) for each in (shy(), shy(), shy(padding="nan"), described(block=(64, 64)))]
    assert (len(set(keys)), keys[0] == keys[1]) == (3, True)
    told = recorded(["a"], [shy()], {}, (1,))["arguments"]["a"]
    assert (told["block_shape"], told["base"]["dtype"]) == ([128, 64], "fp16")
