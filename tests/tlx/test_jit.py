"""``tlx.jit`` is Triton's jit: the same launch path, decorators, descriptors and cache (as far as a CPU can tell)."""

from __future__ import annotations

import pytest

pytest.importorskip("triton")

import triton
import triton.language as tl
from triton.runtime import driver
from triton.runtime.jit import JITFunction, MockTensor
from triton.tools.tensor_descriptor import TensorDescriptor

import tlx
from tests.tlx.fork import NoGpu
from tests.tlx.kernels.gemm_ws import gemm_ws
from tlx.lowering import source, versions

pytestmark = pytest.mark.triton


@pytest.fixture
def launcher(monkeypatch):
    monkeypatch.setattr(driver, "_active", NoGpu(90))
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")  # newer Tritons warn about its absence


class Half(str):
    itemsize = 2


class FakeTensor(MockTensor):
    """A tensor with a shape, aligned on 16 bytes."""

    def __init__(self, dtype, shape):
        super().__init__(dtype, shape)
        self.device = "cuda"

    def data_ptr(self):
        return 16


def matrices(block_m, block_n, block_k):
    a, b, c = (FakeTensor(Half("torch.float16"), shape) for shape in ((512, 256), (256, 512), (512, 512)))
    return (
        TensorDescriptor(a, [512, 256], [256, 1], [block_m // 2, block_k]),
        TensorDescriptor(b, [256, 512], [512, 1], [block_k, block_n]),
        c,
    )


TILE = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8, "ACTIVATION": "", "STAGES": 2}


def test_launch_path_with_host_descriptors(launcher):
    kernel = gemm_ws.warmup(*matrices(128, 128, 64), 512, 512, 256, 512, 1, **TILE, grid=(16,))
    assert "ttng.warp_group_dot" in kernel.asm["ttgir"]
    assert kernel.metadata.num_warps == 12
    assert len(kernel.metadata.tensordesc_meta) == 2
    # A second launch with the same types is the cached kernel.
    again = gemm_ws.warmup(*matrices(128, 128, 64), 512, 512, 256, 512, 1, **TILE, grid=(16,))
    assert again is kernel


def test_specialisation_reaches_the_kernel(launcher):
    kernel = gemm_ws.warmup(*matrices(128, 128, 64), 512, 512, 256, 512, 1, **TILE, grid=(16,))
    # stride 1 is a constant, so each thread stores 16 bytes of a row of C at once.
    assert "st.global.v4" in kernel.asm["ptx"]


def test_decorators():
    def set_blocks(arguments):
        arguments["a_desc"].block_shape = [arguments["BLOCK_M"] // 2, arguments["BLOCK_K"]]

    configs = [
        triton.Config({**TILE, "BLOCK_N": n}, num_warps=4, num_stages=1, pre_hook=set_blocks) for n in (128, 256)
    ]
    tuned = triton.autotune(configs=configs, key=["M"])(gemm_ws)
    guessed = triton.heuristics({"STAGES": lambda arguments: 2})(gemm_ws)
    assert tuned.fn is gemm_ws
    assert tuned.arg_names == gemm_ws.arg_names
    assert guessed.fn is gemm_ws
    # The offline compiler looks through both.
    signature = {
        "a_desc": "tensordesc<fp16[64,64]>",
        "b_desc": "tensordesc<fp16[64,128]>",
        "c_ptr": "*fp16",
        **dict.fromkeys(("M", "N", "K", "stride_cm", "stride_cn"), "i32"),
    }
    assert tlx.compile(tuned, signature, TILE).name == "gemm_ws"


def test_options_of_jit():
    @tlx.jit(do_not_specialize=["n"], repr=lambda specialization: "renamed")
    def kernel(out, n):
        tl.store(out, n)

    assert tlx.compile(kernel, {"out": "*i32", "n": "i32"}).name == "renamed"
    assert [p.do_not_specialize for p in kernel.params] == [False, True]


def test_the_cache_key_contains_tlx(monkeypatch):
    @tlx.jit
    def kernel(out):
        tl.store(out, 1)

    before = source.TLXASTSource(kernel, {"out": "*i32"}).hash()
    assert before == source.TLXASTSource(kernel, {"out": "*i32"}).hash()
    monkeypatch.setattr(source, "fingerprint", lambda: "another tlx")
    assert before != source.TLXASTSource(kernel, {"out": "*i32"}).hash()


@pytest.mark.parametrize("installed", ["3.5.1", "3.0.0", "garbage"])
def test_unsupported_triton_is_one_clear_error(installed):
    with pytest.raises(ImportError, match=f"3.6 or newer; this is {installed}"):
        versions.check(installed)


def test_supported_tritons():
    assert versions.check("3.6.0") == (3, 6)
    assert versions.check("3.10.0+git1234") == (3, 10)
    assert versions.check(triton.__version__) == versions.VERSION


def test_a_launch_is_tritons_own():
    from tlx.adopted import AdoptedJITFunction
    from tlx.lowering.jit import TLXJITFunction

    for kind in (TLXJITFunction, AdoptedJITFunction):
        assert kind.run is JITFunction.run
        assert kind.__getitem__ is JITFunction.__getitem__
