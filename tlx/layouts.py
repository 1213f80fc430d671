"""Layouts of shared memory that an author can ask for: ``tlx.local_alloc(..., layout=...)``.

Names, arguments and meanings are those of Meta's TLX. A layout is a description; a kernel makes one where it allocates,
or keeps it as a ``tl.constexpr``. It says where in its tile an element lies and changes no value. Those that TMA and
wgmma read are ``nv_mma_shared_layout_encoding``s, which is also what a tile gets that asks for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import triton.language as tl
from triton.experimental.gluon.language import _layouts as gluon
from triton.language.core import _unwrap_if_constexpr

from .builtin import TLXError
from .types import TMemCTAMode

F = TypeVar("F", bound=Callable[..., Any])


def _plain(value: Any) -> Any:
    """What an argument stands for; sequences become tuples, so that layouts are values."""
    value = _unwrap_if_constexpr(value)
    if isinstance(value, (list, tuple, tl.tuple)):
        return tuple(_plain(item) for item in value)
    return value


def _named(function: F) -> F:
    """Marks what kernels call by its class's name: Triton takes builtins only."""
    function.__triton_builtin__ = True  # type: ignore[attr-defined]
    return function


def _power_of_two(value: Any, what: str) -> None:
    if not isinstance(value, int) or value < 1 or value & (value - 1):
        raise TLXError(f"{what} must be a power of two, not {value}")


def _permutation(order: Any, rank: int, what: str) -> None:
    if not isinstance(order, tuple) or sorted(order) != list(range(rank)):
        raise TLXError(f"{what} must list the axes 0 to {rank - 1}, the fastest first, not {order}")


def _one_cta(layout: Any, *fields: str) -> None:
    """A program of TLX is one CTA, so a layout that splits a tile over several cannot be meant."""
    for name in fields:
        value = getattr(layout, name)
        if any(count != 1 for count in (value if isinstance(value, tuple) else (value,)) if count is not None):
            raise TLXError(f"{type(layout).__name__}: {name} must be 1 everywhere, since a program is one CTA")


@dataclass(frozen=True)
class layout_encoding:
    """Base of all layouts."""

    def __post_init__(self) -> None:
        for name, value in list(vars(self).items()):
            object.__setattr__(self, name, _plain(value))
        self.check()

    def check(self) -> None:
        """Raises ``TLXError`` for arguments that are no layout."""


@dataclass(frozen=True)
class shared_layout_encoding(layout_encoding):
    """Base of layouts of shared memory."""

    def gluon(self, shape: Sequence[int], dtype: Any) -> Any:
        """The layout in Gluon's terms, of a tile of this shape."""
        raise TLXError(f"{type(self).__name__} is no layout by itself: take one of its kinds")


@dataclass(frozen=True)
class swizzled_shared_layout_encoding(shared_layout_encoding):
    """Groups of ``vectorSize`` elements along the fastest axis, exchanged by XOR with the row: each ``perPhase`` rows
    share one of ``maxPhase`` patterns. With ``maxPhase`` 1 elements lie in their natural order.
    """

    vectorSize: int
    perPhase: int
    maxPhase: int
    order: Any
    numCTAs: Any
    numCTAsPerCGA: Any
    numCTASplit: Any
    numCTAOrder: Any

    @classmethod
    @_named
    def make_default(cls, rank: int) -> swizzled_shared_layout_encoding:
        """The natural order, the last axis fastest."""
        axes, ones = tuple(reversed(range(_plain(rank)))), (1,) * _plain(rank)
        return cls(1, 1, 1, axes, ones, ones, ones, axes)

    def make_permute(self, dims: Any) -> swizzled_shared_layout_encoding:
        """The layout under permuted axes."""
        return replace(self, order=tuple(self.order[dim] for dim in _plain(dims)))

    def check(self) -> None:
        """Sizes are powers of two, the order names every axis, and there is one CTA."""
        for name in ("vectorSize", "perPhase", "maxPhase"):
            _power_of_two(getattr(self, name), f"{name} of swizzled_shared_layout_encoding")
        _one_cta(self, "numCTAs", "numCTAsPerCGA", "numCTASplit")

    def gluon(self, shape: Sequence[int], dtype: Any) -> Any:
        """Gluon's SwizzledSharedLayout."""
        _permutation(self.order, len(shape), "order of swizzled_shared_layout_encoding")
        return gluon.SwizzledSharedLayout(self.vectorSize, self.perPhase, self.maxPhase, list(self.order))


