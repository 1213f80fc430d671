"""Arguments in device memory: several sets, so that a launch does not find its own in the L2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from .itemsize import itemsize
from .sizes import Sizes, TensorSizes

#: Triton's names of element types, and torch's.
TORCH = {
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "fp64": "float64",
    "fp8e4nv": "float8_e4m3fn",
    "fp8e5": "float8_e5m2",
    "i1": "bool",
    **{f"{sign}{bits}": f"{name}{bits}" for sign, name in (("i", "int"), ("u", "uint")) for bits in (8, 16, 32, 64)},
}
#: Sets of arguments, at most; the share of free memory that they may take.
MOST, SHARE = 512, 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Arguments:
    """One set of tensors by parameter."""

    sizes: Sizes
    tensors: dict[str, Any]

    def outputs(self) -> dict[str, tuple[Any, str]]:
        """Copies of what the kernel writes, with its element type."""
        written = [tensor for tensor in self.sizes.tensors if tensor.spec.writes]
        return {each.spec.name: (self.tensors[each.spec.name].clone(), each.dtype) for each in written}

    def save(self) -> dict[str, Any]:
        """What the kernel writes, as it is now; what it only writes is poisoned first."""
        for each in self.sizes.tensors:
            if each.spec.writes and not each.spec.reads:
                tensor = self.tensors[each.spec.name]
                tensor.fill_(float("nan") if tensor.dtype.is_floating_point else 123 % 2)
        return {name: tensor for name, (tensor, _) in self.outputs().items()}

    def restore(self, saved: dict[str, Any]) -> None:
        """Puts back what `save` returned."""
        for name, tensor in saved.items():
            self.tensors[name].copy_(tensor)


def arguments_of(
    sizes: Sizes, seed: int, device: str = "cuda", contents: Mapping[str, str] = MappingProxyType({})
) -> Arguments:
    """Random arguments for a launch; another seed, other numbers and other memory.

    `contents` names files that hold the elements of some tensors in row-major order, as a capture saved them.

    Raises:
        ValueError: a file does not hold as many bytes as the tensor has.
    """
    import torch

    generator = torch.Generator(device=device).manual_seed(seed)
    tensors = {each.spec.name: _tensor(each, generator, device) for each in sizes.tensors}
    for name, path in contents.items():
        if name in tensors:
            content = torch.from_file(path, size=Path(path).stat().st_size, dtype=torch.uint8)
            expected = tensors[name].numel() * tensors[name].element_size()
            if content.numel() != expected:
                raise ValueError(f"{path} holds {content.numel()} bytes, not the {expected} of {name}")
            tensors[name].copy_(content.view(tensors[name].dtype).view(tensors[name].shape))
    return Arguments(sizes, tensors)


def sets_for(sizes: Sizes) -> int:
    """How many sets exceed the L2 twice over, as far as memory allows."""
    import torch

    total = max(1, sum(each.span * itemsize(each.dtype) for each in sizes.tensors))
    cache = int(torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size)
    free = int(torch.cuda.mem_get_info()[0])
    return max(1, min(MOST, max(2, 2 * cache // total + 1), int(SHARE * free // total)))


def cached(sizes: Sizes, sets: int) -> bool:
    """Whether so many sets of arguments are together no larger than the L2."""
    import torch

    total = sum(each.span * itemsize(each.dtype) for each in sizes.tensors)
    return sets * total <= int(torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size)


def difference(mine: Any, theirs: Any) -> float:
    """Norm of the difference over the norm of `theirs`; infinite where one is not finite and the other is."""
    import torch

    a, b = mine.double(), theirs.double()
    finite = torch.isfinite(b)
    if not torch.equal(torch.isfinite(a), finite) or not torch.equal(torch.isnan(a), torch.isnan(b)):
        return float("inf")
    zero = torch.zeros((), dtype=torch.float64, device=a.device)
    a, b = torch.where(finite, a, zero), torch.where(finite, b, zero)
    norm = b.norm().item()
    error = (a - b).norm().item()
    return error / norm if norm else (0.0 if error == 0.0 else float("inf"))


def _tensor(each: TensorSizes, generator: Any, device: str) -> Any:
    import torch

    kind = getattr(torch, TORCH[each.dtype])
    first = 1 if each.odd else 0
    # One more than needed: a tensor without elements has an address, too.
    count = first + each.span + 1
    if kind.is_floating_point:
        flat = torch.randn(count, device=device, generator=generator).to(kind)
    elif each.values:
        flat = torch.zeros(count, device=device, dtype=kind)
    else:
        low, high = (0, 2) if kind is torch.bool else (0 if each.dtype[0] == "u" else -8, 8)
        flat = torch.randint(low, high, (count,), device=device, generator=generator).to(kind)
    tensor = torch.as_strided(flat, each.shape, each.strides, first)
    if each.values:
        from ..verify.buffers import elements

        content = elements(each.spec.name, each.shape, each.dtype, "normal", each.values, each.spec.drawn)
        tensor.copy_(torch.from_numpy(content))
    return tensor
