"""Module → the kernels of a file: those that can be bound where they are, and all others with what keeps them."""

from __future__ import annotations

from dataclasses import dataclass

from ..diagnostics import Decline
from ..model import Kernel, Module
from .aside import Aside, aside
from .kernels import enclosed_in, enclosing_views, find_kernels, kernel_named, returns_nothing


@dataclass(frozen=True, slots=True)
class Kernels:
    """The kernels of a file."""

    module: Module
    #: Those that can be bound where they are, in source order.
    bindable: tuple[Kernel, ...]
    #: The others, each with the reason.
    beside: tuple[Aside, ...]

    def chosen(self, names: tuple[str, ...] | None) -> tuple[Kernel, ...]:
        """The bindable kernels of those names, or all. Raises Decline TLX102 without any kernel, TLX103."""
        if not self.bindable and not self.beside:
            raise Decline("TLX102", None)
        if names is None:
            return self.bindable
        beside = [node.name for node, _ in self.beside]
        known = {kernel.bound: kernel for kernel in self.bindable} | {kernel.name: kernel for kernel in self.bindable}
        for name in names:
            named = kernel_named(self.module, name)
            if name not in known and named is not None and returns_nothing(named.node):
                known[name] = named  # jit code calls it, but whoever names it launches it somewhere
            if name not in known and name not in beside:
                every = dict.fromkeys((*(kernel.name for kernel in self.bindable), *beside))
                raise Decline("TLX103", None, name=name, known=", ".join(every))
        return tuple(known[name] for name in names if name in known)


def kernels_of(module: Module, elsewhere: frozenset[str] = frozenset()) -> Kernels:
    """The kernels of a module; `elsewhere` are jit functions that other files launch."""
    views = enclosing_views(module)
    own = find_kernels(module, elsewhere)
    taken = {kernel.name for kernel in own}
    made = [kernel for kernel in enclosed_in(views) if kernel.name not in taken]
    bindable = tuple(sorted((*own, *made), key=lambda kernel: kernel.span.line))
    return Kernels(module, bindable, aside(module, views, bindable))