@dataclass(frozen=True)
class swizzled_layout(shared_layout_encoding):
    """A swizzle in CuTe's notation: ``bits`` bits of an element's place in the tile, ``shift`` above bit ``base``, are
    XORed into those from ``base`` on.

    ``order`` lists the axes, the fastest first; the default is the last axis first.
    """

    bits: int
    base: int = 0
    shift: int = 0
    order: Any = None

    @classmethod
    @_named
    def make_default(cls, rank: int) -> swizzled_layout:
        """The natural order, the last axis fastest."""
        return cls(0, order=tuple(reversed(range(_plain(rank)))))

    def check(self) -> None:
        """Numbers of bits are not negative."""
        if any(not isinstance(value, int) or value < 0 for value in (self.bits, self.base, self.shift)):
            raise TLXError(f"swizzled_layout takes three numbers of bits, not {self.bits, self.base, self.shift}")

    def gluon(self, shape: Sequence[int], dtype: Any) -> Any:
        """Gluon's SwizzledSharedLayout: ``shift + base`` must reach past a row, since whole rows share a pattern."""
        order = tuple(reversed(range(len(shape)))) if self.order is None else self.order
        _permutation(order, len(shape), "order of swizzled_layout")
        row = shape[order[0]]
        span = 1 << (self.shift + self.base)
        if self.bits and span % row:
            raise TLXError(
                f"swizzled_layout({self.bits}, {self.base}, {self.shift}) of rows of {row} elements: shift + base must "
                f"be at least {row.bit_length() - 1}"
            )
        phase = span // row if self.bits else 1
        return gluon.SwizzledSharedLayout(1 << self.base, phase, 1 << self.bits, list(order))


@dataclass(frozen=True)
class nv_mma_shared_layout_encoding(shared_layout_encoding):
    """The layout that TMA and the tensor cores read. A swizzled one takes the widest pattern that divides a row: 128,
    64 or 32 bytes; of those that are not, stock Triton's wgmma reads few. ``order`` with the last axis first is row by
    row, with the first axis first transposed.
    """

    shape: Any
    order: Any
    elemType: Any
    numCTAsPerCGA: Any
    numCTASplit: Any
    numCTAOrder: Any
    fp4Padded: bool
    swizzled: bool

    @classmethod
    @_named
    def make_default(cls, shape: Any, elemType: Any, fp4Padded: bool = False) -> nv_mma_shared_layout_encoding:
        """What a tile gets that asks for no layout."""
        extents = _plain(shape)
        axes, ones = tuple(reversed(range(len(extents)))), (1,) * len(extents)
        return cls(extents, axes, elemType, ones, ones, axes, fp4Padded, True)

    def make_permute(self, dims: Any) -> nv_mma_shared_layout_encoding:
        """The layout under permuted axes."""
        return replace(self, order=tuple(self.order[dim] for dim in _plain(dims)))

    def check(self) -> None:
        """There is one CTA."""
        _one_cta(self, "numCTAsPerCGA", "numCTASplit")

    def gluon(self, shape: Sequence[int], dtype: Any) -> Any:
        """Gluon's NVMMASharedLayout."""
        rank = len(shape)
        if self.shape != tuple(shape) or self.elemType != dtype:
            raise TLXError(
                f"nv_mma_shared_layout_encoding of {list(self.shape)} x {self.elemType} for a tile of {list(shape)} x "
                f"{dtype}: both must be the tile's"
            )
        rows, columns = tuple(reversed(range(rank))), (0, *reversed(range(1, rank)))
        if self.order not in (rows, columns):
            raise TLXError(f"order of nv_mma_shared_layout_encoding is {rows} or, transposed, {columns}")
        transposed = self.order != rows
        made = gluon.NVMMASharedLayout.get_default_for(list(shape), dtype, transposed, self.fp4Padded)
        return made if self.swizzled else replace(made, swizzle_byte_width=0)


