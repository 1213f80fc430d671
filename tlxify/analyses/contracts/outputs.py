"""The element types of what integers are stored to, and of what atomics of the larger and the smaller one go on from.

A memory of counts, of indices, of quantized values holds integers: as floats of 16 bits they would be rounded. And of
the atomics, 16 bits have the sum alone; through descriptors they have the larger and the smaller as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace

from ...contract import TensorSpec
from ...facts import Facts, Store
from ...model import Kernel
from ...source import Span
from ..integral import FLOAT, TRUTH, WRITTEN, Integers, width
from .integers import integers, symbols_in
from .operands import fed

#: Atomics that work on bits.
BITS = frozenset({"atomic_and", "atomic_or", "atomic_xor"})
#: Types that an atomic has.
ATOMIC = ("i32", "i64")


def stored(kernel: Kernel, facts: Facts, specs: Iterable[TensorSpec]) -> list[TensorSpec]:
    """The tensors, with the element types of those that are written as their stores say."""
    known = list(specs)
    values = {Span.of(node): node for node in ast.walk(kernel.node) if isinstance(node, ast.expr)}
    whole = {symbol.name for poly in integers(facts) for symbol in symbols_in(poly)}
    # Where memory holds one type of integers whatever is launched, so does what is loaded from it.
    held = {spec.name: spec.dtypes[0] for spec in known if len(spec.dtypes) == 1 and spec.dtypes[0][0] == "i"}
    loads = {load.span: held[load.pointer] for load in facts.loads if load.pointer in held}
    found = Integers(kernel, whole, lambda node: loads.get(Span.of(node)) if hasattr(node, "lineno") else None)
    operands = fed(facts)
    groups = [spec.dtype_group for spec in known]
    result = []
    for spec in known:
        stores = [store for store in facts.stores if store.pointer == spec.name]
        alone = groups.count(spec.dtype_group) == 1 and spec.name not in operands
        dtype = None
        described = any(store.descriptor and store.kind != "store" for store in stores)
        if stores and alone and not spec.values and not described:
            kinds = [found.of(values[store.value]) if store.value in values else None for store in stores]
            dtype = _element(stores, kinds)
            free = _expected(values[store.span] for store in stores if store.kind == "atomic_cas")
            spec = replace(spec, values=free) if dtype in ATOMIC and free else spec
        result.append(spec if dtype is None else replace(spec, dtypes=(dtype,), deep=None))
    return result


def _expected(calls: Iterable[ast.expr]) -> tuple[str, ...]:
    """What a lock is compared with: with that it begins, for nobody would give back one that is taken."""
    found = []
    for call in calls:
        match call:
            case ast.Call(args=[_, ast.Constant(value=int() as number), *_]):
                found.append(str(number))
    return tuple(dict.fromkeys(found))


def _element(stores: list[Store], kinds: list[str | None]) -> str | None:
    """The element type that all stores of a tensor agree on; None for one that only a launch tells."""
    atomics = [store.kind for store in stores if store.kind != "store"]
    narrow = any(kind not in ("atomic_add", *BITS) for kind in atomics)
    if None in kinds or FLOAT in kinds:
        # What is loaded may be anything: a float, as a rule.
        return "i32" if BITS & {*atomics} else "fp32" if narrow else None
    widest = max(kinds, key=width)
    if atomics:
        return widest if widest in ATOMIC else "i32"
    if widest == WRITTEN:
        return None  # `tl.store(flag_ptr, 1)` stores to floats as well
    return "i8" if widest == TRUTH else widest
