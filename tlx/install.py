"""``tlx.install()``: third-party TLX sources run unchanged on a stock Triton.

Such sources say ``import triton.language.extra.tlx as tlx``, ``@triton.jit`` and
``triton.Config(..., ctas_per_cga=(2, 1, 1))``. While installed, the first finds this package, the second makes TLX
kernels of functions that use TLX (all others stay as they are), and the third is understood. Modules imported before
``install()`` keep what they took from Triton then.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable
from typing import Any

import triton
from triton.backends.compiler import GPUTarget

from . import neighbours
from .adopted import adopting
from .builtin import TLXError
from .configs import ClusterConfig, dropping
from .modules import FORK_MODULES, FORK_PACKAGE, view

#: Triton's public names that are exchanged, and the modules that hold them
_EXCHANGED: dict[str, tuple[str, ...]] = {
    "jit": ("triton", "triton.runtime.jit"),
    "Config": ("triton", "triton.runtime", "triton.runtime.autotuner"),
    "autotune": ("triton", "triton.runtime", "triton.runtime.autotuner"),
}

#: while installed: how to take back each change, in the order in which they were made
_changes: list[Callable[[], None]] = []


class InstallError(TLXError):
    """TLX cannot be installed into this environment."""


def installed() -> bool:
    """Whether ``install()`` holds."""
    return bool(_changes)


def install() -> None:
    """Makes ``triton.language.extra.tlx`` this package, and ``@triton.jit`` compile it. Calling it twice is harmless.

    Raises:
        InstallError: the Triton is Meta's own, or another package has overwritten files of this one.
    """
    if installed():
        return
    if fork := neighbours.named(neighbours.FORK):
        raise InstallError(
            f"this Triton is {fork}, which has TLX built in: run the sources as they are, without tlx.install()"
        )
    if damaged := neighbours.intrusions():
        raise InstallError("; ".join(map(str, damaged)))
    ours = importlib.import_module(__package__)
    extra: Any = importlib.import_module("triton.language.extra")
    _warn_of_plugin()
    _put(sys.modules, FORK_PACKAGE, ours)
    for name in FORK_MODULES:
        _put(sys.modules, f"{FORK_PACKAGE}.{name}", view(f"{FORK_PACKAGE}.{name}"))
    _put(vars(extra), "tlx", ours)
    if not hasattr(GPUTarget, "is_cuda_backend"):
        # The fork's own question to a target; its tutorials ask it.
        _put_attribute(GPUTarget, "is_cuda_backend", lambda target: target.backend == "cuda")
    _exchange("jit", adopting(triton.jit))
    _exchange("Config", ClusterConfig)
    _exchange("autotune", dropping(triton.autotune))


def uninstall() -> None:
    """Puts back what ``install()`` changed, except where something else has changed it since."""
    for undo in reversed(_changes):
        undo()
    _changes.clear()


def _put(holder: dict[str, Any], name: str, value: Any) -> None:
    old = holder.get(name)
    holder[name] = value

    def undo() -> None:
        if holder.get(name) is not value:
            return  # another tool's by now
        if old is None:
            del holder[name]
        else:
            holder[name] = old

    _changes.append(undo)


def _put_attribute(owner: type, name: str, value: Any) -> None:
    setattr(owner, name, value)
    _changes.append(lambda: delattr(owner, name))


def _exchange(name: str, value: Any) -> None:
    for module in _EXCHANGED[name]:
        holder = vars(importlib.import_module(module))
        if name in holder:
            _put(holder, name, value)


def _warn_of_plugin() -> None:
    """Another TLX under the fork's name still belongs to the kernels imported so far."""
    other = sys.modules.get(FORK_PACKAGE)
    plugin = neighbours.named(neighbours.PLUGIN)
    if other is not None:
        owner = plugin or f"the module at {getattr(other, '__file__', None)}"
        warnings.warn(
            f"{FORK_PACKAGE} belongs to {owner}: kernels imported from now on use tlxify's tlx, earlier ones keep "
            "theirs; tlx.uninstall() gives the name back",
            stacklevel=3,
        )
