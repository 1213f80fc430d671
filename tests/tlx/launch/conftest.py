import pytest

from tests.tlx.launch.fakes import Bench
from tlx.launch import chip


@pytest.fixture
def hopper(monkeypatch):
    """A machine with one device of 132 SMs that may run converted kernels."""
    monkeypatch.setattr(chip, "current_device", lambda: 0)
    monkeypatch.setattr(chip, "refusal", lambda pointers: None)
    monkeypatch.setattr(chip, "processors", lambda device: 132)


@pytest.fixture
def bench(hopper):
    return Bench()


@pytest.fixture(autouse=True)
def switched_on(monkeypatch):
    for name in ("TLXIFY", "TLXIFY_DISABLE", "TLXIFY_STALE"):
        monkeypatch.delenv(name, raising=False)
