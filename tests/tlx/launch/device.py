"""A Hopper that does nothing: Triton compiles and launches as ever, but calls into CUDA are recorded and return."""

from types import SimpleNamespace
from typing import Any

from triton.backends.compiler import GPUTarget
from triton.backends.nvidia import driver as nvidia

#: What Triton 3.6 passes to its C launcher before the arguments of the kernel.
LEADING = 13


class Utils:
    """The CUDA driver, as far as Triton's launcher calls it."""

    def __init__(self) -> None:
        self.maps: list[tuple[Any, ...]] = []
        self.loaded = 0

    def load_binary(self, *_: Any) -> tuple[Any, ...]:
        self.loaded += 1
        return object(), self.loaded, 128, 0, 1024

    def get_device_properties(self, _: int) -> dict[str, int]:
        return {"max_shared_mem": 232_448, "multiprocessor_count": 132, "warpSize": 32}

    def fill_tma_descriptor(self, *what: Any) -> tuple[Any, ...]:
        """A tensor map, which here is what it was made from."""
        found = tuple(tuple(item) if isinstance(item, list) else item for item in what)
        self.maps.append(found)
        return found


class Device:
    """A driver for one device; `calls` are the arguments of each call of the C launcher."""

    def __init__(self) -> None:
        self.utils, self.launcher_cls = Utils(), nvidia.CudaLauncher
        self.device, self.stream = 0, 7
        self.calls: list[tuple[Any, ...]] = []
        self.error: Exception | None = None

    def get_current_device(self) -> int:
        return self.device

    def get_current_stream(self, _: int) -> int:
        return self.stream

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 90, 32)

    def get_benchmarker(self) -> Any:
        """Whichever is first is best."""
        return lambda call, quantiles: [call() or 1.0] * len(quantiles)

    def launch(self, *args: Any) -> None:
        if self.error is not None:
            raise self.error
        self.calls.append(args)


def install(patch: Any, device: Device) -> None:
    """Make `device` Triton's; `patch(object, name, value)` sets an attribute."""
    from triton.runtime.driver import driver

    from tlx.launch import chip

    patch(nvidia, "compile_module_from_src", lambda **_: SimpleNamespace(launch=device.launch))
    patch(nvidia, "library_dirs", list)
    patch(driver, "_active", device)
    patch(chip, "refusal", lambda pointers: None)
    chip.forget()
    chip.processors.cache_clear()
