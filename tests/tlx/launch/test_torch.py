"""torch's tensors, and torch recording programs. CPU only: what would need a GPU is pretended or not reached."""

import gc
import logging
import weakref

import pytest
import triton

import tlx.launch as launch
from tests.tlx.launch import kernels
from tests.tlx.launch.fakes import TILES, grid_of
from tlx.launch import chip
from tlx.launch.guard import tma_view

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def measure(call, quantiles):
    call()
    return [1.0] * len(quantiles)


DECORATED = {
    "jit": (lambda kernel: kernel, TILES),
    "autotune": (triton.autotune([triton.Config(TILES, num_warps=8)], key=["M"], do_bench=measure), {}),
}


def arguments(a, b, c):
    (M, K), N = a.shape, b.shape[1]
    return (a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride())


def half(*shape):
    return torch.zeros(shape, dtype=torch.float16)


def test_tensors_are_described_by_address_dtype_and_strides(bench):
    kernel = bench.bind()
    a, weight, c = half(512, 256), half(384, 256), half(512, 384)
    kernel[grid_of](*arguments(a, weight.T, c), **TILES)
    descriptor = bench.log[0].arguments["b_desc"]
    assert descriptor.base.data_ptr() == weight.data_ptr()
    assert (list(descriptor.shape), list(descriptor.strides)) == ([384, 256], [256, 1])
    assert bench.log[0].arguments["B_TRANSPOSED"] is True
    assert bench.log[0].arguments["c_ptr"] is c


def test_torch_tensors_are_not_kept_alive(bench):
    kernel = bench.bind()
    tensors = [half(512, 256), half(256, 512), half(512, 512)]
    kernel[grid_of](*arguments(*tensors), **TILES)
    bench.log.clear()
    watched = [weakref.ref(tensor) for tensor in tensors]
    tensors.clear()
    gc.collect()
    assert [ref() for ref in watched] == [None] * 3


def test_an_unmasked_axis_ends_with_the_storage():
    tensor = half(64, 32)
    view = tma_view("x", tensor[32:], (None, 32), tensor.stride())
    assert (view.bytes.first, view.bytes.end) == (tensor[32:].data_ptr(), tensor.data_ptr() + 64 * 32 * 2)


def test_interleaved_views_overlap(bench):
    kernel = bench.bind()
    both = half(512, 512)
    kernel[grid_of](*arguments(both[:, :256], half(256, 256), both[:, 256:]), **TILES)
    assert bench.ran == ["original"]


def test_tensors_of_another_device_run_the_original(monkeypatch):
    monkeypatch.setattr(chip, "current_device", lambda: 0)
    refusal = chip.refusal([("a_ptr", half(4, 4))])
    assert (refusal.code, "a_ptr is on cpu" in refusal.text) == ("device", True)


def test_tensors_without_memory_run_the_original(bench):
    from torch._subclasses.fake_tensor import FakeTensorMode

    kernel = bench.bind()
    with FakeTensorMode():
        kernel[(4,)](*arguments(half(512, 256), half(256, 512), half(512, 512)), **TILES)
    assert bench.ran == ["original"]
    assert launch.stats()[f"{kernels.__name__}.matmul"].fallbacks == {"tracing": 1}


@pytest.mark.parametrize("kind", DECORATED)
@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_torch_compile_records_the_original(bench, monkeypatch, caplog, kind, fullgraph):
    # Dynamo looks for kernels only where torch finds a GPU that Triton can use.
    monkeypatch.setattr("torch.utils._triton.has_triton", lambda: True)
    caplog.set_level(logging.INFO, "tlx")
    decorate, tiles = DECORATED[kind]
    kernel = bench.bind(decorate)
    recorded = []

    def backend(module, example_inputs):
        recorded.extend(node for node in module.graph.nodes if "triton_kernel" in str(node.target))
        return module.forward

    def product(a, b):
        c = torch.empty(a.shape[0], b.shape[1], dtype=a.dtype)
        kernel[grid_of](*arguments(a, b, c), **tiles)
        return c.fill_(1.0)

    torch._dynamo.reset()
    compiled = torch.compile(product, backend=backend, fullgraph=fullgraph)
    for _ in range(2):
        assert torch.equal(compiled(half(512, 256), half(256, 512)), torch.ones(512, 512, dtype=torch.float16))
    (node,) = recorded
    assert node.kwargs["kwargs"].keys() >= {"a_ptr", "b_ptr", "c_ptr"}
    told = [record.getMessage() for record in caplog.records if "tracing" in record.getMessage()]
    assert len(told) == 1


@pytest.mark.parametrize("kind", DECORATED)
def test_wrap_triton_records_the_original(bench, kind):
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.library import wrap_triton

    decorate, tiles = DECORATED[kind]
    kernel = bench.bind(decorate)

    def product(a, b):
        c = torch.empty(a.shape[0], b.shape[1], dtype=a.dtype)
        wrap_triton(kernel)[grid_of](*arguments(a, b, c), **tiles)
        return c

    traced = make_fx(product, tracing_mode="fake")(half(512, 256), half(256, 512))
    assert any("triton_kernel_wrapper" in str(node.target) for node in traced.graph.nodes)
    assert bench.log == []
