"""Tensors over numpy arrays: what launchers ask of them, and how accesses past their ends are caught."""

import ml_dtypes
import numpy as np
import pytest
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import tlx
from tlx.sim import tensor


def test_views_share_addresses():
    base = tensor(np.zeros((8, 16), np.float16))
    assert base.data_ptr() % 256 == 0
    assert base.stride() == (16, 1)
    view = base[2:, 3:]
    assert view.data_ptr() == base.data_ptr() + 2 * (2 * 16 + 3)
    assert view.T.stride() == (1, 16)
    assert view.T.shape == (13, 6)
    assert (view.numel(), view.element_size(), view.dtype, view.dtype.itemsize) == (78, 2, "fp16", 2)
    assert tensor(base.array).data_ptr() == base.data_ptr()
    assert tensor(base.array[1:]).data_ptr() == base.data_ptr() + 32


@pytest.mark.parametrize(
    ("dtype", "name"),
    [(ml_dtypes.bfloat16, "bf16"), (np.float32, "fp32"), (ml_dtypes.float8_e4m3fn, "fp8e4nv"), (np.uint8, "u8")],
)
def test_names_of_types(dtype, name):
    assert tensor(np.zeros(3, dtype)).dtype == name


def test_types_that_triton_lacks():
    with pytest.raises(TypeError, match="complex64"):
        tensor(np.zeros(3, np.complex64))
    with pytest.raises(TypeError, match="expected an array"):
        tensor([1, 2])


def test_a_descriptor_can_be_built_over_a_view():
    view = tensor(np.zeros((8, 16), np.float16))[:, 8:]
    desc = TensorDescriptor(view, list(view.shape), list(view.stride()), [4, 8])
    assert desc.strides == [16, 1]
    with pytest.raises(AssertionError, match="16-byte aligned"):
        TensorDescriptor(view[:, 1:], [8, 7], [16, 1], [4, 8])


@triton.jit
def copy(x, out, first, BLOCK: tl.constexpr):
    at = first + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at))


@pytest.mark.parametrize("first", [-1, 9, 10**6])
def test_accesses_outside_are_found_and_harmless(first):
    x, out = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    report = tlx.sim.run(copy, (1,), (x, out, first), {"BLOCK": 8})
    assert report.codes == {"global-out-of-bounds"}
    assert {f.site.text for f in report.findings} == {"tl.store(out + at, tl.load(x + at))"}
    inside = slice(max(first, 0), max(min(first + 8, 16), 0))
    np.testing.assert_array_equal(out[inside], x[inside])


def test_a_neighbouring_tensor_is_out_of_bounds_too():
    store = np.zeros((2, 16), np.float32)
    first, second = store[0].copy(), store[1].copy()
    report = tlx.sim.run(copy, (1,), (first, second, 12), {"BLOCK": 8})
    assert report.codes == {"global-out-of-bounds"}


def test_a_view_may_reach_into_its_base():
    base = np.arange(32, dtype=np.float32)
    out = np.zeros(32, np.float32)
    report = tlx.sim.run(copy, (1,), (base[8:12], out[8:], 0), {"BLOCK": 8})
    assert report.ok
    np.testing.assert_array_equal(out[8:16], base[8:16])


def test_an_exact_tensor_ends_where_its_elements_do():
    base, out = np.zeros(64, np.float32), np.zeros(8, np.float32)
    view = base[17:25]
    exact = tensor(view, exact=True)
    assert exact.data_ptr() % 16 == tensor(view).data_ptr() % 16 == 4
    assert tlx.sim.run(copy, (1,), (exact, out, 0), {"BLOCK": 8}).ok
    assert tlx.sim.run(copy, (1,), (exact[2:], out, 0), {"BLOCK": 8}).codes == {"global-out-of-bounds"}
    assert tlx.sim.run(copy, (1,), (view[2:], out, 0), {"BLOCK": 8}).ok


@pytest.mark.parametrize("first", [0, 5, 17, 64])
def test_an_exact_tensor_without_elements_begins_where_it_would_have_any(first):
    base = np.zeros(64, np.float32)
    # As a padded row of a tensor with no rows: its strides say nothing of where it lies.
    view = np.ndarray((0, 2), np.float32, base, first * 4, (128, 4))
    exact = tensor(view, exact=True)
    assert exact.data_ptr() % 256 == first * 4 % 256
    assert exact.untyped_storage().nbytes() == 0


class Storage:
    """What we use of torch's storages."""

    def __init__(self, array):
        self.array = array

    def data_ptr(self):
        return self.array.ctypes.data

    def nbytes(self):
        return self.array.nbytes


class TorchLike:
    """What we use of torch's tensors: a bf16 view into a storage."""

    dtype = "torch.bfloat16"

    class device:
        type = "cpu"

    def __init__(self, storage, shape, stride, offset):
        self.storage, self.shape, self.steps, self.offset = storage, shape, stride, offset

    def untyped_storage(self):
        return self.storage

    def storage_offset(self):
        return self.offset

    def stride(self):
        return self.steps

    def data_ptr(self):
        return self.storage.data_ptr() + 2 * self.offset


def test_tensors_over_one_storage_share_it():
    memory = np.arange(24).astype(ml_dtypes.bfloat16)
    storage = Storage(memory)
    whole, part = TorchLike(storage, (4, 6), (6, 1), 0), TorchLike(storage, (5, 2), (1, 6), 13)
    assert tensor(part).data_ptr() == tensor(whole).data_ptr() + 26
    assert tensor(part).dtype == "bf16"
    np.testing.assert_array_equal(tensor(part).numpy().astype(int), np.arange(24).reshape(4, 6)[2:, 1:].T)
    tlx.sim.run(copy, (1,), (whole, part, 0), {"BLOCK": 8}).raise_for_findings()
    np.testing.assert_array_equal(memory[13:21].astype(int), np.arange(8))


def test_tensors_on_a_gpu_are_refused():
    class OnGpu(TorchLike):
        class device:
            type = "cuda"

    with pytest.raises(TypeError, match="on the CPU"):
        tensor(OnGpu(Storage(np.zeros(4, np.int16)), (4,), (1,), 0))


def test_torch_tensors_on_the_cpu():
    torch = pytest.importorskip("torch")
    x, out = torch.arange(8, dtype=torch.bfloat16), torch.zeros(8, dtype=torch.bfloat16)
    tlx.sim.run(copy, (1,), (x, out, 0), {"BLOCK": 8}).raise_for_findings()
    assert torch.equal(x, out)
