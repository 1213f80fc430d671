"""Which kernel runs, and with what."""

import gc
import logging
import weakref

import pytest
import triton

import tlx.launch as launch
from tests.tlx.launch import kernels
from tests.tlx.launch.fakes import BF16, FP32, TILES, DType, Memory, grid_of, operands
from tlx.launch import chip
from tlx.launch.guard import Fallback


def test_fast_path_gets_descriptors_flags_grid_and_rings(bench):
    kernel = bench.bind()
    args = operands(M=1000, N=500, K=256)
    assert kernel[grid_of](*args[:6], 256, 1, 504, 1, 500, 1, **TILES, num_warps=8, num_stages=4) == "specialized"
    (entry,) = bench.log
    a, b = entry.arguments["a_desc"], entry.arguments["b_desc"]
    assert (list(a.shape), list(a.strides), list(a.block_shape)) == ([1000, 256], [256, 1], [64, 64])
    assert (list(b.shape), list(b.strides), list(b.block_shape)) == ([256, 500], [504, 1], [64, 128])
    assert entry.arguments["c_ptr"] is args[2]
    assert entry.arguments["GRID_0"] == 8 * 4
    assert entry.grid == (32,)
    expected = {"STAGES": 4, "CONSUMERS": 2, "CONSUMER_WARPS": 4, "CONSUMER_REGISTERS": 232, "A_TRANSPOSED": False}
    assert expected.items() <= entry.arguments.items()
    assert entry.options == {"num_warps": 4}


def test_column_major_operand_swaps_the_axes_of_its_descriptor(bench):
    kernel = bench.bind()
    args = operands()
    kernel[grid_of](*args[:6], 256, 1, 1, 256, 512, 1, **TILES, num_warps=8)
    b = bench.log[0].arguments["b_desc"]
    assert bench.log[0].arguments["B_TRANSPOSED"] is True
    assert (list(b.shape), list(b.strides), list(b.block_shape)) == ([512, 256], [256, 1], [128, 64])


def test_four_warps_mean_one_group_and_two_ctas_per_sm_where_they_fit(bench):
    kernel = bench.bind()
    args = operands(M=8192, N=8192)
    kernel[grid_of](*args, **TILES, num_warps=4, num_stages=2)
    entry = bench.log[0]
    assert entry.options == {"num_warps": 4, "maxnreg": 128}
    assert entry.grid == (264,)
    kernel[grid_of](*args, **TILES, num_warps=4, num_stages=4)
    assert bench.log[1].grid == (132,)


def refused(**changes):
    names = ("a_ptr", "b_ptr", "c_ptr", "M", "N", "K", "am", "ak", "bk", "bn", "cm", "cn")
    return list({**dict(zip(names, operands(), strict=True)), **changes}.values())


@pytest.mark.parametrize(
    ("code", "args"),
    [
        ("no-unit-stride", refused(am=512, ak=2)),
        ("unaligned-stride", refused(K=251, am=251)),
        ("unaligned-base", refused(a_ptr=Memory((1 << 20) + 2))),
        ("overlap", refused(c_ptr=Memory((1 << 20) + 512))),
        ("empty", refused(K=0)),
        ("dtype", refused(a_ptr=Memory(1 << 20, dtype=FP32), am=256)),
        ("dtype", refused(a_ptr=Memory(1 << 20, dtype=BF16))),
        ("not-a-pointer", refused(a_ptr=None)),
    ],
)
def test_a_failed_guard_runs_the_original_and_says_why(bench, code, args):
    kernel = bench.bind()
    for _ in range(3):
        assert kernel[grid_of](*args, **TILES) == "original"
    snapshot = launch.stats()[f"{kernels.__name__}.matmul"]
    assert (snapshot.launches, snapshot.fast, snapshot.fallbacks) == (3, 0, {code: 3})
    assert bench.log[0].arguments["M"] == args[3]


def test_each_reason_is_logged_once(bench, caplog):
    caplog.set_level(logging.INFO, "tlx")
    kernel = bench.bind()
    for K in (0, 0, 0):
        kernel[grid_of](*operands(K=K), **TILES)
    kernel[grid_of](*refused(am=512, ak=2), **TILES)
    assert [record.message.split(": ")[2] for record in caplog.records] == ["empty", "no-unit-stride"]


def test_an_empty_grid_launches_nothing(bench):
    kernel = bench.bind()
    assert kernel[(0,)](*operands(), **TILES) is None
    assert bench.log == []


def test_a_grid_of_more_axes_than_the_plan_runs_the_original(bench):
    kernel = bench.bind()
    kernel[(16, 1)](*operands(), **TILES)
    kernel[(16, 2)](*operands(), **TILES)
    assert bench.ran == ["specialized", "original"]


