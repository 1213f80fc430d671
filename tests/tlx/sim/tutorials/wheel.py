"""Finds the tutorials in an unpacked fbtriton wheel or an environment that has it, and loads them without torch."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
import triton
from triton.language.extra import libdevice

import tlx

from . import packed

#: names the folder of a wheel, of an environment, or of the tutorials themselves
VARIABLE = "FBTRITON"


@functools.cache
def folder() -> Path | None:
    place = os.environ.get(VARIABLE)
    if not place:
        return None
    root = Path(place)
    if (root / "hopper_gemm_ws.py").exists():
        return root
    return next(root.glob("**/triton/language/extra/tlx/tutorials"), None)


needs_wheel = pytest.mark.skipif(
    folder() is None, reason=f"{VARIABLE} does not name an fbtriton wheel or environment with its tutorials"
)


def _torch() -> Any:
    torch = mock.MagicMock(name="torch")
    torch.autograd.Function = object
    torch.cuda.get_device_capability.return_value = (10, 0)
    return torch


def _alias(name: str, **members: Any) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(members)
    return module


def _no_config(*args: Any, **kwargs: Any) -> None:
    """Tutorials make configs by the hundred thousand at import."""


def _untuned(*args: Any, **kwargs: Any) -> Any:
    return lambda kernel: kernel


def _from_file(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@functools.cache
def load(name: str) -> Any:
    """A tutorial as a module. Its host code cannot run; its kernels are what we are after."""
    place = folder()
    assert place is not None
    extra = "triton.language.extra"
    modules = {
        "torch": _torch(),
        f"{extra}.tlx": tlx,
        f"{extra}.tlx.warp_spec": _alias("warp_spec", get_bufidx_phase=tlx.get_bufidx_phase),
        f"{extra}.cuda.inline_ptx_lib": _alias("inline_ptx_lib", **vars(packed)),
        "torch._inductor.runtime.triton_compat": _alias("triton_compat", libdevice=libdevice),
        "triton._internal_testing": mock.MagicMock(name="triton._internal_testing"),
        f"{extra}.subtile_ops": _from_file("subtile_ops", place.parents[1] / "subtile_ops.py"),
        f"{extra}.tlx.mxfp8_utils": mock.MagicMock(name="mxfp8_utils"),
    }
    host = {
        "driver": (triton.runtime, mock.MagicMock()),
        "Config": (triton, _no_config),
        "autotune": (triton, _untuned),
    }
    with ExitStack() as stack:
        stack.enter_context(mock.patch.dict(sys.modules, modules))
        for attribute, (owner, stand_in) in host.items():
            stack.enter_context(mock.patch.object(owner, attribute, stand_in))
        return _from_file(name.replace("-", "_").removesuffix(".py"), place / name)
