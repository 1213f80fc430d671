"""A program whose launches are recorded: real jit functions on a driver that does nothing. Arguments name the acts."""

import os
import signal
import sys
import threading

import triton
import triton.language as tl

from tests.tlx.launch.device import Device, install
from tests.tlx.launch.fakes import FP16, Memory


class Tensor(Memory):
    """A contiguous vector."""

    def stride(self):
        return (1,) * len(self.shape)

    def clone(self):
        return self

    def copy_(self, _):
        return self


@triton.jit
def copy(source, target, count, scale, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    tl.store(target + offsets, tl.load(source + offsets, mask=mask) * scale, mask=mask)


@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128}, num_warps=8)], key=["count"])
@triton.jit
def tuned(source, target, count, scale, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    tl.store(target + offsets, tl.load(source + offsets, mask=mask) + scale, mask=mask)


def launch(kernel, count, source=1 << 20, target=1 << 24, **options):
    tensors = Tensor(source, (count,), FP16), Tensor(target, (count,), FP16)
    kernel[lambda meta: (triton.cdiv(count, meta["BLOCK"]),)](*tensors, count, 2.0, **options)


def shapes():
    for _ in range(3):
        launch(copy, 200, BLOCK=64)
    for _ in range(2):
        launch(copy, 300, BLOCK=64)


def tuner():
    for _ in range(4):
        launch(tuned, 200)


def threads():
    workers = [threading.Thread(target=lambda: [launch(copy, 200, BLOCK=64) for _ in range(50)]) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def forks():
    launch(copy, 200, BLOCK=64)
    child = os.fork()
    if child == 0:
        for _ in range(7):
            launch(copy, 200, BLOCK=64)
        os._exit(0)
    os.waitpid(child, 0)


def killed():
    for _ in range(9):
        launch(copy, 200, BLOCK=64)
    os.kill(os.getpid(), signal.SIGKILL)


class Clock:
    """A timer whose every launch takes the number of launches before it."""

    def begin(self, hold):
        assert hold > 0
        return [Launcher.calls]

    def end(self, token):
        token.append(Launcher.calls)

    def microseconds(self, token, *, wait):
        before, after = token
        assert after == before + 1, "one launch lies between the events"
        return float(before)


def timed():
    sys.modules["_tlxify_capture.recorder"].find_timer = Clock
    for _ in range(100):
        launch(copy, 200, BLOCK=64)
    assert Launcher.calls == 100, "each launch is made once"


def fails():
    launch(copy, 200, BLOCK=64)
    sys.exit(3)


class Launcher:
    """Takes what any version of Triton passes to its launcher, and launches nothing."""

    def __init__(self, source, metadata):
        pass

    calls = 0

    def __call__(self, *args):
        Launcher.calls += 1


if __name__ == "__main__":
    device = Device()
    device.launcher_cls = Launcher
    install(setattr, device)
    for act in sys.argv[1:]:
        globals()[act]()