def test_without_persistence_the_grid_is_the_source_s(bench):
    def plain(a_desc, b_desc, c_ptr, M, N, K, stride_cm, stride_cn, BLOCK_M, BLOCK_N, BLOCK_K, ACTIVATION,
              A_TRANSPOSED, B_TRANSPOSED, STAGES, CONSUMERS, CONSUMER_WARPS, CONSUMER_REGISTERS):  # fmt: skip
        """Parameters only."""

    kernel = bench.bind(converted=plain, schedule=launch.Schedule(split="BLOCK_M"))
    kernel[(16, 3)](*operands(), **TILES)
    assert bench.log[0].grid == (16, 3)


def test_second_launch_asks_the_guard_no_more_and_builds_nothing_anew(bench):
    asked = []

    def counting(**arguments):
        asked.append(arguments["M"])
        return kernels.guard(**arguments)

    kernel = bench.bind(guard=counting)
    args = operands()
    for _ in range(3):
        kernel[grid_of](*args, **TILES)
    assert asked == [512]
    assert bench.log[0].arguments["a_desc"] is bench.log[2].arguments["a_desc"]


@pytest.mark.parametrize(
    "change",
    [
        lambda args: [Memory(1 << 26), *args[1:]],
        lambda args: [Memory(args[0].address, dtype=BF16), Memory(args[1].address, dtype=BF16), *args[2:]],
        lambda args: [*args[:3], 256, *args[4:]],
    ],
    ids=["address", "dtype", "size"],
)
def test_another_address_dtype_or_size_is_another_launch(bench, change):
    kernel = bench.bind()
    args = operands()
    other = change(args)
    for launched in (args, other, args):
        kernel[grid_of](*launched, **TILES)
    first, second, third = (entry.arguments["a_desc"] for entry in bench.log)
    assert first is third
    assert first is not second
    assert second.base.data_ptr() == other[0].data_ptr()
    assert second.base.dtype == other[0].dtype
    assert second.shape[0] == other[3]


def test_one_true_and_one_point_zero_are_different_constexprs(bench):
    kernel = bench.bind()
    args = operands()
    for value in (1, True, 1.0):
        kernel[grid_of](*args, **TILES, ACTIVATION=value)
    assert [repr(entry.arguments["ACTIVATION"]) for entry in bench.log] == ["1", "True", "1.0"]


@pytest.mark.parametrize("by_name", [False, True])
def test_no_tensor_is_kept_alive(bench, by_name):
    kernel = bench.bind()
    args = operands()
    if by_name:
        names = bench.source.arg_names
        kernel[grid_of](**dict(zip(names, args, strict=False)), **TILES)
    else:
        kernel[grid_of](*args, **TILES)
    assert bench.ran == ["specialized"]
    watched = [weakref.ref(tensor) for tensor in args[:3]]
    bench.log.clear()
    del args
    gc.collect()
    assert [ref() for ref in watched] == [None, None, None]


@pytest.mark.parametrize("reason", ["guard", "crash", "resources", "launch", "hook"])
def test_no_tensor_is_kept_alive_by_a_reason(bench, reason):
    def crash(**arguments):
        raise ValueError(arguments)

    def prune(configs, named, **kwargs):
        raise ValueError(named)

    config = triton.Config(TILES, num_warps=8)
    tuned = triton.autotune(
        [config, config], key=["M"], prune_configs_by={"early_config_prune": prune} if reason == "hook" else None
    )
    kernel = bench.bind(
        tuned if reason == "hook" else lambda kernel: kernel,
        guard=crash if reason == "crash" else kernels.guard,
        limit=1 if reason == "resources" else 99,
    )
    if reason == "launch":
        bench.converted.error = ValueError()
    args = operands(K=0 if reason == "guard" else 256)
    if reason == "hook":
        with pytest.raises(ValueError, match="a_ptr"):
            kernel[grid_of](*args)
        kernel.original.nargs = None
    else:
        assert kernel[grid_of](*args, **TILES) == "original"
    watched = [weakref.ref(tensor) for tensor in args[:3]]
    bench.log.clear()
    bench.converted.error = None
    del args
    gc.collect()
    assert [ref() for ref in watched] == [None, None, None]


