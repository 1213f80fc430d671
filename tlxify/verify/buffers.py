"""Memory for one launch: tensors of any layout inside arrays whose every other element is a canary."""

from __future__ import annotations

import functools
import hashlib
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..contract import Contract, Drawn, TensorSpec, Undefined, complete, evaluate
from .cases import Case, Data
from .described import describable
from .dtypes import FORMATS, bits, encode, storage
from .grids import settle_grid
from .layouts import extents_of, settle_unused, settled_strides, wanted_strides

#: Elements before and after each tensor: a multiple of 16 bytes in every type, so that bases stay aligned.
MARGIN = 64
#: Bytes of canaries, and of outputs of types without a NaN to spare before a kernel writes them; by turns.
CANARIES, POISONS = (0xA5, 0x5A), (0xFB, 0xF9)
#: Bytes that are a NaN in every type with NaNs: canaries of the second turn. Zero times any other number is zero.
NAN = 0xFF
#: Bits of outputs before a kernel writes them: quiet NaNs with payloads that no arithmetic produces.
POISON_BITS = {"fp16": 0x7F55, "bf16": 0x7FEA, "fp32": 0x7FD55555}


class Inapplicable(Exception):
    """The contract ties strides so that the case's layouts cannot be had."""


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """A tensor of a launch in the array that owns its memory."""

    spec: TensorSpec
    dtype: str
    owner: Any
    #: A numpy view into `owner`.
    array: Any
    #: Which elements of `owner` belong to the tensor.
    mine: Any
    #: `owner` as it was before the launch.
    before: Any
    #: Which elements of `owner` belong to another tensor of the launch that is written; None where there is none.
    shared: Any = None

    @property
    def pattern(self) -> Any:
        """The tensor's elements as unsigned integers."""
        return bits(self.array.copy())

    def trespassed(self) -> Any:
        """Which elements of `owner` the launch wrote although it must not: all but the tensor, if that is written."""
        changed = bits(self.owner) != bits(self.before)
        if self.shared is not None:
            changed = changed & ~self.shared
        return changed & ~self.mine if self.spec.writes else changed

    def damaged(self, allowed: Any = None) -> str | None:
        """What the launch wrote where it must not, in words; `allowed` are elements that do not count."""
        wrong = self.trespassed()
        if allowed is not None and allowed.shape == wrong.shape:
            wrong = wrong & ~allowed
        if not wrong.any():
            return None
        if not self.spec.writes:
            return f"the input {self.spec.name} was written to"
        return f"{int(wrong.sum())} elements around {self.spec.name} were overwritten"

    @property
    def tells(self) -> bool:
        """Whether the launch wrote anything but zeros: what two kernels leave alone is equal whatever they do."""
        return bool((self.array[~self.unchanged()] != 0).any())

    def unwritten(self) -> Any:
        """Where the tensor holds the poison that it held before the launch.

        Nowhere if it is read, too: what is added may be so little that nothing changes, and equal bits are then equal
        results.
        """
        return np.zeros(self.array.shape, bool) if self.spec.reads else self.unchanged()

    def unchanged(self) -> Any:
        """Where the tensor still holds what it held before the launch."""
        start = self.array.__array_interface__["data"][0] - self.owner.__array_interface__["data"][0]
        before = np.ndarray(self.array.shape, self.array.dtype, self.before, start, self.array.strides)
        return bits(self.array.copy()) == bits(before.copy())


@dataclass(frozen=True, slots=True, eq=False)
class Arguments:
    """The arguments of one launch of the source kernel, by parameter."""

    tensors: Mapping[str, Memory]
    #: All other arguments, without those of the config.
    scalars: Mapping[str, object]
    #: Constexprs of the config.
    constants: Mapping[str, object]
    grid: tuple[int, ...]
    #: Whether every tensor got the layout that the case asked for.
    faithful: bool


