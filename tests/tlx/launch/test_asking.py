"""What the guard is asked with, where decorators have a say in its arguments."""

import pytest
import triton

import tlx.launch as launch
from tests.tlx.launch import kernels
from tests.tlx.launch.fakes import BF16, TILES, Memory, grid_of, operands
from tests.tlx.launch.test_tuning import fastest

REST = {name: value for name, value in TILES.items() if name != "BLOCK_K"}


def limited(ACTIVATION, **arguments):
    """A guard of a kernel whose depth is no argument of the call's."""
    launch.require(ACTIVATION != 0, "refused", "nothing to add up")
    return kernels.guard(**{**arguments, "K": ACTIVATION})


def depths(bench):
    return [entry.arguments["a_desc"].shape[1] for entry in bench.log if entry.kernel == "specialized"]


def test_heuristics_replace_a_default(bench):
    """The parameter is "" where nobody sets it."""
    heuristic = triton.heuristics({"ACTIVATION": lambda named: named["K"] // 2})
    kernel = bench.bind(heuristic, guard=limited)
    for K in (256, 256, 512):
        kernel[grid_of](*operands(K=K), **TILES)
    assert depths(bench) == [128, 128, 256]
    assert kernel.resolve(*operands(K=256), grid=grid_of, **TILES).kwargs["a_desc"].shape[1] == 128


def test_heuristics_give_what_the_call_does_not(bench):
    def guard(BLOCK_K, **arguments):
        assert BLOCK_K == 64
        return kernels.guard(**arguments)

    kernel = bench.bind(triton.heuristics({"BLOCK_K": lambda named: 64}), guard=guard)
    assert kernel[grid_of](*operands(), **REST) == "specialized"


def test_heuristics_may_go_by_what_no_description_of_a_launch_tells(bench):
    heuristic = triton.heuristics({"ACTIVATION": lambda named: named["a_ptr"].shape[1]})
    kernel = bench.bind(heuristic, guard=limited)
    for K in (128, 64, 128):
        args = operands()
        args[0] = Memory(args[0].address, (512, K))
        kernel[grid_of](*args, **TILES)
    assert depths(bench) == [128, 64, 128]


def test_heuristics_that_fail_are_reported_by_the_original(bench):
    kernel = bench.bind(triton.heuristics({"ACTIVATION": lambda named: named["nothing"]}), guard=limited)
    with pytest.raises(KeyError, match="nothing"):
        kernel[grid_of](*operands(), **TILES)


@pytest.mark.parametrize("inside", [True, False])
def test_each_config_is_asked_about(bench, inside):
    """One fixes what the guard reads, one leaves the default, which the guard would not take."""
    configs = [triton.Config({**TILES, "ACTIVATION": depth}, num_warps=8, num_stages=3) for depth in (64, 128, 0)]

    def decorate(kernel):
        kernel = triton.heuristics({"BLOCK_K": lambda named: 64})(kernel) if inside else kernel
        return triton.autotune(configs, key=["M"], do_bench=fastest(bench.log))(kernel)

    kernel = bench.bind(decorate, guard=limited)
    for _ in range(2):
        assert kernel[grid_of](*operands()) == "specialized"
    assert {(entry.arguments["ACTIVATION"], entry.arguments["a_desc"].shape[1]) for entry in bench.log} == {
        (64, 64),
        (128, 128),
    }
    for config in configs[:2]:
        found = kernel.resolve(*operands(), grid=grid_of, config=config)
        assert found.kwargs["a_desc"].shape[1] == config.kwargs["ACTIVATION"]
    assert kernel.resolve(*operands(), grid=grid_of, config=configs[2]).code == "refused"


def test_configs_that_the_guard_refuses_are_the_original_s(bench):
    configs = [triton.Config({**TILES, "ACTIVATION": 0, "BLOCK_N": width}, num_warps=8) for width in (64, 128)]
    kernel = bench.bind(triton.autotune(configs, key=["M"], do_bench=fastest(bench.log)), guard=limited)
    assert kernel[grid_of](*operands()) == "original"
    assert launch.stats()[f"{kernels.__name__}.matmul"].fallbacks == {"refused": 1}


def test_a_config_of_ours_is_asked_about_too(bench):
    """All configs of the source say the same: what they say holds for them alone."""

    def guard(BLOCK_K, **arguments):
        launch.require(BLOCK_K == 64, "refused", "the source has no other")
        return kernels.guard(**arguments)

    ours = {**TILES, "BLOCK_K": 32, "num_warps": 8, "num_stages": 4}
    schedule = launch.Schedule(persistent=True, split="BLOCK_M", output=("BLOCK_M", "BLOCK_N"), configs=[ours])
    tuned = triton.autotune([triton.Config(TILES, num_warps=8)], key=["M"], do_bench=fastest(bench.log))
    kernel = bench.bind(tuned, guard=guard, schedule=schedule)
    assert kernel[grid_of](*operands(dtype=BF16)) == "specialized"
    assert {entry.arguments["BLOCK_K"] for entry in bench.log} == {64}


def test_a_guard_that_reads_none_of_it_is_asked_once(bench):
    asked = []

    def guard(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn, **_):
        asked.append(M)
        return kernels.guard(
            a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn
        )

    configs = [triton.Config({**TILES, "BLOCK_N": width}, num_warps=8) for width in (64, 128)]
    kernel = bench.bind(triton.autotune(configs, key=["M"], do_bench=fastest(bench.log)), guard=guard)
    for _ in range(3):
        kernel[grid_of](*operands())
    assert asked == [512]


def test_a_storage_that_bounds_an_axis_is_noted_whichever_config_is_asked_about(bench):
    class Stored(Memory):
        size = 512 * 256 * 2

        def untyped_storage(self):
            return type("Storage", (), {"data_ptr": lambda _: self.address, "nbytes": lambda _: self.size})()

    def guard(ACTIVATION, a_ptr, c_ptr, M, N, K, **rest):
        if ACTIVATION == "unmasked":
            a = launch.tma_view("a_ptr", a_ptr, shape=(None, K), strides=(K, 1))
            launch.require_disjoint("c_ptr", c_ptr, shape=(M, N), strides=(N, 1), reads=[a])
        return kernels.guard(a_ptr=a_ptr, c_ptr=c_ptr, M=M, N=N, K=K, **rest)

    configs = [triton.Config({**TILES, "ACTIVATION": text}, num_warps=8) for text in ("masked", "unmasked")]

    def later_is_faster(call, quantiles):
        call()
        return [-float(len(bench.log))] * 3

    kernel = bench.bind(triton.autotune(configs, key=["M"], do_bench=later_is_faster), guard=guard)
    args = operands()
    args[0] = Stored(args[0].address)
    kernel[grid_of](*args)
    assert bench.log[-1].arguments["ACTIVATION"] == "unmasked"
    # A larger allocation at the same address reaches into the output.
    args[0] = Stored(args[0].address)
    args[0].size = 1 << 24
    assert kernel[grid_of](*args) == "original"
