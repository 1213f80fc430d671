"""Strides that a kernel takes to be 1 in one place and asks for in another.

`A + rk[None, :]` lies at stride 1 along K, and `A += BLOCK_K * stride_ak` moves it by a parameter: right only where
that is 1, as the source's launches have it. For such launches both are one stride. Rows that programs take in turns,
`(tl.program_id(0) + trip * step) * stride`, are no tiles along an axis: the stride parts row from row.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..poly import ONE, Poly
from .values import Value


def unit_strides(address: Value) -> Iterator[str]:
    """The parameters that a tile moves by from trip to trip, where none of its axes lies at them but one lies at 1."""
    if address.poly is None or all(term.stride != ONE for term in address.terms):
        return
    strides = {symbol for term in address.terms for symbol in term.stride.symbols}
    for monomial, _ in address.poly.terms:  # what lies one program apart
        if len(monomial) == 2 and any(symbol.name.startswith("tl.program_id(") for symbol in monomial):
            strides |= {*monomial}
    for monomial, _ in address.poly.terms:
        if any(symbol.trip for symbol in monomial):
            alone = [s for s in monomial if s.launch and not s.constexpr and not s.operands]
            if len(alone) == 1 and alone[0] not in strides and Poly.of(alone[0]) != ONE:
                yield alone[0].name
