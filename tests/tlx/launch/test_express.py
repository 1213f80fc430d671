"""The short way: a launch seen before goes to its compiled kernel, unless anything has changed."""

import gc
import sys
import threading
import weakref

import pytest
import triton
import triton.language as tl
from triton import knobs
from triton.runtime.jit import JITFunction

import tlx
import tlx.launch as launch
from tests.tlx.launch import gemm, kernels
from tests.tlx.launch.device import LEADING, Device, install
from tests.tlx.launch.fakes import BF16, TILES, Memory, grid_of, operands
from tlx.launch import chip
from tlx.lowering import versions

pytestmark = [
    pytest.mark.triton,
    pytest.mark.skipif(not versions.ARGUMENTS_ONE_BY_ONE, reason="this Triton's launcher is left to itself"),
]
CONFIG = {**TILES, "num_warps": 8, "num_stages": 2}
COUNT = 3


@triton.jit
def add(x, y, z, n, scale, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(z + offsets, tl.load(x + offsets, mask=mask) * scale + tl.load(y + offsets, mask=mask), mask=mask)


@triton.jit
def counted(x, n, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), COUNT_OF_IT)


COUNT_OF_IT = tl.constexpr(COUNT)


@pytest.fixture
def device(monkeypatch):
    device = Device()
    install(monkeypatch.setattr, device)
    # What was compiled in another test launches on the device of that test.
    gemm.matmul_ws.device_caches.clear()
    yield device
    monkeypatch.undo()
    chip.forget()
    chip.processors.cache_clear()


def short(call):
    """Whether a call of the C launcher came the short way: no chain of hooks is passed on."""
    return call[LEADING - 2 : LEADING] == (None, None)


def long_way(call):
    """The same call as Triton makes it: addresses for tensors, nothing for constexprs, no metadata for hooks."""
    return call[: LEADING - 3] + tuple(value.data_ptr() if hasattr(value, "data_ptr") else value for value in call[13:])


def without_constants(call, other):
    return [value for value, known in zip(call, other, strict=True) if known is not None]


def refused(decorate=lambda kernel: kernel):
    """A binding whose guard always says no, around `add`."""

    def guard(**arguments):
        raise launch.Fallback("never", "the original is to run")

    return launch.specialized(
        decorate(triton.jit(add.fn)), gemm.matmul_ws, guard=guard, boxes=kernels.boxes, schedule=gemm.SCHEDULE,
        fingerprint=None,
    )  # fmt: skip


def fresh_conversion(**options):
    """A converted kernel that no other test has launched."""
    return tlx.jit(**options)(gemm.matmul_ws.fn)


def vectors(base=1 << 20, n=1024):
    return (*(Memory(base + index * (1 << 16)) for index in range(3)), n, 0.5)


def run(kernel, times=3, args=None, grid=(8,), **options):
    for _ in range(times):
        found = kernel[grid](*(args or vectors()), **{"BLOCK": 128, **options})
    return found


def specialized(kernel, times=3, args=None, **options):
    for _ in range(times):
        found = kernel[grid_of](*(args or operands()), **{**CONFIG, **options})
    return found


@pytest.mark.parametrize("path", ["specialized", "original"])
def test_the_short_way_passes_what_triton_passes(device, path):
    kernel = gemm.bind() if path == "specialized" else refused()
    repeat = specialized if path == "specialized" else run
    compiled = {id(repeat(kernel, 1)) for _ in range(3)}
    assert len(compiled) == 1
    _, second, third = device.calls
    assert [short(call) for call in device.calls] == [False, False, True]
    expected, found = long_way(second), third[: LEADING - 3] + third[LEADING:]
    assert without_constants(expected, found) == without_constants(found, found)
    assert not any(hasattr(value, "data_ptr") for value in third)


def test_a_tensor_map_is_encoded_once(device):
    kernel = gemm.bind()
    specialized(kernel, 2)
    maps = len(device.utils.maps)
    specialized(kernel, 5)
    assert len(device.utils.maps) == maps
    assert [short(call) for call in device.calls[2:]] == [True] * 5


