"""What a generated guard is written in: views the TMA can read, requirements, and the fallback they raise.

A guard is plain Python that a reader can follow: it receives the source's arguments by name, describes each operand
as a `tma_view`, states its requirements, and returns the arguments of the specialized kernel. A requirement that does
not hold raises `Fallback`, and the original kernel runs.

The rules of a view are those of `cuTensorMapEncodeTiled` (CUDA driver API) and of the host descriptor of Triton.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from triton.tools.tensor_descriptor import TensorDescriptor

from tlx.launch.pointers import (
    Address,
    ByteRange,
    Pointer,
    base_of,
    byte_range,
    dtype_name,
    is_descriptor,
    is_pointer,
    storage_of,
)

__all__ = [
    "TO_END",
    "CopiedRows",
    "Fallback",
    "Memory",
    "TmaView",
    "copied_rows",
    "memory",
    "require",
    "require_along_depth",
    "require_block",
    "require_disjoint",
    "require_dtypes",
    "require_starts",
    "tma_view",
]

#: The TMA takes base addresses and strides in units of this many bytes.
TMA_ALIGNMENT = 16
#: Triton tells the compiler of an argument that it is a multiple of this.
COPIED_ELEMENTS = 16
#: Strides must stay below this many bytes.
TMA_STRIDE_LIMIT = 2**40
#: Dimensions of a tensor map.
TMA_MAX_RANK = 5
#: Triton passes extents as 32-bit integers; as an extent it stands for "no bound": the TMA clips nothing there.
UNBOUNDED = 2**31 - 1


class ToEnd:
    """The type of `TO_END`."""

    def __repr__(self) -> str:
        return "tlx.TO_END"


#: As an extent: the axis goes on for as long as the tensor's memory holds whole steps of it.
TO_END = ToEnd()


class Fallback(Exception):
    """The original kernel must run: a kebab-case `code` to count by, and one sentence that names the argument."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(code, text)
        self.code = code
        self.text = text

    def __str__(self) -> str:
        return f"{self.code}: {self.text}"

    def untraced(self) -> Fallback:
        """The same reason without a traceback: one that is kept would keep the tensors of its frames alive."""
        return Fallback(self.code, self.text)


@dataclass(frozen=True, slots=True)
class TmaView:
    """An operand in global memory that the TMA can read, in the axis order of the source's tiles."""

    name: str
    pointer: Pointer
    #: Extents in elements; `UNBOUNDED` where the source does not mask the axis.
    shape: tuple[int, ...]
    #: Strides in elements; those of axes with one element are made up, for no address depends on them.
    strides: tuple[int, ...]
    #: Whether the axis before the last is the contiguous one, so that the descriptor swaps the last two.
    transposed: bool
    #: What a load through the view may read: `require_disjoint` compares it with what is stored.
    bytes: ByteRange

    @property
    def itemsize(self) -> int:
        """The size of one element, in bytes."""
        return self.pointer.element_size()

    def detached(self) -> TmaView:
        """The same view without a hold on the tensor."""
        address = Address.of(self.pointer)
        return TmaView(self.name, address, self.shape, self.strides, self.transposed, self.bytes)

    def stored_order(self, axes: Sequence[int]) -> list[int]:
        """`axes`, one value per axis of the source, in the order of memory: contiguous axis last."""
        return [*axes[:-2], axes[-1], axes[-2]] if self.transposed else list(axes)

    def descriptor(self, box: Sequence[int]) -> Any:
        """The host descriptor whose loads fill one `box` (elements, axes in source order)."""
        order = self.stored_order
        return TensorDescriptor(self.pointer, order(self.shape), order(self.strides), order(box))