def test_a_storage_that_bounds_an_axis_is_looked_at_again(bench):
    class Storage:
        def __init__(self, first, size):
            self.data_ptr, self.nbytes = lambda: first, lambda: size

    class Stored(Memory):
        size = 512 * 256 * 2

        def untyped_storage(self):
            return Storage(self.address, self.size)

    def unmasked_rows(a_ptr, c_ptr, K, N, M, **rest):
        a = launch.tma_view("a_ptr", a_ptr, shape=(None, K), strides=(K, 1))
        launch.require_disjoint("c_ptr", c_ptr, shape=(M, N), strides=(N, 1), reads=[a])
        return kernels.guard(a_ptr=a_ptr, c_ptr=c_ptr, K=K, N=N, M=M, **rest)

    kernel = bench.bind(guard=unmasked_rows)
    args = operands()
    args[0] = Stored(args[0].address)
    for _ in range(2):
        assert kernel[grid_of](*args, **TILES) == "specialized"
    # A larger allocation at the same address reaches into the output.
    args[0] = Stored(args[0].address)
    args[0].size = 1 << 24
    assert kernel[grid_of](*args, **TILES) == "original"


def test_tensors_passed_by_name_are_looked_up_at_each_launch(bench):
    kernel = bench.bind()
    names = bench.source.arg_names
    first, second = operands(), operands()
    for args in (first, second):
        kernel[grid_of](**dict(zip(names, args, strict=False)), **TILES)
    assert bench.log[0].arguments["c_ptr"] is first[2]
    assert bench.log[1].arguments["c_ptr"] is second[2]


def test_out_of_resources_costs_a_stage_then_the_fast_path(bench):
    kernel = bench.bind(limit=2)
    args = operands()
    kernel[grid_of](*args, **TILES, num_warps=8, num_stages=4)
    assert bench.log[0].arguments["STAGES"] == 2
    kernel[grid_of](*operands(M=1024), **TILES, num_warps=8, num_stages=4)
    assert bench.log[1].arguments["STAGES"] == 2
    bench.converted.limit = 1
    kernel[grid_of](*args, **TILES, num_warps=8, num_stages=4)
    snapshot = launch.stats()[f"{kernels.__name__}.matmul"]
    assert bench.ran[2:] == ["original"]
    assert snapshot.fallbacks == {"out-of-resources": 1}
    assert any("cut to" in clamp for clamp in snapshot.clamps)


def test_a_kernel_that_fails_to_launch_is_not_tried_again(bench, caplog):
    kernel = bench.bind()
    bench.converted.error = ValueError("no such instruction")
    for M in (512, 512, 1024):
        assert kernel[grid_of](*operands(M=M), **TILES) == "original"
    bench.converted.error = None
    assert kernel[grid_of](*operands(M=2048), **TILES) == "original"
    assert [record.levelname for record in caplog.records].count("WARNING") == 1
    kernel.reset()
    assert kernel[grid_of](*operands(), **TILES) == "specialized"