def make_arguments(contract: Contract, case: Case, run: int) -> Arguments:
    """Arguments of `case` in fresh memory. Equal cases get equal inputs, whatever the `run`; poison differs by run.

    Raises:
        Inapplicable: the contract ties strides together in a way that the case's layouts contradict, or wants a
            descriptor of what none can describe.
        ContractFault: an expression of the contract has no value.
    """
    constants = case.constants(contract)
    scalars: dict[str, object] = dict(case.values)
    known = {**scalars, **constants}
    complete(contract, known)
    for name, expression in contract.computed:
        if name in contract.parameters:
            try:
                evaluate(expression, known)
            except Undefined:
                if name not in known:
                    raise
    scalars.update((name, known[name]) for name, _ in contract.computed if name in known)
    scalars.update(dict.fromkeys(contract.absent))
    grid = settle_grid(contract, known)
    dtypes = {tensor.name: contract.dtype_of(tensor, case.dtype) for tensor in contract.tensors}
    tensors: dict[str, Memory] = {}
    strides_by_name = {scalar.name for scalar in contract.scalars if scalar.kind == "stride"}
    faithful, first_read = True, next((tensor.name for tensor in contract.tensors if tensor.reads), None)
    specs = sorted(contract.tensors, key=lambda spec: spec.name != first_read)
    shapes = {spec.name: extents_of(spec, known) for spec in specs}
    # Where several have one stride, the largest says how far apart its rows must lie.
    for spec in sorted(specs, key=lambda spec: -math.prod(shapes[spec.name])):
        itemsize = storage(dtypes[spec.name]).itemsize
        wanted = wanted_strides(spec, case.layout(spec.name), shapes[spec.name], itemsize, known)
        settled_strides(spec, wanted, known, strides_by_name)
    for spec in specs:
        dtype, shape = storage(dtypes[spec.name]), shapes[spec.name]
        wanted = wanted_strides(spec, case.layout(spec.name), shape, dtype.itemsize, known)
        strides = settled_strides(spec, wanted, known, strides_by_name)
        # Only what descriptors need of a layout: how vectors and batches lie apart, they take as it comes.
        # What a flag repeats along an axis has no layout there.
        pairs = list(zip(strides, wanted, strict=True))[-2:]
        faithful &= len(shape) < 2 or all(stride in (0, step) for stride, step in pairs)
        under = tensors[first_read].owner if case.layout(spec.name) == "overlap" and first_read in tensors else None
        values = tuple(evaluate(expression, known) for expression in spec.values)
        memory = _memory(spec, dtypes[spec.name], shape, strides, case, run, under, values)
        tensors[spec.name] = memory
        if under is not None and first_read is not None:
            lender = tensors[first_read]
            if spec.writes and lender.owner is memory.owner:
                kept = memory.mine if lender.shared is None else memory.mine | lender.shared
                tensors[first_read] = replace(lender, shared=kept)
            if lender.spec.writes:
                tensors[spec.name] = replace(memory, shared=lender.mine)
    settle_unused(known, strides_by_name)
    scalars.update((name, known[name]) for name in strides_by_name)
    for spec_ in contract.constexprs:
        if spec_.kind == "dtype" and spec_.dtype_of is not None and spec_.name not in known:
            scalars[spec_.name] = tensors[spec_.dtype_of].dtype
        if spec_.says is not None and spec_.dtype_of is not None:
            scalars[spec_.name] = tensors[spec_.dtype_of].dtype == spec_.says
    parameters = set(contract.parameters)
    scalars = {name: value for name, value in scalars.items() if name in parameters and name not in constants}
    constants = {name: value for name, value in constants.items() if name in parameters}
    return Arguments(tensors, scalars, constants, grid, faithful)


