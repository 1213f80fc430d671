"""The table of attributes, row by row, and the name as others see it."""

import copy
import pickle
import re

import pytest
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.autotuner import Autotuner, Heuristics
from triton.runtime.jit import JITFunction

import tlx.launch as launch
from tests.tlx.launch import kernels
from tests.tlx.launch.fakes import TILES, Bench, grid_of, operands
from tlx.launch.attributes import ANSWERED, DISPATCHED, FORWARDED, REFUSED

DECORATED = {
    "jit": lambda kernel: kernel,
    "autotune": triton.autotune(
        [triton.Config(TILES, num_warps=8)], key=["M"], do_bench=lambda call, quantiles: [0.0] * 3
    ),
    "heuristics": triton.heuristics({"BLOCK_K": lambda named: 64}),
}


def bound(decorate):
    return Bench().bind(decorate)


@pytest.mark.parametrize("decorate", DECORATED.values(), ids=DECORATED)
def test_every_attribute_triton_has_is_in_the_table(decorate):
    original = bound(decorate).original
    known = DISPATCHED | ANSWERED | FORWARDED | REFUSED.keys()
    ordinary = set(dir(object())) | {"__weakref__", "__dict__", "__orig_bases__", "__parameters__", "__class_getitem__"}
    ordinary |= {
        "__init_subclass__",
        "_is_protocol",
        "__annotations__",
        "__firstlineno__",
        "__static_attributes__",
        "__slots__",
    }
    assert set(dir(original)) - known - ordinary == set()


ROWS = [
    (kind, name)
    for kind, decorate in DECORATED.items()
    for name in sorted(FORWARDED)
    if name in dir(bound(decorate).original)
]


@pytest.mark.parametrize(("kind", "name"), ROWS)
def test_forwarded(kind, name):
    kernel = bound(DECORATED[kind])
    # Bound methods are made anew at each look; they are equal if they are the same method of the same object.
    assert getattr(kernel, name) == getattr(kernel.original, name)


@pytest.mark.parametrize("name", sorted(ANSWERED))
def test_answered_by_whichever_tuner_ran_last(bench, name):
    def measure(call, quantiles):
        call()
        return [1.0] * len(quantiles)

    kernel = bench.bind(triton.autotune([triton.Config(TILES, num_warps=8)], key=["M"], do_bench=measure))
    assert not hasattr(kernel, name)
    kernel[grid_of](*operands())
    assert hasattr(kernel, name)
    assert not hasattr(kernel.original, name)
    kernel[grid_of](*operands(K=0))
    assert hasattr(kernel, name) is hasattr(kernel.original, name)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused_with_a_reason(name):
    kernel = bound(DECORATED["jit"])
    with pytest.raises((AttributeError, TypeError), match=REFUSED[name][:20]):
        getattr(kernel, name)(2)


@pytest.mark.parametrize("use", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_binding_is_not_copied(use):
    with pytest.raises(TypeError, match="pickled"):
        use(bound(DECORATED["jit"]))


def test_run_getitem_and_warmup_are_dispatched(bench):
    kernel = bench.bind()
    kernel[grid_of](*operands(), **TILES)
    kernel.run(*operands(), grid=grid_of, warmup=False, **TILES)
    kernel.run(*operands(), grid=grid_of, warmup=True, **TILES)
    kernel.warmup(*operands(), grid=grid_of, **TILES)
    assert bench.ran == ["specialized", "specialized", *["warmup", "warmup of the original"] * 2]


@pytest.mark.parametrize(("kind", "type_"), [("jit", JITFunction), ("autotune", Autotuner), ("heuristics", Heuristics)])
def test_it_is_an_instance_of_what_the_original_is(kind, type_):
    kernel = bound(DECORATED[kind])
    assert isinstance(kernel, type_)
    assert isinstance(kernel, launch.Specialized)
    assert callable(kernel) is callable(kernel.original)


def test_calling_a_kernel_without_a_grid_fails_as_it_did():
    with pytest.raises(RuntimeError, match="outside of the scope of a kernel"):
        bound(DECORATED["jit"])()


def test_setting_an_attribute_sets_it_on_the_original_and_decides_anew(bench):
    def measure(call, quantiles):
        call()
        return [1.0] * len(quantiles)

    kernel = bench.bind(triton.autotune([triton.Config(TILES, num_warps=8)], key=["M"], do_bench=measure))
    kernel[grid_of](*operands())
    kernel.configs = [triton.Config({**TILES, "BLOCK_N": 64}, num_warps=8)]
    assert kernel.original.configs is kernel.configs
    bench.log.clear()
    kernel[grid_of](*operands())
    assert {entry.arguments["BLOCK_N"] for entry in bench.log} == {64}
    with pytest.raises(AttributeError, match="launcher"):
        kernel.run = None


def test_binding_again_replaces():
    first = bound(DECORATED["autotune"])
    second = launch.specialized(
        first, first.converted, guard=kernels.guard, boxes=kernels.boxes, schedule=launch.Schedule(), fingerprint=None
    )
    assert second.original is first.original
    assert type(second.original) is Autotuner


def test_pre_run_hooks_run_on_either_path(bench):
    kernel = bench.bind()
    seen = []
    kernel.add_pre_run_hook(lambda *args, **kwargs: seen.append((args[3], kwargs["BLOCK_M"])))
    kernel[grid_of](*operands(), **TILES)
    assert seen == [(512, 128)]


@triton.jit
def scale(x, factor: tl.constexpr):
    return x * factor


plain_scale = scale
scale = launch.specialized(
    scale, None, guard=lambda **_: {}, boxes=lambda **_: {}, schedule=launch.Schedule(), fingerprint=None
)


@triton.jit
def calls_bound_helper(x_ptr, n: tl.constexpr):
    offsets = tl.arange(0, n)
    tl.store(x_ptr + offsets, scale(tl.load(x_ptr + offsets), 3))


@triton.jit
def calls_plain_helper(x_ptr, n: tl.constexpr):
    offsets = tl.arange(0, n)
    tl.store(x_ptr + offsets, plain_scale(tl.load(x_ptr + offsets), 3))


@triton.jit
def calls_argument(x_ptr, n: tl.constexpr, function: tl.constexpr):
    offsets = tl.arange(0, n)
    tl.store(x_ptr + offsets, function(tl.load(x_ptr + offsets), 3))


def compiled(kernel, **constants):
    signature = {"x_ptr": "*fp32", **dict.fromkeys(constants, "constexpr")}
    indices = {(kernel.arg_names.index(name),): value for name, value in constants.items()}
    source, target = ASTSource(kernel, signature, indices), GPUTarget("cuda", 90, 32)
    return triton.compile(source, target=target, options={"enable_fp_fusion": True}).asm["ptx"]


@pytest.mark.triton
def test_as_a_helper_of_a_jit_function_it_is_the_original():
    def instructions(ptx):
        lines = [re.sub(r"calls_[a-z_]+_param", "param", line.strip()) for line in ptx.splitlines()]
        return [line for line in lines if line.endswith(";") and not line.startswith((".", "//"))]

    mine = instructions(compiled(calls_bound_helper, n=128))
    assert any(line.startswith("mul.f32") for line in mine)
    assert mine == instructions(compiled(calls_plain_helper, n=128))
    assert mine == instructions(compiled(calls_argument, n=128, function=scale))


@pytest.mark.triton
def test_callers_depend_on_the_helper_s_source():
    # The helper's source is part of the caller's hash whether it is bound or not.
    assert scale.cache_key == plain_scale.cache_key
    assert calls_bound_helper.cache_key != calls_plain_helper.cache_key
