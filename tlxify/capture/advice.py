"""What to change so that a launch takes the fast path: the guard's reason, in terms of the user's tensor."""

from __future__ import annotations

from ..bench.itemsize import itemsize
from .launches import Launch, Tensor

#: The TMA's alignment of addresses and strides, in bytes.
ALIGNED = 16


def advice(code: str, text: str, launch: Launch) -> str | None:
    """One sentence for a fallback that a different allocation avoids; None for any other reason.

    `code` and `text` are the launcher's; the text begins with the parameter's name.
    """
    tensor = launch.tensor(text.split(" ", 1)[0])
    if tensor is None:
        return None
    unit = ALIGNED // itemsize(tensor.dtype)
    match code:
        case "unaligned-stride":
            return _padded(tensor, unit)
        case "unaligned-base":
            return (
                f"begin {tensor.name} at a multiple of 16 bytes: cut the view at multiples of {unit} elements, or copy "
                "it once"
            )
        case "no-unit-stride" | "stride-sign":
            return f"make {tensor.name} contiguous along one of its last two axes (`.contiguous()` where it is made)"
        case "overlap":
            return f"store {tensor.name} to memory of its own: the kernel reads from where it is stored"
        case _:
            return None


def _padded(tensor: Tensor, unit: int) -> str:
    wrong = [stride for stride in tensor.strides if stride != 1 and stride % unit]
    if not wrong:
        return f"pad the rows of {tensor.name} to multiples of {unit} elements"
    stride = min(wrong)
    wide = -(-stride // unit) * unit
    return (
        f"pad the rows of {tensor.name} from {stride} to {wide} elements: allocate it {wide} wide and pass "
        f"[..., :{stride}]"
    )