@pytest.mark.parametrize(
    "change",
    [
        lambda args: [Memory(1 << 27), *args[1:]],
        lambda args: [Memory((1 << 27) + 2), *args[1:]],
        lambda args: [*(Memory(arg.address, dtype=BF16) for arg in args[:2]), *args[2:]],
        lambda args: [*args[:3], 384, *args[4:]],
        lambda args: [*args[:6], 264, *args[7:]],
    ],
    ids=["address", "alignment", "dtype", "extent", "stride"],
)
def test_other_arguments_are_another_launch(device, change):
    kernel = gemm.bind()
    args = operands()
    specialized(kernel, 3, args)
    changed = change(args)
    specialized(kernel, 1, changed)
    assert not short(device.calls[-1])
    specialized(kernel, 1, args)
    assert short(device.calls[-1])
    assert device.calls[-1][LEADING:] == device.calls[2][LEADING:]


def test_another_device_is_another_launch(device):
    kernel = refused()
    run(kernel)
    device.device = 1
    run(kernel, 1)
    assert not short(device.calls[-1])


def test_a_tensor_of_another_device_is_another_launch(device):
    class Placed(Memory):
        place = 0

        def get_device(self):
            return self.place

    kernel = refused()
    args = (Placed(1 << 20), *vectors()[1:])
    run(kernel, 3, args)
    args[0].place = 1
    run(kernel, 1, args)
    assert not short(device.calls[-1])


def test_the_stream_and_the_grid_are_asked_for_each_time(device):
    kernel = gemm.bind()
    specialized(kernel)
    asked = []

    def grid(meta):
        asked.append((meta["M"], meta["BLOCK_M"], meta["a_ptr"].data_ptr()))
        return (5,)

    device.stream = 9
    kernel[grid](*operands(), **CONFIG)
    kernel[(3,)](*operands(), **CONFIG)
    assert [(call[:4], short(call)) for call in device.calls[-2:]] == [((5, 1, 1, 9), True), ((3, 1, 1, 9), True)]
    assert asked == [(512, 128, 1 << 20)]
    assert 5 in device.calls[-2][LEADING:]
    kernel[(0,)](*operands(), **CONFIG)
    assert len(device.calls) == 5
    kernel[(16, 2)](*operands(), **CONFIG)
    assert device.calls[-1][:3] == (16, 2, 1)


@pytest.mark.parametrize("path", ["specialized", "original"])
@pytest.mark.parametrize("hook", ["launch_enter_hook", "launch_exit_hook"])
def test_hooks_of_a_launch_are_called(device, path, hook):
    kernel, repeat = (gemm.bind(), specialized) if path == "specialized" else (refused(), run)
    repeat(kernel)
    assert short(device.calls[-1])

    def listener(metadata):
        raise AssertionError("the C launcher would call it, and here is none")

    chain = getattr(knobs.runtime, hook)
    chain.add(listener)
    try:
        repeat(kernel, 1)
    finally:
        chain.remove(listener)
    passed = device.calls[-1][LEADING - 2 if hook == "launch_enter_hook" else LEADING - 1]
    assert passed is chain
    repeat(kernel, 1)
    assert short(device.calls[-1])


@pytest.mark.parametrize("path", ["specialized", "original"])
def test_hooks_before_a_run_are_called(device, path):
    kernel, repeat = (gemm.bind(), specialized) if path == "specialized" else (refused(), run)
    repeat(kernel)
    seen = []
    kernel.original.add_pre_run_hook(lambda *args, **kwargs: seen.append(len(args)))
    repeat(kernel, 2)
    assert seen == [12 if path == "specialized" else 5] * 2


@pytest.mark.parametrize(
    ("owner", "knob", "value"),
    [("runtime", "debug", True), ("compilation", "instrumentation_mode", "consan")],
)
def test_knobs_that_compile_otherwise_are_seen(device, monkeypatch, owner, knob, value):
    kernel = refused()
    run(kernel)
    monkeypatch.setattr(JITFunction, "_do_compile", lambda *args, **kwargs: None)
    monkeypatch.setattr(getattr(knobs, owner), knob, value)
    # Nothing is compiled here, so Triton launches nothing: it has looked for another kernel.
    before = len(device.calls)
    assert run(kernel, 1) is None
    assert len(device.calls) == before


