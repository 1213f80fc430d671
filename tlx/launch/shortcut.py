"""The short way to a user's own kernel, which the launcher gives back most of what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tlx.launch.express import capture
from tlx.launch.pointers import is_memory
from tlx.launch.routes import Route, choice_of
from tlx.launch.stack import Stack

__all__ = ["route_to_original"]


def route_to_original(
    stack: Stack, device: int, compiled: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Route | None:
    """How to repeat a launch of a decorated kernel on `device` that ran `compiled` and was made twice.

    `None` where its decorators may do something that this would miss, or Triton would.
    """
    kernel, tuner, layers = stack.kernel, stack.tuner, stack.layers
    if len(layers) > 1 or (layers and layers[0] is not tuner) or "ctas_per_cga" in kwargs:
        return None
    choice = None if tuner is None else choice_of(tuner, args, kwargs)
    if tuner is not None and choice is None:
        return None
    names: list[str] = kernel.arg_names
    config = {} if choice is None else choice.config.all_kwargs()
    parameters = kernel.signature.parameters.items()
    named = {name: parameter.default for name, parameter in parameters if parameter.default is not parameter.empty}
    named |= dict(zip(names, args, strict=False))
    named |= {name: value for name, value in {**kwargs, **config}.items() if name in names}
    express = capture(kernel, compiled, device, [named[name] for name in names])
    if express is None:
        return None
    positions = {name: position for position, name in enumerate(names[: len(args)])}
    tensors = [(name, positions.get(name, -1)) for name, value in named.items() if is_memory(value)]
    meta = {name: named[name] for name in names if not is_memory(named[name])}
    return Route(express, kernel, choice, meta, tensors)
