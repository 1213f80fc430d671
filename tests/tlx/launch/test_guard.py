"""Views, byte ranges, requirements: the vocabulary of a generated guard."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.tlx.launch.fakes import BF16, FP16, FP32, DType, Memory
from tlx.launch.guard import (
    TO_END,
    UNBOUNDED,
    Fallback,
    copied_rows,
    memory,
    require,
    require_along_depth,
    require_disjoint,
    require_dtypes,
    require_starts,
    tma_view,
)
from tlx.launch.pointers import ByteRange, byte_range, dtype_name, noting_storage

BASE = 1 << 20


def view(shape, strides, dtype=FP16, base=BASE):
    return tma_view("x", Memory(base, dtype=dtype), shape, strides)


def refusal(*args, **kwargs):
    with pytest.raises(Fallback) as caught:
        view(*args, **kwargs)
    assert "x" in caught.value.text
    return caught.value.code


@pytest.mark.parametrize(
    ("shape", "strides", "transposed"),
    [
        ((64, 32), (32, 1), False),
        ((64, 32), (1, 64), True),
        ((64, 32), (40, 1), False),
        ((4, 64, 32), (2048, 32, 1), False),
        ((4, 64, 32), (2048, 1, 64), True),
        ((2, 3, 4, 64, 32), (24576, 8192, 2048, 32, 1), False),
        ((128,), (1,), False),
    ],
)
def test_either_major_is_readable(shape, strides, transposed):
    found = view(shape, strides)
    assert (found.transposed, found.shape, found.strides) == (transposed, shape, strides)
    descriptor = found.descriptor([1] * (len(shape) - 2) + [16, 8][-len(shape) :])
    assert isinstance(descriptor, TensorDescriptor)
    assert descriptor.strides[-1] == 1
    assert sorted(descriptor.shape) == sorted(shape)


@pytest.mark.parametrize(
    ("shape", "strides", "transposed"),
    [
        ((1, 100), (100, 1), False),
        ((1, 100), (7, 1), False),
        ((100, 1), (1, 1), True),
        ((100, 1), (8, 5), False),
        ((1, 64, 32), (3, 32, 1), False),
        ((1, 64, 32), (0, 32, 1), False),
    ],
)
def test_strides_of_axes_with_one_element_do_not_matter(shape, strides, transposed):
    found = view(shape, strides)
    assert found.transposed is transposed
    found.descriptor([1] * len(shape))


@pytest.mark.parametrize(
    ("code", "shape", "strides"),
    [
        ("no-unit-stride", (64, 32), (64, 2)),
        ("no-unit-stride", (64, 32, 16), (1, 64, 2048)),
        ("unaligned-stride", (64, 33), (33, 1)),
        ("unaligned-stride", (63, 32), (1, 63)),
        ("unaligned-stride", (2, 64, 32), (2049, 32, 1)),
        ("stride-sign", (64, 32), (0, 1)),
        ("stride-sign", (64, 32), (-32, 1)),
        ("stride-range", (64, 32), (1 << 39, 1)),
        ("empty", (0, 32), (32, 1)),
        ("empty", (-4, 32), (32, 1)),
        ("extent-range", (1 << 31, 32), (32, 1)),
        ("rank", (), ()),
        ("rank", (2,) * 6, (32, 16, 8, 4, 2, 1)),
    ],
)
def test_what_the_tma_cannot_read(code, shape, strides):
    assert refusal(shape, strides) == code


def test_base_and_strides_are_judged_in_bytes():
    assert refusal((64, 32), (32, 1), base=BASE + 8) == "unaligned-base"
    assert view((64, 4), (4, 1), dtype=FP32).strides == (4, 1)
    assert refusal((64, 4), (4, 1), dtype=FP16) == "unaligned-stride"
    assert refusal((64, 8), (8, 1), dtype=DType("float8_e4m3fn", 1)) == "unaligned-stride"


@pytest.mark.parametrize("value", [None, 3, "x", [1]])
def test_only_pointers_are_viewed(value):
    with pytest.raises(Fallback) as caught:
        tma_view("x", value, (64, 32), (32, 1))
    assert caught.value.code == "not-a-pointer"


def test_an_unbounded_axis_clips_nothing():
    assert view((None, 32), (32, 1)).shape == (UNBOUNDED, 32)


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(-9, 9)), min_size=1, max_size=4),
    st.sampled_from([1, 2, 4]),
)
def test_byte_range_is_exactly_the_bytes_touched(axes, itemsize):
    shape, strides = zip(*axes, strict=True)
    offsets = {0}
    for extent, stride in axes:
        offsets = {offset + index * stride for offset in offsets for index in range(extent)}
    found = byte_range(Memory(BASE, dtype=DType("x", itemsize)), shape, strides)
    expected = (BASE + min(offsets) * itemsize, BASE + (max(offsets) + 1) * itemsize)
    assert (found.first, found.end) == expected


def test_an_empty_tensor_has_no_bytes():
    assert not byte_range(Memory(BASE), (0, 5), (5, 1)).overlaps(ByteRange(0, math.inf))


def test_an_unbounded_axis_ends_with_its_storage():
    class Storage:
        def data_ptr(self):
            return BASE

        def nbytes(self):
            return 4096

    class Stored(Memory):
        def untyped_storage(self):
            return Storage()

    assert byte_range(Stored(BASE + 64), (None, 32), (32, 1)) == ByteRange(BASE + 64, BASE + 4096)
    assert byte_range(Memory(BASE), (None, 32), (32, 1)).end == math.inf
    assert byte_range(Stored(BASE + 64), (None, 32), (-32, 1)).first == BASE


@pytest.mark.parametrize(
    ("offset", "strides", "overlaps"),
    [
        (64 * 32 * 2, (32, 1), False),
        (64 * 32 * 2 - 2, (32, 1), True),
        (-64 * 32 * 2, (32, 1), False),
        (-64 * 32 * 2 + 2, (32, 1), True),
        (64, (64, 1), True),
        (64 * 32 * 2, (-32, 1), True),
        (64 * 32 * 2 * 2, (-32, 1), False),
        (0, (0, 1), True),
    ],
)
def test_stores_must_stay_clear_of_what_is_read(offset, strides, overlaps):
    read = view((64, 32), (32, 1))
    stored = Memory(BASE + offset)
    if not overlaps:
        require_disjoint("c", stored, (64, 32), strides, reads=[read])
        return
    with pytest.raises(Fallback, match="c is stored to where x is read") as caught:
        require_disjoint("c", stored, (64, 32), strides, reads=[read])
    assert caught.value.code == "overlap"


def test_no_store_no_overlap():
    require_disjoint("c", None, (64, 32), (32, 1), reads=[view((64, 32), (32, 1))])


def test_scalars_that_are_read_must_not_be_stored_to():
    counts = memory("counts", Memory(BASE))
    with pytest.raises(Fallback, match="c is stored to where counts is read"):
        require_disjoint("c", Memory(BASE + 64), (64, 32), (32, 1), reads=[counts])
    require_disjoint("c", Memory(BASE), (64, 32), (32, 1), reads=[memory("none", None)])


@pytest.mark.parametrize(("strides", "lies_across"), [((32, 1), False), ((1, 64), True)])
@pytest.mark.parametrize("dtype", [DType("float8_e4m3fn", 1), FP16], ids=str)
def test_bytes_lie_along_the_contracted_axis(strides, lies_across, dtype):
    pointer = Memory(BASE, dtype=dtype)
    seen = tma_view("a", pointer, (64, 32), strides)
    require_along_depth(seen, transposed=lies_across)
    if dtype is FP16:
        require_along_depth(seen, transposed=not lies_across)
        return
    with pytest.raises(Fallback, match="a is not contiguous along the axis that its dot contracts") as caught:
        require_along_depth(seen, transposed=not lies_across)
    assert caught.value.code == "depth-stride"


@pytest.mark.parametrize(("strides", "contiguous", "other"), [((64, 1), -1, -2), ((1, 64), -2, -1)])
@pytest.mark.parametrize(("dtype", "whole"), [(DType("float8_e4m3fn", 1), 16), (FP16, 8)], ids=str)
def test_tiles_start_at_whole_16_bytes_along_the_contiguous_axis(strides, contiguous, other, dtype, whole):
    seen = tma_view("a", Memory(BASE, dtype=dtype), (64, 64), strides)
    require_starts(seen, axis=other, steps=(1, 3))
    require_starts(seen, axis=contiguous, steps=(whole, 3 * whole, 0))
    with pytest.raises(Fallback, match="tiles of a start at any multiple of 4 elements") as caught:
        require_starts(seen, axis=contiguous, steps=(whole, 4))
    assert caught.value.code == "tile-start"


def test_dtypes():
    half, other, single = Memory(0), Memory(0, dtype=BF16), Memory(0, dtype=FP32)
    require_dtypes({"a": half, "b": half}, ("fp16", "bf16"))
    require_dtypes({"a": half, "b": other}, ("fp16", "bf16"), same=False)
    for pointers, words in (({"a": half, "b": single}, "b is fp32"), ({"a": half, "b": other}, "the dtypes differ")):
        with pytest.raises(Fallback, match=words) as caught:
            require_dtypes(pointers, ("fp16", "bf16"))
        assert caught.value.code == "dtype"


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        ("torch.float16", "fp16"),
        ("torch.bfloat16", "bf16"),
        ("torch.float8_e4m3fn", "fp8e4nv"),
        ("float8_e5m2", "fp8e5"),
        ("torch.int8", "i8"),
        ("fp32", "fp32"),
        ("quint4x2", "quint4x2"),
    ],
)
def test_dtypes_have_triton_s_names(dtype, name):
    assert dtype_name(dtype) == name


def test_require_names_code_and_text():
    require(True, "code", "text")
    with pytest.raises(Fallback, match="code: text"):
        require(False, "code", "text")


class Allocation:
    """What lies behind a tensor."""

    def __init__(self, first: int, size: int) -> None:
        self.first, self.size = first, size

    def data_ptr(self) -> int:
        return self.first

    def nbytes(self) -> int:
        return self.size


def stored(elements, before=0):
    """A tensor of fp16 with so many elements from its first to the end of its storage, and `before` ahead of it."""
    tensor = Memory(BASE)
    tensor.untyped_storage = lambda: Allocation(BASE - 2 * before, 2 * (before + elements))
    return tensor


@pytest.mark.parametrize(
    ("elements", "shape", "strides", "rows"),
    [
        pytest.param(64 * 40, (TO_END, 32), (40, 1), 64, id="whole rows"),
        pytest.param(64 * 40 - 8, (TO_END, 32), (40, 1), 64, id="the last row without its gap"),
        pytest.param(64 * 40 - 9, (TO_END, 32), (40, 1), 63, id="the last row lacks an element"),
        pytest.param(64 * 64, (2, TO_END, 32), (32, 64, 1), 64, id="two heads in a row"),
        pytest.param(64 * 64 - 1, (2, TO_END, 32), (32, 64, 1), 63, id="the last head lacks an element"),
        pytest.param(3 * 4096, (3, TO_END, 32), (4096, 32, 1), 128, id="matrices one after the other"),
        pytest.param(8 * 16, (8, TO_END), (1, 8), 16, id="columns"),
    ],
)
def test_an_axis_goes_on_as_far_as_its_memory_does(elements, shape, strides, rows):
    with noting_storage() as noted:
        seen = tma_view("x", stored(elements, before=24), shape, strides)
    assert [e for e, wanted in zip(seen.shape, shape, strict=True) if wanted is TO_END] == [rows]
    assert seen.bytes.end <= BASE + 2 * elements
    assert len(noted) == 1, "the next launch must look at the storage again"


@pytest.mark.parametrize(
    ("code", "shape", "strides"),
    [
        pytest.param("storage-unknown", (None, TO_END, 32), (4096, 32, 1), id="who knows how many matrices"),
        pytest.param("storage-unknown", (TO_END, TO_END), (32, 1), id="two open ends"),
        pytest.param("stride-sign", (TO_END, 32), (-32, 1), id="backwards"),
        pytest.param("stride-sign", (TO_END, 32), (0, 1), id="on the spot"),
        pytest.param("empty", (4, TO_END, 32), (4096, 32, 1), id="not one row"),
    ],
)
def test_an_axis_without_an_end_in_sight_is_the_original_s(code, shape, strides):
    with pytest.raises(Fallback) as caught:
        tma_view("x", stored(4096), shape, strides)
    assert caught.value.code == code


def test_a_pointer_that_does_not_tell_its_storage_is_the_original_s():
    with pytest.raises(Fallback, match="x does not say where its memory ends"):
        view((TO_END, 32), (32, 1))


@pytest.mark.parametrize("steps", [(), (32,), (64, (3, 16)), ((16, 5), 0)])
def test_rows_that_threads_can_copy(steps):
    rows = copied_rows("x", Memory(BASE), unit=1, steps=steps)
    assert (rows.itemsize, rows.bytes.first) == (2, BASE)
    with pytest.raises(Fallback, match="stored to where x is read"):
        require_disjoint("c", Memory(BASE + 64), (4, 4), (4, 1), reads=[rows])


@pytest.mark.parametrize(
    ("pointer", "unit", "steps", "code"),
    [
        (7, 1, (), "not-a-pointer"),
        (Memory(BASE + 2), 1, (), "unaligned-base"),
        (Memory(BASE), 40, (), "no-unit-stride"),
        (Memory(BASE), 1, (16, 24), "copy-step"),
        # 4 * 4 is a multiple of 16, but Triton is told of each argument alone.
        (Memory(BASE), 1, ((4, 4),), "copy-step"),
    ],
)
def test_rows_that_threads_cannot_copy(pointer, unit, steps, code):
    with pytest.raises(Fallback) as caught:
        copied_rows("x", pointer, unit=unit, steps=steps)
    assert caught.value.code == code
    assert "x" in caught.value.text