def tma_view(name: str, pointer: Any, shape: Sequence[int | ToEnd | None], strides: Sequence[int]) -> TmaView:
    """`pointer` seen as a tensor of `shape` and `strides` (elements, batch axes first), if the TMA can read it.

    `pointer` may also be a descriptor that the caller made: what it describes is looked at.

    One of the last two axes must be contiguous; where both would do, the last is taken. An extent of `None` means
    that the source does not mask the axis. One of `TO_END` means that how far the source reads is not known before it
    runs, and that it may be read further: no element of the view lies past the end of the tensor's storage. Raises
    `Fallback` with code `not-a-pointer`, `rank`, `empty`, `extent-range`, `unaligned-base`, `no-unit-stride`,
    `unaligned-stride`, `stride-sign`, `stride-range`, `storage-unknown` or `padding`.
    """
    if is_descriptor(pointer):
        if pointer.padding != "zero" or getattr(pointer, "round_f32_to_tf32", False):
            raise Fallback("padding", f"what {name} reads is not what lies in memory, with zeros around it")
        pointer = pointer.base
    if not is_pointer(pointer):
        raise Fallback("not-a-pointer", f"{name} is {type(pointer).__name__}, not a tensor")
    shape = _ended(name, pointer, shape, strides)
    if not 1 <= len(shape) <= TMA_MAX_RANK:
        raise Fallback("rank", f"{name} has {len(shape)} axes; the TMA reads 1 to {TMA_MAX_RANK}")
    for axis, extent in enumerate(shape):
        if extent is not None and extent < 1:
            raise Fallback("empty", f"{name} has extent {extent} along axis {axis}")
        if extent is not None and extent > UNBOUNDED:
            raise Fallback("extent-range", f"{name} has extent {extent} along axis {axis}, past 32 bits")
    if past := pointer.data_ptr() % TMA_ALIGNMENT:
        raise Fallback("unaligned-base", f"{name} starts {past} bytes past a multiple of 16")
    extents = tuple(UNBOUNDED if extent is None else extent for extent in shape)
    legal, transposed = _orient(name, extents, tuple(strides), pointer.element_size())
    return TmaView(name, pointer, extents, legal, transposed, byte_range(pointer, shape, strides))


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory that is read through an ordinary pointer: counts, flags, indices."""

    name: str
    #: What a load may read: `require_disjoint` compares it with what is stored.
    bytes: ByteRange


@dataclass(frozen=True, slots=True)
class CopiedRows:
    """An operand whose tiles threads copy, row by row: each row may lie anywhere in the memory behind a pointer."""

    name: str
    #: The size of one element, in bytes.
    itemsize: int
    #: What a copy may read: `require_disjoint` compares it with what is stored.
    bytes: ByteRange
    #: As of a `TmaView`: slots lie as the kernel says, whatever the launch.
    transposed: bool = False


def copied_rows(name: str, pointer: Any, *, unit: int, steps: Iterable[int | Sequence[int]]) -> CopiedRows:
    """`pointer` as memory of which threads copy rows, each thread 16 bytes at a time.

    `unit` is the stride along a row, in elements. `steps` are what rows begin at sums of multiples of, and where masks
    end them; a sequence stands for a product. Of each a factor must be a multiple of 16 elements, as Triton knows of
    arguments: then the compiler proves what a copy of several elements needs. Raises `Fallback` with code
    `not-a-pointer`, `unaligned-base`, `no-unit-stride` or `copy-step`.
    """
    if not is_pointer(pointer):
        raise Fallback("not-a-pointer", f"{name} is {type(pointer).__name__}, not a tensor")
    if past := pointer.data_ptr() % TMA_ALIGNMENT:
        raise Fallback("unaligned-base", f"{name} starts {past} bytes past a multiple of 16")
    if unit != 1:
        raise Fallback("no-unit-stride", f"{name} has stride {unit} along its rows: threads copy what lies together")
    for step in steps:
        factors = (step,) if isinstance(step, int) else tuple(step)
        if all(factor % COPIED_ELEMENTS for factor in factors):
            product = " * ".join(map(str, factors))
            raise Fallback("copy-step", f"rows of {name} begin or end at multiples of {product} elements, not of 16")
    return CopiedRows(name, pointer.element_size(), byte_range(base_of(pointer), (None,), (1,)))


def memory(name: str, pointer: Any) -> Memory:
    """Everything behind `pointer`, as far as its storage goes. Nothing, if it is `None`."""
    return Memory(name, ByteRange(0, 0) if pointer is None else byte_range(base_of(pointer), (None,), (1,)))


def require_dtypes(pointers: Mapping[str, Any], allowed: Iterable[str], *, same: bool = True) -> None:
    """Every pointer has one of the `allowed` dtypes (short names), and all have one and the same unless `same=False`.

    Raises `Fallback` with code `dtype`.
    """
    names = {name: dtype_name(base_of(pointer).dtype) for name, pointer in pointers.items()}
    allowed = tuple(allowed)
    for name, dtype in names.items():
        require(dtype in allowed, "dtype", f"{name} is {dtype}, not {' or '.join(allowed)}")
    if same and len(set(names.values())) > 1:
        raise Fallback(
            "dtype", "the dtypes differ: " + ", ".join(f"{name} is {dtype}" for name, dtype in names.items())
        )


def require_along_depth(view: TmaView, *, transposed: bool) -> None:
    """Operands of 8 bits lie along the axis that the dot contracts; that is the last but one where `transposed`.

    Only of 16-bit operands does the tensor core read either order. Raises `Fallback` with code `depth-stride`.
    """
    if view.itemsize == 1 and view.transposed != transposed:
        text = f"{view.name} is not contiguous along the axis that its dot contracts, as 8-bit operands must be"
        raise Fallback("depth-stride", text)


def require_starts(view: TmaView, *, axis: int, steps: Sequence[int]) -> None:
    """Tiles of `view` start at sums of multiples of `steps` elements along `axis`, -1 or -2.

    Along the contiguous axis the TMA starts at whole 16 bytes only: anything else ends in an illegal instruction
    (measured on an H200 under Triton 3.6). Raises `Fallback` with code `tile-start`.
    """
    contiguous = -2 if view.transposed else -1
    for step in steps if axis == contiguous else ():
        if step * view.itemsize % TMA_ALIGNMENT:
            text = f"tiles of {view.name} start at any multiple of {step} elements along its contiguous axis"
            raise Fallback("tile-start", f"{text}, the TMA at whole 16 bytes")


def require_disjoint(
    name: str,
    pointer: Any,
    shape: Sequence[int | None],
    strides: Sequence[int],
    reads: Iterable[TmaView | Memory | CopiedRows],
) -> None:
    """What is stored through `pointer` touches no byte of `reads`: the producer reads ahead of the stores.

    Byte ranges are compared, so interleaved views of one tensor count as overlapping. A pointer that is `None`
    stores nothing. Raises `Fallback` with code `overlap`.
    """
    if pointer is None:
        return
    stored = byte_range(base_of(pointer), shape, strides)
    for view in reads:
        if stored.overlaps(view.bytes):
            raise Fallback("overlap", f"{name} is stored to where {view.name} is read")


def require_block(name: str, descriptor: Any, block: Sequence[int]) -> None:
    """The blocks of a caller's descriptor are as long as the source takes them to be.

    `None` stands for a descriptor whose blocks a config's hook is still to set. Raises `Fallback` with code `block`.
    """
    if descriptor is None:
        return
    if not is_descriptor(descriptor):
        raise Fallback("block", f"{name} is {type(descriptor).__name__}, not a tensor descriptor")
    if tuple(descriptor.block_shape) != tuple(block):
        raise Fallback("block", f"{name} has blocks of {list(descriptor.block_shape)}, not of {list(block)}")


def require(condition: bool, code: str, text: str) -> None:
    """Raise `Fallback(code, text)` unless `condition` holds."""
    if not condition:
        raise Fallback(code, text)


def _ended(
    name: str, pointer: Pointer, shape: Sequence[int | ToEnd | None], strides: Sequence[int]
) -> tuple[int | None, ...]:
    """`shape` with a number in place of `TO_END`: the steps after which the last element still lies in the storage."""
    known = tuple(extent for extent in shape if not isinstance(extent, ToEnd))
    if len(known) == len(shape):
        return known
    others = [(e, s) for e, s in zip(shape, strides, strict=True) if not isinstance(e, ToEnd)]
    if any(extent is None for extent, _ in others) or len(known) != len(shape) - 1:
        raise Fallback("storage-unknown", f"how far {name} reaches along another axis is not known")
    ((step),) = (s for e, s in zip(shape, strides, strict=True) if isinstance(e, ToEnd))
    if step <= 0:
        raise Fallback("stride-sign", f"{name} has stride {step} along the axis that goes to its end")
    end = storage_of(pointer).end
    if end == math.inf:
        raise Fallback("storage-unknown", f"{name} does not say where its memory ends")
    elements = (int(end) - pointer.data_ptr()) // pointer.element_size()
    beside = sum((extent - 1) * stride for extent, stride in others if isinstance(extent, int) and stride > 0)
    steps = min((elements - 1 - beside) // step + 1, UNBOUNDED)
    return tuple(steps if isinstance(extent, ToEnd) else extent for extent in shape)


def _orient(name: str, shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> tuple[tuple[int, ...], bool]:
    """The strides a descriptor may carry, and whether the axis before the last is its contiguous one."""
    rank = len(shape)
    last = _legal_strides(name, shape, strides, itemsize, rank - 1)
    if not isinstance(last, Fallback):
        return last, False
    before = _legal_strides(name, shape, strides, itemsize, rank - 2) if rank > 1 else last
    if not isinstance(before, Fallback):
        return before, True
    # What rules out the order with a unit stride says more than "no unit stride" does.
    raise before if last.code == "no-unit-stride" else last


def _legal_strides(
    name: str, shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int, inner: int
) -> tuple[int, ...] | Fallback:
    """`strides` with the irrelevant ones (axes of one element) made legal; `inner` must be contiguous."""
    if strides[inner] != 1 and shape[inner] != 1:
        return Fallback("no-unit-stride", f"{name} has strides {strides}: neither of the last two axes is contiguous")
    legal = list(strides)
    legal[inner] = 1
    for axis, (extent, stride) in enumerate(zip(shape, strides, strict=True)):
        if axis == inner:
            continue
        if extent == 1:
            legal[axis] = TMA_ALIGNMENT // itemsize
        elif stride <= 0:
            # The driver does not say that a tensor map may repeat or reverse an axis: leave those to the original.
            return Fallback("stride-sign", f"{name} has stride {stride} along axis {axis}")
        elif stride * itemsize % TMA_ALIGNMENT:
            step = f"{stride * itemsize} bytes along axis {axis}"
            return Fallback("unaligned-stride", f"{name} steps {step}, not a multiple of 16")
        elif stride * itemsize >= TMA_STRIDE_LIMIT:
            return Fallback("stride-range", f"{name} steps {stride * itemsize} bytes along axis {axis}, past 2**40")
    return tuple(legal)