@pytest.mark.parametrize("path", ["specialized", "original"])
def test_a_kernel_that_triton_forgot_is_compiled_again(device, path):
    kernel, repeat = (gemm.bind(), specialized) if path == "specialized" else (refused(), run)
    found = repeat(kernel)
    owner = kernel.converted if path == "specialized" else kernel.original
    owner.device_caches.clear()
    assert repeat(kernel, 1) is not found
    assert not short(device.calls[-1])


def test_hooks_of_the_converted_kernel_are_called(device):
    kernel = gemm.bind(converted=fresh_conversion(do_not_specialize=["GRID_0"]))
    specialized(kernel)
    assert short(device.calls[-1])
    seen = []
    kernel.converted.add_pre_run_hook(lambda *args, **kwargs: seen.append(len(args)))
    specialized(kernel, 2)
    assert len(seen) == 2


@pytest.mark.parametrize("whole", [False, True])
def test_triton_s_own_cache_has_the_last_word(device, whole):
    kernel = refused()
    found = run(kernel)
    original = kernel.original
    # Either only this kernel is forgotten, or everything, and then something else was launched.
    (original.device_caches if whole else original.device_caches[0][0]).clear()
    original[(8,)](*vectors(n=1), BLOCK=64)
    assert run(kernel, 1) is not found
    assert not short(device.calls[-1])


def test_a_launch_put_in_the_place_of_one_kernel_s_runs(device):
    kernel = refused()
    run(kernel)
    seen = []
    kernel.original.run = lambda *args, **kwargs: seen.append(kwargs["grid"])
    run(kernel, 1)
    assert seen == [(8,)]


def test_a_kernel_specialized_on_its_grid_takes_the_long_way(device):
    kernel = gemm.bind(converted=fresh_conversion())
    specialized(kernel, 4)
    assert kernel.converted.params[8].name == "GRID_0"
    assert not any(map(short, device.calls))


def test_a_global_that_changed_is_triton_s_to_complain_about(device, monkeypatch):
    def guard(**arguments):
        raise launch.Fallback("never", "the original is to run")

    kernel = launch.specialized(
        triton.jit(counted.fn), gemm.matmul_ws, guard=guard, boxes=kernels.boxes, schedule=gemm.SCHEDULE,
        fingerprint=None,
    )  # fmt: skip
    for _ in range(3):
        kernel[(1,)](Memory(1 << 20), 4, BLOCK=128)
    assert short(device.calls[-1])
    monkeypatch.setattr(sys.modules[__name__], "COUNT_OF_IT", tl.constexpr(4))
    with pytest.raises(RuntimeError, match="COUNT_OF_IT has changed"):
        kernel[(1,)](Memory(1 << 20), 4, BLOCK=128)


def test_another_driver_is_asked_itself(device, monkeypatch):
    kernel = refused()
    run(kernel)
    other = Device()
    install(monkeypatch.setattr, other)
    run(kernel, 1)
    assert not short((other.calls or device.calls)[-1])


def test_a_launch_put_in_the_place_of_triton_s_runs(device, monkeypatch):
    kernel = refused()
    run(kernel)
    seen = []
    monkeypatch.setattr(JITFunction, "run", lambda self, *args, **kwargs: seen.append(self))
    run(kernel, 1)
    assert seen == [kernel.original]