@dataclass(frozen=True)
class padded_shared_layout_encoding(shared_layout_encoding):
    """Elements in their order, with ``paddings[i]`` unused ones after each ``intervals[i]``: rows then begin in
    different banks. ``offset_bases`` say where the bits of an element's place lead, instead of ``order``.
    """

    intervals: Any
    paddings: Any
    order: Any
    shape: Any
    numCTAsPerCGA: Any
    numCTASplit: Any
    numCTAOrder: Any
    offset_bases: Any = None
    block_bases: Any = None

    @staticmethod
    @_named
    def with_bases(
        interval_padding_pairs: Any, offset_bases: Any, shape: Any, block_bases: Any = None
    ) -> padded_shared_layout_encoding:
        """Pairs of interval and padding, and one vector for each bit of an element's place."""
        pairs, extents = _plain(interval_padding_pairs), _plain(shape)
        axes, ones = tuple(range(len(extents))), (1,) * len(extents)
        return padded_shared_layout_encoding(
            tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs), axes[::-1], extents, ones, ones, axes,
            offset_bases, block_bases,
        )  # fmt: skip

    @staticmethod
    @_named
    def with_identity_for(interval_padding_pairs: Any, shape: Any, order: Any = None) -> padded_shared_layout_encoding:
        """Pairs of interval and padding over the natural order of a shape."""
        pairs, extents = _plain(interval_padding_pairs), _plain(shape)
        axes, ones = tuple(range(len(extents))), (1,) * len(extents)
        return padded_shared_layout_encoding(
            tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs),
            axes[::-1] if _plain(order) is None else order, extents, ones, ones, axes,
        )  # fmt: skip

    def make_permute(self, dims: Any) -> padded_shared_layout_encoding:
        """The layout under permuted axes."""
        turned = [tuple(values[dim] for dim in _plain(dims)) for values in (self.order, self.shape)]
        return replace(self, order=turned[0], shape=turned[1])

    def check(self) -> None:
        """Intervals and paddings are powers of two, as many of one as of the other, and there is one CTA."""
        if not self.intervals or len(self.intervals) != len(self.paddings):
            raise TLXError("padded_shared_layout_encoding takes as many intervals as paddings, at least one")
        if len(set(self.intervals)) != len(self.intervals):
            raise TLXError(f"padded_shared_layout_encoding: intervals must differ, they are {self.intervals}")
        for value in (*self.intervals, *self.paddings):
            _power_of_two(value, "an interval or padding of padded_shared_layout_encoding")
        _one_cta(self, "numCTAsPerCGA", "numCTASplit")
        if self.block_bases:
            raise TLXError("padded_shared_layout_encoding: block_bases must be empty, since a program is one CTA")

    def gluon(self, shape: Sequence[int], dtype: Any) -> Any:
        """Gluon's PaddedSharedLayout."""
        if self.shape != tuple(shape):
            raise TLXError(
                f"padded_shared_layout_encoding of {list(self.shape)} for a tile of {list(shape)}: they must be one"
            )
        pairs = [list(pair) for pair in zip(self.intervals, self.paddings, strict=True)]
        if self.offset_bases is not None:
            _bases(self.offset_bases, len(shape), "padded_shared_layout_encoding")
            return gluon.PaddedSharedLayout(pairs, [list(basis) for basis in self.offset_bases], [], list(shape))
        _permutation(self.order, len(shape), "order of padded_shared_layout_encoding")
        return gluon.PaddedSharedLayout.with_identity_for(pairs, list(shape), list(self.order))


@dataclass(frozen=True)
class shared_linear_layout_encoding(shared_layout_encoding):
    """One vector for each bit of an element's place in the tile, the lowest first: where that bit leads."""

    offset_bases: Any
    block_bases: Any = None
    alignment: int = 16

    def check(self) -> None:
        """There is one CTA."""
        _power_of_two(self.alignment, "alignment of shared_linear_layout_encoding")
        if self.block_bases:
            raise TLXError("shared_linear_layout_encoding: block_bases must be empty, since a program is one CTA")

    def gluon(self, shape: Sequence[int], dtype: Any) -> Any:
        """Gluon's SharedLinearLayout."""
        _bases(self.offset_bases, len(shape), "shared_linear_layout_encoding")
        return gluon.SharedLinearLayout([list(basis) for basis in self.offset_bases], [], self.alignment)


def _bases(bases: Any, rank: int, what: str) -> None:
    if not bases or any(not isinstance(basis, tuple) or len(basis) != rank for basis in bases):
        raise TLXError(f"offset_bases of {what} are vectors of {rank} numbers, not {bases}")


@dataclass(frozen=True)
class tensor_memory_layout_encoding(shared_layout_encoding):
    """The layout of a tile in tensor memory. Each tile has one, so ``local_alloc`` takes none, as in Meta's TLX: this
    describes it.
    """

    blockM: int
    blockN: int
    colStride: int
    CTASplitM: int
    CTASplitN: int
    ctaMode: int = TMemCTAMode.DEFAULT

    @classmethod
    @_named
    def make_default(cls, shape: Any) -> tensor_memory_layout_encoding:
        """What a tile of this shape gets."""
        extents = _plain(shape)
        return cls(extents[0], extents[1], 1, 1, 1)

    def gluon(self, shape: Sequence[int], dtype: Any) -> Any:
        """Refused: shared memory has no such layout."""
        raise TLXError("tensor_memory_layout_encoding is no layout of shared memory")
