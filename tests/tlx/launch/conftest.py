import pytest
from triton.backends.compiler import GPUTarget
from triton.runtime.driver import driver

from tests.tlx.launch.fakes import Bench
from tlx.launch import chip
from tlx.launch.policy import CHOSEN


@pytest.fixture
def hopper(monkeypatch):
    """A machine with one device of 132 SMs that may run converted kernels."""
    monkeypatch.setattr(chip, "current_device", lambda: 0)
    monkeypatch.setattr(chip, "refusal", lambda pointers: None)
    monkeypatch.setattr(chip, "processors", lambda device: 132)


@pytest.fixture
def bench(hopper):
    return Bench()


@pytest.fixture
def hopper_driver(monkeypatch):
    """A driver of one device, at first a Hopper; call it with back end and architecture to make it another."""
    target = GPUTarget("cuda", 90, 32)

    class Driver:
        def get_current_device(self):
            return 0

        def get_current_target(self):
            return target

    def become(backend, arch):
        nonlocal target
        target = GPUTarget(backend, arch, 32)
        chip._chip.cache_clear()

    monkeypatch.setattr(driver, "_active", Driver())
    chip.forget()
    chip._chip.cache_clear()
    yield become
    chip._chip.cache_clear()
    monkeypatch.undo()
    chip.forget()


@pytest.fixture(autouse=True)
def switched_on(monkeypatch):
    for name in ("TLXIFY", "TLXIFY_DISABLE", "TLXIFY_STALE", "TLXIFY_POLICY", "TLXIFY_SHADOW", "TLXIFY_SHADOW_DIR"):
        monkeypatch.delenv(name, raising=False)
    yield
    CHOSEN.clear()
