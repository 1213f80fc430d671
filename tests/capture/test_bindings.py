"""Launches through a binding of source and conversion: counted once, whichever kernel runs below."""

from __future__ import annotations

import gc
import threading
import weakref

import triton

from tests.tlx.launch.conftest import bench, hopper, switched_on  # noqa: F401
from tests.tlx.launch.fakes import TILES, Memory, grid_of, operands
from tlx.launch.dispatcher import Dispatcher
from tlxify.capture.inside.bindings import watch_dispatch
from tlxify.capture.inside.describe import describer
from tlxify.capture.inside.recorder import Recorder
from tlxify.capture.parts import join


def test_a_binding_is_recorded_with_the_arguments_of_its_source(bench, tmp_path, monkeypatch):  # noqa: F811
    recorder = Recorder(tmp_path / "parts", limit=10)
    monkeypatch.setattr(Dispatcher, "launch", watch_dispatch(Dispatcher.launch, recorder))
    kernel = bench.bind()
    for number in range(5):
        kernel[grid_of](*operands(base=(1 + number) << 24), **TILES)
    kernel[(6,)](*operands(K=250), **TILES)
    assert bench.ran == ["specialized"] * 5 + ["original"]
    found = join(recorder.folder)
    assert found.troubles == ()
    assert [(launch.via, launch.launches, launch.grid) for launch in found.launches] == [
        ("tlx", 5, (16,)),
        ("tlx", 1, (6,)),
    ]
    assert {name: dict(found.launches[0].scalars)[name] for name in ("M", "K", "BLOCK_K")} == {
        "M": 512,
        "K": 256,
        "BLOCK_K": 64,
    }


def test_one_decision_may_have_launches_of_several_kinds(bench, tmp_path, monkeypatch):  # noqa: F811
    recorder = Recorder(tmp_path / "parts", limit=10)
    monkeypatch.setattr(Dispatcher, "launch", watch_dispatch(Dispatcher.launch, recorder))
    kernel, given = bench.bind(), operands()

    def work():
        for grid in ((6,), (7,), [6], (6,), [7, 1], (6,), 6):
            kernel[grid](*given, **TILES) if grid != 6 else kernel[grid_of](*given, **TILES)

    work()
    another = threading.Thread(target=work)
    another.start()
    another.join()
    recorder.renew()  # as in a process that was forked: it counts from nothing, in a file of its own
    kernel[(6,)](*given, **TILES)
    found = join(recorder.folder)
    assert found.troubles == ()
    assert sorted((launch.grid, launch.launches) for launch in found.launches) == [((6,), 9), ((7,), 4), ((16,), 2)]
    assert len(found.processes) == 2


def test_tensors_are_not_kept_alive_by_what_describes_them():
    tensor = Memory(1 << 20, (4,))
    described = weakref.ref(tensor)
    args = (tensor, (tensor, 3), 5, None)
    key = describer(args, {"x": tensor, "BLOCK": 64}, lambda meta: (1,), 0)(args, {"x": tensor, "BLOCK": 64}, max)
    assert {5, None, 64, tuple} <= set(key)
    del tensor, args
    gc.collect()
    assert described() is None


def test_trials_of_the_tuner_below_are_not_launches(bench, tmp_path, monkeypatch):  # noqa: F811
    recorder = Recorder(tmp_path / "parts", limit=10)
    monkeypatch.setattr(Dispatcher, "launch", watch_dispatch(Dispatcher.launch, recorder))

    def measure(call, quantiles):
        call()
        return [1.0] * len(quantiles)

    configs = [triton.Config(TILES, num_warps=warps) for warps in (4, 8)]
    kernel = bench.bind(triton.autotune(configs, key=["M"], do_bench=measure))
    for _ in range(3):
        kernel[grid_of](*operands())
    assert len(bench.ran) > 3 + len(configs) - 1, "trials ran as well"
    (launch,) = join(recorder.folder).launches
    assert launch.launches == 3
    assert "BLOCK_M" not in dict(launch.scalars), "what the tuner below chose is not the program's"
