"""A second version of a kernel in the place of a conversion: launched with the first one's arguments, as it is.

It answers what `tlx.specialized` objects answer, so that every rung treats two versions of a kernel as it treats a
kernel and its conversion. Only made in a child process.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from ..contract import Contract, evaluate
from ..conversion import Version


class Candidate:
    """The second version, bound to the first."""

    def __init__(self, original: Any, converted: Any, version: Version, contract: Contract) -> None:
        from tlx.launch.stats import Counters

        self.original = original
        self.converted = converted
        self.version = version
        self.contract = contract
        #: Launches are counted where those of specialized kernels are: so the record says which of the two ran.
        self.counters = Counters(getattr(converted, "__name__", "kernel"))

    def resolve(self, *, grid: Any, config: Mapping[str, Any], processors: int = 0, **given: Any) -> Any:
        """The launch of the second version that corresponds to a launch of the first, as a `tlx.launch` dispatch."""
        from tlx.launch.schedule import Dispatch

        known = {**config, **given}
        options: dict[str, Any] = {name: known[name] for name in ("num_warps", "num_stages") if name in known}
        try:
            arguments = {name: argument(text, known) for name, text in self.version.arguments}
        except Unsuitable as refusal:
            return Dispatch("original", "descriptor", str(refusal), self.original, grid, known, options)
        extents = tuple(evaluate(text, known) for text in self.version.grid) or grid
        return Dispatch("specialized", "", "", self.converted, extents, arguments, options)

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        def launch(**given: Any) -> None:
            dispatch = self.resolve(grid=grid, config=self._config(given), **given)
            if dispatch.path == "specialized":
                self.converted[dispatch.grid](**dispatch.kwargs, **dispatch.options)
                self.counters.ran_fast()
            else:
                self.original[grid](**given)
                self.counters.ran_original(dispatch.code)

        return launch

    def _config(self, given: Mapping[str, Any]) -> dict[str, object]:
        """What the config of a launch says to the second version alone: the first's constexprs tell which it is."""
        for config in self.contract.configs:
            values = {**dict(config.values), "num_warps": config.num_warps, "num_stages": config.num_stages}
            if all(given.get(name, value) == value for name, value in values.items()):
                return values
        return {}


class Unsuitable(Exception):
    """The second version cannot take this launch: its memory does not suit a descriptor. Carries why."""


def argument(text: str, known: Mapping[str, Any]) -> Any:
    """The value that a text stands for: a name, a literal, an expression or a descriptor over `known` values.

    Raises:
        KeyError: an unknown name.
        ValueError: none of these.
        Unsuitable: a descriptor over memory that the TMA cannot read.
    """
    node = ast.parse(text, mode="eval").body
    match node:
        case ast.Name(id=name):
            return known[name]
        case ast.Call(func=ast.Name(id="descriptor"), args=[ast.Name(id=name), ast.List(elts=box)], keywords=[]):
            return descriptor(known[name], [evaluate(ast.unparse(extent), known) for extent in box])
    try:
        return ast.literal_eval(node)
    except ValueError:
        return evaluate(text, known)


def descriptor(tensor: Any, box: list[int]) -> Any:
    """A host descriptor over a whole tensor. Raises Unsuitable."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    if 0 in tensor.shape:
        raise Unsuitable("a descriptor has no empty axis")
    strides = list(tensor.stride())
    size = tensor.element_size()
    if strides[-1] != 1 or tensor.data_ptr() % 16 or any(stride * size % 16 for stride in strides[:-1]):
        raise Unsuitable("the TMA reads memory whose rows are contiguous and begin on 16 bytes")
    return TensorDescriptor(tensor, list(tensor.shape), strides, box)
