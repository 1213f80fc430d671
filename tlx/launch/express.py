"""Launching a compiled kernel again without asking Triton what it is.

`JITFunction.run` binds and specializes every argument, looks the kernel up by the text of all that, and encodes a
tensor map for each descriptor: on every launch, though the description of a launch (keys.py) fixes the outcome. An
`Express` is that outcome: the compiled kernel, its arguments as Triton's C launcher takes them, tensor maps encoded.
Tensors are in it as addresses, so nothing is kept alive.

What a description does not fix is looked at before each launch: hooks, knobs, globals the kernel was compiled with, the
driver, and whether Triton would still find this compiled kernel. If anything is out of the ordinary, Triton's own
launch runs, as it does on releases of Triton whose launcher was not looked into (versions.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from triton import knobs
from triton.compiler import CompiledKernel
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

from tlx.lowering import versions
from tlx.lowering.jit import TLXJITFunction

__all__ = ["Express", "capture"]

#: Where somebody has since put a launch of their own in its place, that one runs.
RUN = JITFunction.run
MISSING = object()


class Express:
    """A compiled kernel with its arguments, for one device."""

    __slots__ = (
        "_args", "_cache", "_call", "_compiled", "_device", "_driver", "_fixed", "_function", "_kernel", "_key",
        "_knobs", "_moving", "_stream",
    )  # fmt: skip

    def __init__(
        self,
        kernel: Any,
        compiled: Any,
        device: int,
        key: str,
        call: Callable[..., None],
        args: list[Any],
        moving: tuple[tuple[int, int], ...],
    ) -> None:
        launcher = compiled.run
        self._kernel, self._compiled, self._device, self._key = kernel, compiled, device, key
        self._driver, self._stream = driver.active, driver.active.get_current_stream
        self._cache = kernel.device_caches[device][0]
        self._knobs = _knobs(kernel)
        self._call, self._function = call, compiled.function
        #: What the launcher takes between the function and the kernel's arguments: no scratch memory, and no hooks.
        self._fixed = (
            launcher.launch_cooperative_grid, launcher.launch_pdl, None, None, compiled.packed_metadata, None, None,
            None,
        )  # fmt: skip
        self._args = args
        self._moving = moving

    def holds(self) -> bool:
        """Whether Triton would launch the very same, with nobody to tell."""
        kernel = self._kernel
        runtime = knobs.runtime
        enter, leave = runtime.launch_enter_hook, runtime.launch_exit_hook
        caches = kernel.device_caches.get(self._device)
        return not (
            kernel.pre_run_hooks
            or "run" in vars(kernel)
            or JITFunction.run is not RUN
            # A chain without calls is what Triton itself starts with.
            or (enter is not None and getattr(enter, "calls", MISSING))
            or (leave is not None and getattr(leave, "calls", MISSING))
            or caches is None
            or caches[0] is not self._cache
            or self._cache.get(self._key) is not self._compiled
            or _knobs(kernel) != self._knobs
            or driver.active is not self._driver
            or (kernel.used_global_vals and _globals_changed(kernel))
        )

    def launch(self, grid: Sequence[int], extents: Sequence[int]) -> Any:
        """Launch `grid` on the current stream; arguments that hold an axis of the source's grid are of `extents`."""
        args = self._args
        if self._moving:
            args = args.copy()
            for index, axis in self._moving:
                args[index] = extents[axis] if axis < len(extents) else 1
        rank = len(grid)
        self._call(
            grid[0],
            grid[1] if rank > 1 else 1,
            grid[2] if rank > 2 else 1,
            self._stream(self._device),
            self._function,
            *self._fixed,
            *args,
        )
        return self._compiled


def capture(
    kernel: Any, compiled: Any, device: int | None, values: Sequence[Any], moving: Iterable[tuple[int, int]] = ()
) -> Express | None:
    """How to repeat a launch of the jit function `kernel` that ran `compiled` with `values`, one per parameter.

    `moving` are parameters (slot, axis) that take an extent of the source's grid and so differ from launch to launch.
    `None` where the launch cannot be repeated without Triton.
    """
    if (
        not versions.ARGUMENTS_ONE_BY_ONE
        or device is None
        or type(kernel) not in (JITFunction, TLXJITFunction)
        or "run" in vars(kernel)
    ):
        return None
    from triton.backends.nvidia.driver import CudaLauncher

    launcher: Any = getattr(compiled, "_run", None)
    if type(compiled) is not CompiledKernel or type(launcher) is not CudaLauncher:
        return None
    if launcher.global_scratch_size or launcher.profile_scratch_size:
        return None
    # A parameter that Triton specializes on its value is another kernel for another value.
    if not all(kernel.params[slot].do_not_specialize for slot, _ in moving):
        return None
    cached = kernel.device_caches[device][0].items()
    key = next((key for key, kept in cached if kept is compiled), None)
    signature = list(compiled.src.signature.values())
    if key is None or len(signature) != len(values) or not all(isinstance(kind, str) for kind in signature):
        return None
    call = launcher.launch
    if any(kind.startswith("tensordesc") for kind in signature):
        # Triton wraps the function that takes tensor maps in one that encodes them.
        call = versions.launcher_of_maps(call)
        if call is None:
            return None
    places, args = _pack(signature, values, getattr(compiled.metadata, "tensordesc_meta", None) or ())
    return Express(kernel, compiled, device, key, call, args, tuple((places[slot], axis) for slot, axis in moving))


def _pack(signature: Sequence[str], values: Sequence[Any], maps: Sequence[Any]) -> tuple[list[int], list[Any]]:
    """The arguments of the C launcher, and where in them each parameter begins."""
    places: list[int] = []
    args: list[Any] = []
    encoded = iter(maps)
    for kind, value in zip(signature, values, strict=True):
        places.append(len(args))
        if kind.startswith("tensordesc"):
            args.extend(versions.map_arguments(value, next(encoded, None)))
        elif kind == "constexpr":
            # Compiled in: the launcher takes it and looks away.
            args.append(None)
        elif kind.startswith("*") and hasattr(value, "data_ptr"):
            args.append(value.data_ptr())
        else:
            args.append(value)
    return places, args


def _knobs(kernel: Any) -> tuple[Any, ...]:
    """The switches that Triton reads at each launch and compiles by."""
    return kernel.debug, knobs.runtime.debug, knobs.compilation.instrumentation_mode


def _globals_changed(kernel: Any) -> bool:
    """Whether a global that the kernel was compiled with has another value; Triton then raises."""
    return any(scope.get(name, MISSING) != value for (name, _), (value, scope) in list(kernel.used_global_vals.items()))
