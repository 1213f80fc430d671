"""Launches with ``ctas_per_cga``: the author's grid counts CTAs, that of Triton's launcher counts clusters.

All of it happens where a kernel is compiled, so that launching one again is Triton's own launch and costs nothing more:
the option becomes Triton's ``num_ctas``, and the compiled kernel of such a launch divides the grid by it.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import triton
from triton.compiler import CompiledKernel

from ..builtin import TLXError
from ..configs import cluster_size, unsupported

#: The author's option.
OPTION = "ctas_per_cga"


def as_num_ctas(name: str, kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments of a launch in Triton's terms.

    Raises:
        TLXError: this Triton cannot compile for clusters, or there are no such clusters.
    """
    if OPTION not in kwargs:
        return kwargs
    rest = {key: value for key, value in kwargs.items() if key != OPTION}
    size = cluster_size(kwargs[OPTION])
    if size == 1:
        return rest
    if reason := unsupported():
        raise TLXError(f"{name}: {reason}")
    return {**rest, "num_ctas": size}


def marked(options: Any, key: str) -> Any:
    """The options of a compilation, noting whether the launches that it is for count CTAs.

    ``key`` is what Triton knows these launches by: the text of their arguments' types and of the options they name.
    """
    if options.num_ctas == 1 or f"'{OPTION}': " not in key:
        return options
    options = copy.copy(options)
    object.__setattr__(options, OPTION, options.num_ctas)
    return options


def compile_counting(src: Any, target: Any = None, options: Any = None, **more: Any) -> Any:
    """``triton.compile`` for marked options."""
    compiled = triton.compile(src, target=target, options=options, **more)
    if OPTION in (options or {}):
        compiled.__class__ = _CountingCTAs
    return compiled


class _CountingCTAs(CompiledKernel):  # type: ignore[misc]
    """A compiled kernel whose grid counts CTAs."""

    @property
    def run(self) -> Any:
        """Triton's launcher behind a division.

        Raises:
            TLXError: (when launched) the grid cannot be cut into clusters.
        """
        launcher, size = super().run, self.metadata.num_ctas

        def launch(first: int, *rest: Any) -> None:
            if first % size:
                raise TLXError(f"a grid of {first} CTAs along its first axis cannot be cut into clusters of {size}")
            launcher(first // size, *rest)

        return launch
