"""A launch of a TLX kernel takes the steps of a stock one, call for call, whatever they cost on a machine."""

from __future__ import annotations

import sys

import pytest
import triton
import triton.language as tl
from triton.runtime.jit import JITFunction

import tlx
from tests.tlx.launch.device import Device, install
from tests.tlx.launch.fakes import Memory
from tlx.adopted import AdoptedJITFunction
from tlx.launch import chip
from tlx.lowering import versions

pytestmark = [
    pytest.mark.triton,
    pytest.mark.skipif(not versions.ARGUMENTS_ONE_BY_ONE, reason="the stand-in for a GPU is one for Triton 3.6"),
]


def copy(source, target, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    tl.store(target + offsets, tl.load(source + offsets, mask=mask), mask=mask)


@pytest.fixture
def device(monkeypatch):
    device = Device()
    install(monkeypatch.setattr, device)
    yield device
    monkeypatch.undo()
    chip.forget()
    chip.processors.cache_clear()


def called(kernel, operands):
    """What Python calls in a launch of a kernel that is compiled, in order."""
    launch = kernel[(1,)]
    for _ in range(2):
        launch(*operands, 128, BLOCK=128)
    seen = []

    def note(frame, event, argument):
        if event == "call":
            seen.append(frame.f_code)
        elif event == "c_call":
            seen.append(getattr(argument, "__qualname__", repr(argument)))

    sys.setprofile(note)
    try:
        kernel[(1,)](*operands, 128, BLOCK=128)
    finally:
        sys.setprofile(None)
    return seen


@pytest.mark.parametrize("decorator", [tlx.jit, AdoptedJITFunction], ids=["tlx.jit", "installed"])
def test_a_launch_costs_what_a_stock_one_costs(device, decorator):
    operands = Memory(1 << 20), Memory(1 << 21)
    stock, ours = triton.jit(copy), decorator(copy)
    assert type(stock) is JITFunction
    assert type(ours) is not JITFunction
    wanted, found = called(stock, operands), called(ours, operands)
    # The binder is generated anew for each kernel; its steps are the same ones.
    named = [[code if isinstance(code, str) else code.co_name for code in calls] for calls in (wanted, found)]
    assert named[0] == named[1]
    assert len(wanted) > 10
    one, other = (next(iter(kernel.device_caches[0][0].values())) for kernel in (stock, ours))
    assert type(one) is type(other)
    assert type(one.run) is type(other.run)
