"""The only place that asks about the machine: which chip a launch is for, its SMs, whether a stream is recording."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any

from triton.runtime.driver import driver

from tlx.launch.guard import Fallback
from tlx.launch.pointers import is_symbolic

__all__ = ["capturing", "current_device", "forget", "processors", "refusal", "tracing"]

#: Converted kernels use wgmma and register reallocation, which only this generation has.
HOPPER = 9


def current_device() -> int | None:
    """The index of the device that Triton would launch on; `None` without a usable GPU."""
    ask = _device_query()
    return None if ask is None else int(ask())


@functools.cache
def _device_query() -> Callable[[], int] | None:
    """Triton's way to ask for the device. Looking for a driver takes long where there is none: once is enough."""
    try:
        return driver.active.get_current_device  # type: ignore[no-any-return]
    except (RuntimeError, ImportError):
        return None


def forget() -> None:
    """Look for a driver again, as after `driver.set_active`."""
    _device_query.cache_clear()


def refusal(pointers: Iterable[tuple[str, Any]]) -> Fallback | None:
    """Why a converted kernel may not run on the device of these tensors; `None` if it may."""
    device = current_device()
    if device is None:
        return Fallback("no-gpu", "Triton finds no GPU it could launch on")
    for name, pointer in pointers:
        place = getattr(pointer, "device", None)
        if place is None:
            continue
        # torch's devices read like this too: "cpu", "cuda", "cuda:0".
        kind, _, index = str(place).partition(":")
        if kind != "cuda":
            return Fallback("device", f"{name} is on {place}")
        if index not in ("", str(device)):
            return Fallback("device", f"{name} is on {place}, but cuda:{device} is the current device")
    backend, generation = _chip(device)
    if backend != "cuda" or generation != HOPPER:
        return Fallback(
            "chip", f"device {device} is {backend} {generation}.x; the specialized kernel is written for cuda 9.x"
        )
    return None


@functools.cache
def _chip(device: int) -> tuple[str, int]:
    """The back end and the major compute capability of the current device, which is `device`."""
    target = driver.active.get_current_target()
    return str(target.backend), target.arch // 10 if isinstance(target.arch, int) else 0


@functools.cache
def processors(device: int) -> int:
    """The number of SMs of a device."""
    return int(driver.active.utils.get_device_properties(device)["multiprocessor_count"])


def capturing() -> bool:
    """Whether the current stream records a CUDA graph: then nothing may be measured or allocated."""
    torch = sys.modules.get("torch")
    return torch is not None and torch.cuda.is_available() and bool(torch.cuda.is_current_stream_capturing())


def tracing(values: Iterable[Any] = ()) -> bool:
    """Whether torch is recording a program instead of running it."""
    for value in values:
        if is_symbolic(value):
            return True
    guards = sys.modules.get("torch._guards")
    return guards is not None and guards.TracingContext.try_get() is not None