class TestTuned:
    CONFIGS = (triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 256}))

    def kernel(self, configs=CONFIGS):
        return refused(triton.autotune(list(configs), key=["n"]))

    def run(self, kernel, times=1):
        for _ in range(times):
            kernel[lambda meta: (meta["BLOCK"],)](*vectors())

    def test_the_choice_is_kept_and_shown(self, device):
        kernel = self.kernel()
        self.run(kernel, 4)
        assert (device.calls[-1][0], short(device.calls[-1])) == (128, True)
        kernel.original.best_config = None
        self.run(kernel)
        assert kernel.best_config is kernel.original.configs[0]

    def test_another_best_config_is_seen(self, device):
        kernel = self.kernel()
        self.run(kernel, 4)
        ((key, _),) = kernel.original.cache.items()
        kernel.original.cache[key] = kernel.original.configs[1]
        self.run(kernel)
        assert device.calls[-1][0] == 256

    def test_a_forgotten_choice_is_tuned_again(self, device):
        kernel = self.kernel()
        self.run(kernel, 4)
        kernel.original.cache.clear()
        before = len(device.calls)
        self.run(kernel)
        assert len(device.calls) > before + 1
        assert kernel.original.cache

    def test_a_hook_of_the_config_is_called(self, device):
        seen = []
        hooked = triton.Config({"BLOCK": 128}, pre_hook=lambda named: seen.append(named["n"]))
        self.run(self.kernel([hooked]), 4)
        assert seen == [1024] * 4

    def test_the_specialized_tuner_is_passed_as_well(self, device):
        kernel = gemm.bind(triton.autotune([triton.Config(TILES, num_warps=8, num_stages=2)], key=["M"]))
        for _ in range(4):
            kernel[grid_of](*operands())
        assert short(device.calls[-1])
        assert kernel.best_config in [candidate.config for candidate in kernel.candidates]
        kernel.reset()
        kernel[grid_of](*operands())
        assert not short(device.calls[-1])


@pytest.mark.parametrize("path", ["specialized", "original"])
def test_no_tensor_is_kept_alive(device, path):
    kernel, repeat, args = (
        (gemm.bind(), specialized, operands()) if path == "specialized" else (refused(), run, vectors())
    )
    repeat(kernel, 4, args)
    assert short(device.calls[-1])
    watched = [weakref.ref(tensor) for tensor in args[:3]]
    device.calls.clear()
    del args
    gc.collect()
    assert [ref() for ref in watched] == [None] * 3


def test_a_launch_that_fails_goes_to_the_original(device):
    kernel = gemm.bind()
    specialized(kernel)
    device.error = RuntimeError("Triton Error [CUDA]: invalid argument")
    with pytest.raises(RuntimeError, match="invalid argument"):
        specialized(kernel, 1)
    device.error = None
    specialized(kernel, 1)
    snapshot = launch.stats()[f"{kernels.__name__}.matmul"]
    assert (snapshot.fast, snapshot.fallbacks) == (3, {"launch-failed": 2})


def test_threads_launch_their_own_arguments(device):
    kernel = refused()
    wrong = []

    def work(index):
        args = vectors(base=(1 + index) << 24, n=1024 + 16 * index)
        expected = tuple(tensor.address for tensor in args[:3]) + args[3:]
        for _ in range(100):
            kernel[(8 + index,)](*args, BLOCK=128)
        mine = [call for call in device.calls if call[0] == 8 + index]
        found = {tuple(getattr(value, "address", value) for value in call[LEADING : LEADING + 5]) for call in mine}
        if found != {expected} or len(mine) != 100:
            wrong.append((index, found))

    threads = [threading.Thread(target=work, args=(index,)) for index in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert sum(short(call) for call in device.calls) > 500


def test_kill_switches_hold_on_the_short_way(device, monkeypatch):
    kernel = gemm.bind()
    specialized(kernel)
    monkeypatch.setenv("TLXIFY", "0")
    kernel.reset()
    before = launch.stats()[f"{kernels.__name__}.matmul"].fast
    specialized(kernel, 2)
    assert launch.stats()[f"{kernels.__name__}.matmul"].fast == before


def test_without_a_known_launcher_triton_launches(device, monkeypatch):
    monkeypatch.setattr(versions, "ARGUMENTS_ONE_BY_ONE", False)
    kernel = refused()
    run(kernel, 4)
    assert not any(map(short, device.calls))
