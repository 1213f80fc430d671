"""Nothing is measured on the caller's memory that the source would not have measured there."""

import contextlib

import pytest
import triton
import triton.language as tl

import tlx.launch as launch
from tests.tlx.launch import fakes
from tests.tlx.launch.fakes import TILES, Memory, grid_of, operands
from tests.tlx.launch.test_tuning import fastest

pytestmark = pytest.mark.triton

ONE = [triton.Config(TILES, num_warps=8, num_stages=3)]
TWO = [*ONE, triton.Config({**TILES, "BLOCK_N": 256}, num_warps=8, num_stages=3)]


@triton.jit
def adds(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, ACTIVATION: tl.constexpr = "",
):  # fmt: skip
    """Parts of the depth are added up in memory."""
    at = tl.arange(0, BLOCK_M)
    tl.atomic_add(c_ptr + at, tl.load(a_ptr + at) + tl.load(b_ptr + at))


@triton.jit
def in_place(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, ACTIVATION: tl.constexpr = "",
):  # fmt: skip
    """C += A @ B."""
    there = c_ptr + tl.arange(0, BLOCK_M)
    tl.store(there, tl.load(there) + tl.load(a_ptr) + tl.load(b_ptr))


@triton.jit
def by_table(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, ACTIVATION: tl.constexpr = "",
):  # fmt: skip
    """Where it stores to, memory says."""
    tl.store(tl.load(c_ptr).to(tl.pointer_type(tl.float16)), tl.load(a_ptr) + tl.load(b_ptr))


@triton.jit
def with_bias(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, ACTIVATION: tl.constexpr = "", d_ptr=None,
):  # fmt: skip
    """D is added if there is one."""
    at = tl.arange(0, BLOCK_M)
    value = tl.load(a_ptr + at) + tl.load(b_ptr + at)
    if d_ptr is not None:
        value += tl.load(d_ptr + at)
    tl.store(c_ptr + at, value.to(c_ptr.dtype.element_ty))


@pytest.fixture
def bound(bench, monkeypatch):
    def bind(kernel, configs=ONE, **settings):
        monkeypatch.setattr(fakes, "fresh_source", lambda: triton.jit(kernel.fn))
        tuned = triton.autotune(configs, key=["M"], do_bench=fastest(bench.log), **settings)
        return bench.bind(tuned, fingerprint=None)

    return bind


def launched(bench, kernel, **named):
    bench.log.clear()
    kernel[grid_of](*operands(), **named)
    return bench.ran


@pytest.mark.parametrize("kernel", [adds, in_place, by_table])
def test_with_one_config_such_a_kernel_runs_once(bench, bound, kernel):
    found = bound(kernel)
    for _ in range(3):
        assert launched(bench, found) == ["specialized"]
        assert bench.log[0].arguments["STAGES"] == 3


def test_one_that_only_stores_is_measured_and_told_by_its_bias(bench, bound):
    assert len(launched(bench, bound(with_bias))) > 1
    assert len(launched(bench, bound(with_bias), d_ptr=Memory(1 << 28))) > 1
    # D is C: what one run leaves the next one reads.
    assert launched(bench, bound(with_bias), d_ptr=operands()[2]) == ["specialized"]


@pytest.mark.parametrize("kernel", [adds, in_place])
def test_with_several_the_source_s_tuner_measures_as_often_as_ever(bench, bound, kernel):
    alone = triton.autotune(TWO, key=["M"], do_bench=fastest(bench.log))(bound(kernel).original.fn)
    bench.log.clear()
    alone[grid_of](*operands())
    usual = bench.ran
    found = bound(kernel, TWO)
    assert launched(bench, found) == usual
    for _ in range(2):
        assert launched(bench, found) == ["specialized"]
        assert bench.log[0].arguments["BLOCK_N"] == found.original.best_config.kwargs["BLOCK_N"]
    # The key knows nothing of layouts, so the source would not measure again.
    found[(8,)](*operands())
    assert bench.ran == ["specialized"] * 2


def test_what_the_tuner_restores_may_be_measured(bench, bound):
    class Output(Memory):
        def clone(self):
            return self

        def copy_(self, other):
            pass

        def zero_(self):
            cleared.append(self)

    cleared = []
    args = operands()
    args[2] = Output(args[2].address)
    bound(adds, restore_value=["c_ptr"])[grid_of](*args)
    assert len(bench.log) > 1
    bench.log.clear()
    # With one config the source clears nothing.
    bound(adds, reset_to_zero=["c_ptr"])[grid_of](*args)
    assert (bench.ran, cleared) == (["specialized"], [])
    bench.log.clear()
    bound(adds, TWO, reset_to_zero=["c_ptr"])[grid_of](*args)
    assert bench.ran == ["specialized"] * 5


@pytest.mark.parametrize("hook", ["of the tuner", "of the config"])
def test_hooks_that_the_source_would_not_call_are_not_called(bench, bound, hook):
    calls = []

    def called(named, **_):
        calls.append(named["M"])

    if hook == "of the tuner":
        kernel = bound(with_bias, pre_hook=called)
    else:
        kernel = bound(with_bias, [triton.Config(TILES, num_warps=8, num_stages=3, pre_hook=called)])
    assert launched(bench, kernel) == ["specialized"]
    assert calls == ([] if hook == "of the tuner" else [512])


def test_a_tuner_inside_another_is_left_alone(bench, monkeypatch):
    monkeypatch.setattr(fakes, "fresh_source", lambda: triton.jit(adds.fn))

    def decorate(kernel):
        inner = triton.autotune([triton.Config({"BLOCK_K": 64})], key=["M"])(kernel)
        rest = {name: value for name, value in TILES.items() if name != "BLOCK_K"}
        return triton.autotune([triton.Config(rest)], key=["M"], do_bench=fastest(bench.log))(inner)

    kernel = bench.bind(decorate, fingerprint=None)
    # Both give num_warps: Triton's own complaint.
    with contextlib.suppress(TypeError):
        launched(bench, kernel)
    assert "specialized" not in bench.ran
    assert launch.stats()[f"{__name__}.adds"].fallbacks == {"unrepeatable": 1}