def test_a_guard_that_crashes_does_not_stop_the_program(bench, caplog):
    kernel = bench.bind(guard=lambda **arguments: 1 // 0)
    assert kernel[grid_of](*operands(), **TILES) == "original"
    assert "ZeroDivisionError" in caplog.text


def test_options_of_the_call_reach_the_converted_kernel(bench):
    kernel = bench.bind()
    kernel[grid_of](*operands(), **TILES, num_warps=8, enable_fp_fusion=False)
    assert bench.log[0].options == {"num_warps": 4, "enable_fp_fusion": False}


@pytest.mark.parametrize("option", [{"num_ctas": 2}, {"ir_override": "kernel.ptx"}])
def test_options_that_a_conversion_cannot_honour_run_the_original(bench, option):
    kernel = bench.bind()
    assert kernel[grid_of](*operands(), **TILES, **option) == "original"


def test_a_box_may_leave_a_config_to_the_original(bench):
    def whole_tiles(K, BLOCK_K, **meta):
        launch.require(K % BLOCK_K == 0, "ragged", f"K={K} is no multiple of {BLOCK_K}")
        return kernels.boxes(BLOCK_K=BLOCK_K, **meta)

    kernel = bench.bind(boxes=whole_tiles)
    kernel[grid_of](*operands(K=256), **TILES)
    kernel[grid_of](*operands(K=264), **TILES)
    assert bench.ran == ["specialized", "original"]


def test_other_chips_run_the_original(bench, monkeypatch):
    kernel = bench.bind()
    monkeypatch.setattr(chip, "refusal", lambda pointers: Fallback("chip", "device 0 is cuda 8.x"))
    assert kernel[grid_of](*operands(), **TILES) == "original"


def test_without_a_gpu_the_original_runs():
    assert chip.current_device() is None
    assert chip.refusal([]).code == "no-gpu"


@pytest.mark.parametrize(("device", "code"), [("cpu", "device"), ("meta", "device"), ("cuda:1", "device")])
def test_tensors_that_are_elsewhere_run_the_original(hopper_driver, device, code):
    tensor = Memory(1 << 20)
    tensor.device = device
    assert chip.refusal([("a_ptr", tensor)]).code == code


@pytest.mark.parametrize(
    ("backend", "arch", "code"),
    [("cuda", 90, None), ("cuda", 80, "chip"), ("cuda", 100, "chip"), ("hip", "gfx942", "chip")],
)
def test_only_hopper_runs_converted_kernels(hopper_driver, backend, arch, code):
    hopper_driver(backend, arch)
    tensor = Memory(1 << 20)
    tensor.device = "cuda:0"
    refusal = chip.refusal([("a_ptr", tensor)])
    assert (refusal and refusal.code) == code


def test_kill_switches(bench, monkeypatch):
    args = operands()
    for name, value in (("TLXIFY", "0"), ("TLXIFY_DISABLE", "other, matmul"), ("TLXIFY_DISABLE", "other")):
        monkeypatch.delenv("TLXIFY", raising=False)
        monkeypatch.setenv(name, value)
        bench.bind()[grid_of](*args, **TILES)
    assert bench.ran == ["original", "original", "specialized"]


def test_interpreted_kernels_are_left_alone(bench, monkeypatch):
    monkeypatch.setattr(triton.knobs.runtime, "interpret", True)
    interpreted = triton.jit(kernels.matmul.fn)
    kernel = launch.specialized(
        interpreted,
        bench.bind().converted,
        guard=kernels.guard,
        boxes=kernels.boxes,
        schedule=launch.Schedule(),
        fingerprint="0" * 16,
    )
    resolved = kernel.resolve(*operands(), grid=(1,))
    assert (resolved.path, resolved.code, resolved.kernel) == ("original", "interpreted", interpreted)


class TestResolve:
    def test_names_every_argument_and_launches_nothing(self, bench):
        kernel = bench.bind()
        args = operands()
        found = kernel.resolve(*args, grid=grid_of, processors=3, num_warps=8, **TILES)
        assert (found.path, found.kernel, found.grid) == ("specialized", bench.converted, (3,))
        assert list(found.kwargs) == bench.converted.arg_names
        assert found.kwargs["a_desc"].base is args[0]
        assert found.kwargs["GRID_0"] == 16
        assert bench.log == []

    def test_needs_no_gpu(self):
        from tests.tlx.launch.fakes import Bench

        assert Bench().bind().resolve(*operands(), grid=grid_of, **TILES).path == "specialized"

    def test_takes_a_config_in_the_source_s_terms(self, bench):
        kernel = bench.bind()
        by_mapping = kernel.resolve(*operands(), grid=grid_of, config={**TILES, "num_warps": 8, "num_stages": 5})
        by_config = kernel.resolve(*operands(), grid=grid_of, config=triton.Config(TILES, num_warps=8, num_stages=5))
        assert by_mapping.kwargs["STAGES"] == by_config.kwargs["STAGES"] == 5

    def test_says_why_the_original_would_run(self, bench):
        found = bench.bind().resolve(*operands(K=0), grid=grid_of, **TILES)
        assert (found.path, found.code) == ("original", "empty")
        assert "a_ptr" in found.text
        assert found.kwargs["K"] == 0


def test_mocks_warm_up_the_original(bench, caplog):
    from triton.runtime.jit import MockTensor

    kernel = bench.bind()
    mocks = [MockTensor("float16") for _ in range(3)]
    kernel.warmup(*mocks, *operands()[3:], grid=(1,), **TILES)
    assert bench.ran == ["warmup of the original"]
    assert caplog.records == []


def test_unknown_dtype_is_refused_by_name(bench):
    odd = DType("complex64", 8)
    kernel = bench.bind()
    found = kernel.resolve(*operands(dtype=odd), grid=grid_of, **TILES)
    assert (found.code, "complex64" in found.text) == ("dtype", True)


class TestWhatAConfigFixes:
    """A guard may ask for constexprs that no call gives, only the configs of a tuner, or the config to resolve."""

    @staticmethod
    def guard(BLOCK_K, **arguments):
        assert BLOCK_K == 64
        return kernels.guard(**arguments)

    def test_all_configs_say_the_same(self, bench):
        configs = [triton.Config(TILES, num_warps=8), triton.Config({**TILES, "BLOCK_M": 64}, num_warps=4)]
        tuned = triton.autotune(configs, key=["M"], do_bench=lambda call, quantiles: [call() and 1.0] * 3)
        assert bench.bind(tuned, guard=self.guard)[grid_of](*operands()) == "specialized"

    def test_without_a_tuner_a_config_is_what_the_call_says(self, bench):
        kernel = bench.bind(guard=self.guard)
        assert kernel.resolve(*operands(), grid=grid_of, config={**TILES, "num_warps": 8}).path == "specialized"
