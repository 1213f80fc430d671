"""What takes turns on the GPU: a kernel under a config or a reference, each on its sets of arguments."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from ..contract import Contract, LaunchConfig
from ..verify.described import passed
from ..verify.device import call_of
from ..verify.oracle import as_constexpr
from .clock import Contender
from .sizes import Sizes
from .tensors import Arguments


def launched(
    kernel: Any, sizes: Sizes, config: LaunchConfig, contract: Contract, arguments: list[Arguments]
) -> Contender:
    """The kernel under a config, with the arguments of each set in the order of its parameters."""
    scalars = {name: as_constexpr(value) for name, value in sizes.scalars.items()}
    constants = {name: value for name, value in config.values if name in contract.parameters}
    options = {"num_warps": config.num_warps, "num_stages": config.num_stages}
    bound = kernel[sizes.grid]
    tensors = [passed(contract.tensors, each.tensors, {**sizes.known, **constants}) for each in arguments]
    calls = [call_of(contract.parameters, {**each, **scalars, **constants}, options) for each in tensors]

    def launch(number: int) -> object:
        args, kwargs = calls[number]
        return bound(*args, **kwargs)

    return launch


def by_name(reference: Callable[..., Any], sizes: Sizes, arguments: list[Arguments]) -> Contender:
    """The reference with those arguments of the kernel that it names."""
    parameters = inspect.signature(reference).parameters
    every = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    named = [
        {name: value for name, value in {**sizes.known, **each.tensors}.items() if every or name in parameters}
        for each in arguments
    ]
    return lambda number: reference(**named[number])


def named_callable(text: str) -> Callable[..., Any]:
    """What "module:name" says, as the user's folder has it."""
    module, _, name = text.partition(":")
    sys.path.insert(0, os.getcwd())
    found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return found


def counted() -> dict[str, int]:
    """Launches so far: "fast", and each reason for the original."""
    import tlx

    total = {"fast": 0}
    for stats in tlx.stats().values():
        total["fast"] += stats.fast
        for code, count in stats.fallbacks.items():
            total[code] = total.get(code, 0) + count
    return total


def path_taken(before: Mapping[str, int], after: Mapping[str, int]) -> tuple[str, str]:
    """What the launcher chose, and why the original."""
    grown = [code for code, count in after.items() if count > before.get(code, 0)]
    if grown == ["fast"]:
        return "specialized", ""
    reasons = ", ".join(code for code in grown if code != "fast")
    return ("specialized in part" if "fast" in grown else "original"), reasons
