"""A program written for a GPU, on a machine without one: its tensors are made on the CPU instead.

Only torch's Python interface is redirected: ``device="cuda"`` in any call, ``.cuda()``, and what programs ask before
they launch. Triton is given a driver that names a Hopper and has no device.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from triton.backends.compiler import GPUTarget
from triton.runtime import driver


class _Driver:
    """Answers what programs ask of the active driver."""

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 90, 32)

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cpu")

    def get_device_interface(self) -> Any:
        import torch

        return torch.cuda


def _on_cpu(value: Any) -> Any:
    """A device argument that names a GPU, as the CPU; everything else as it is."""
    text = value if isinstance(value, str) else getattr(value, "type", None) and str(value)
    return "cpu" if isinstance(text, str) and text.partition(":")[0] == "cuda" else value


def _torch_mode() -> Any:
    import torch
    from torch.overrides import TorchFunctionMode

    class CudaIsCpu(TorchFunctionMode):  # type: ignore[misc]
        """Replaces GPU devices in the arguments of every call of torch."""

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is torch.Tensor.cuda:
                return args[0]
            moved = {name: _on_cpu(value) if name == "device" else value for name, value in (kwargs or {}).items()}
            if func is torch.Tensor.to:
                args = tuple(_on_cpu(arg) for arg in args)
            return func(*args, **moved)

    return CudaIsCpu()


@contextmanager
def redirected(with_torch: bool) -> Iterator[None]:
    """Inside, programs find a Hopper whose memory is that of the CPU.

    Args:
        with_torch: whether the program uses torch, which takes seconds to import; it need not be installed otherwise.
    """
    before = driver._active
    driver.set_active(_Driver())
    try:
        if with_torch:
            with _torch():
                yield
        else:
            yield
    finally:
        driver.set_active(before)


@contextmanager
def _torch() -> Iterator[None]:
    import torch

    answers = {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_capability": lambda device=None: (9, 0),
        "get_device_name": lambda device=None: "simulated Hopper",
        "synchronize": lambda device=None: None,
        "set_device": lambda device: None,
        "empty_cache": lambda: None,
        "manual_seed": lambda seed: None,
        "manual_seed_all": lambda seed: None,
    }
    saved = {name: getattr(torch.cuda, name) for name in answers}
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)
    try:
        with _torch_mode():
            yield
    finally:
        for name, old in saved.items():
            setattr(torch.cuda, name, old)