def _memory(
    spec: TensorSpec,
    dtype: str,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    case: Case,
    run: int,
    under: Any,
    values: tuple[int, ...],
) -> Memory:
    kind = storage(dtype)
    if any(stride < 0 for stride in strides):
        raise Inapplicable(f"{spec.name} would have a negative stride")
    if spec.block and not describable(shape, strides, 1 if case.layout(spec.name) == "odd" else 0, kind.itemsize):
        raise Inapplicable(f"no descriptor describes {spec.name} as it lies")
    last = sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)) if all(shape) else 0
    start = MARGIN + (1 if case.layout(spec.name) == "odd" else 0)
    if under is not None:
        if under.dtype != kind or start + last >= under.size:
            raise Inapplicable(f"{spec.name} does not fit into the memory that it should overlap")
        owner = under
    else:
        owner = np.zeros(start + last + 1 + MARGIN, kind)
        owner.view("u1")[...] = NAN if run % 2 and dtype in FORMATS else CANARIES[run % 2]
    steps = tuple(stride * kind.itemsize for stride in strides)
    array: Any = np.ndarray(shape, kind, owner, start * kind.itemsize, steps)
    mine = np.zeros(owner.shape, bool)
    indices = np.add.outer(np.array(start), np.zeros(shape, np.int64))
    for axis, (extent, stride) in enumerate(zip(shape, strides, strict=True)):
        indices = indices + np.expand_dims(
            np.arange(extent) * stride, tuple(other for other in range(len(shape)) if other != axis)
        )
    mine[indices.reshape(-1)] = True
    if spec.writes and int(mine.sum()) < array.size:
        raise Inapplicable(f"elements of {spec.name} share memory: which is written last, no launch says")
    if spec.reads:
        array[...] = elements(spec.name, shape, dtype, case.data, values, spec.drawn)
    elif under is None:  # else it holds what the other tensor does
        array[...] = _poison(dtype, kind, run)
    return Memory(spec, dtype, owner, array, mine, owner.copy())


def _poison(dtype: str, kind: Any, run: int) -> Any:
    """What an output holds before it is written; another value in the next run."""
    if dtype in POISON_BITS:
        bits = POISON_BITS[dtype] + run % 2
        return np.frombuffer(bits.to_bytes(kind.itemsize, sys.byteorder), kind)[0]
    return np.frombuffer(bytes([POISONS[run % len(POISONS)]]) * kind.itemsize, kind)[0]


def _integers(generator: np.random.Generator, shape: tuple[int, ...], kind: Any) -> Any:
    """Small numbers and any at all, half of each where there are more than 8 bits: packed bits fill all of a type."""
    limits = np.iinfo(kind)
    any_bits = generator.integers(limits.min, limits.max, shape, dtype=kind, endpoint=True)
    if limits.bits == 8:
        return any_bits
    return np.where(generator.random(shape) < 0.5, generator.integers(-8, 8, shape).astype(kind), any_bits)


#: Products that may still be summed a few thousand times in fp32.
LARGEST_PRODUCT = 1e32


@functools.lru_cache(maxsize=16)
def elements(
    name: str, shape: tuple[int, ...], dtype: str, data: Data, values: tuple[int, ...] = (), drawn: Drawn = "chosen"
) -> Any:
    """Values of an input; the same for the same name, shape and kind of data.

    With `values`, each is one of them, or `drawn` as `TensorSpec` says.
    """
    told = f"{name} {shape} {data}" + (f" {values}" if values else "")
    seed = int.from_bytes(hashlib.blake2s(told.encode(), digest_size=8).digest(), "little")
    generator = np.random.default_rng(seed)
    if drawn in ("between", "distinct"):
        first, last = values[0], max(values[0], values[-1])
        count, size = last - first + 1, int(np.prod(shape))
        if drawn == "distinct" and count >= size:
            return encode(first + generator.permutation(count)[:size].reshape(shape), dtype)
        return encode(generator.integers(first, last + 1, shape), dtype)
    if drawn == "rising":
        first, last = min(values[0], values[-1]), values[-1]
        inner = generator.integers(first, last + 1, shape)
        inner[..., :1], inner[..., -1:] = first, last
        return encode(np.sort(inner), dtype)
    if values:
        return encode(generator.choice(np.array(values), shape), dtype)
    if dtype not in FORMATS:
        return _integers(generator, shape, storage(dtype))
    if data in ("ones", "zeros"):
        found = np.full(shape, float(data == "ones"))
    else:
        found = generator.standard_normal(shape)
    limits = FORMATS[dtype]
    if data == "denormal":
        found = found * limits.tiny / 4
    elif data == "large":
        # Sums of products stay inside fp32: past its end, infinity or NaN would depend on the order of the summands.
        found = found * min(limits.largest, LARGEST_PRODUCT) ** 0.5 / 4
    elif data == "special" and found.size:
        for odd in (np.nan, np.inf, -np.inf):
            found.reshape(-1)[generator.integers(found.size)] = odd
    return encode(found, dtype)
