"""Tests that need something this machine lacks are skipped, and say so."""

from __future__ import annotations

import functools
import importlib.util

import pytest


@functools.cache
def _no_triton() -> str | None:
    if importlib.util.find_spec("triton") is None:
        return "Triton is not installed"
    return None


@functools.cache
def _no_torch() -> str | None:
    return None if importlib.util.find_spec("torch") else "torch is not installed"


@functools.cache
def _no_gpu() -> str | None:
    if _no_triton():
        return _no_triton()
    from triton.runtime import driver

    try:
        target = driver.active.get_current_target()
    except Exception as error:
        return f"no GPU: {error}"
    return None if (target.backend, target.arch) == ("cuda", 90) else f"needs a Hopper GPU, this is {target}"


#: marker → why its tests cannot run here, or None
_NEEDS = {"triton": _no_triton, "torch": _no_torch, "gpu": _no_gpu}


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker, missing in _NEEDS.items():
        if item.get_closest_marker(marker) and (reason := missing()):
            pytest.skip(reason)


def pytest_configure(config: pytest.Config) -> None:
    """Compiled kernels go where pytest keeps its own cache, not into the user's."""
    import os

    if getattr(config, "cache", None) is not None:
        os.environ.setdefault("TRITON_CACHE_DIR", str(config.cache.mkdir("triton")))


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` rewrites expected outputs instead of comparing with them."""
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files with what the code does now")
