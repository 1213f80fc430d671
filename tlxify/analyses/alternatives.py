"""Scalars that are one of two, as run-time branches leave them, and addresses among them.

Which one it is no launch tells, so the scalar is a symbol of its own. What it may be stays known: a size must hold
either, and where both are offsets from one base, it is an offset from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..poly import EITHER, Poly, Symbol


def either(which: str, *options: Poly) -> Symbol:
    """The symbol for one of some scalars, told from others by `which`. Of fewer than two options nothing is known."""
    return Symbol(f"{EITHER}{which}", operands=options if len(options) > 1 else ())


def alternatives(poly: Poly) -> Iterator[Poly]:
    """What a sum may be, for every option of what is in it."""
    chosen = next((symbol for symbol in sorted(poly.symbols) if symbol.options), None)
    if chosen is None:
        yield poly
    else:
        yield from (found for option in chosen.options for found in alternatives(poly.substitute({chosen: option})))


def rebased(address: Poly, is_pointer: Callable[[Symbol], bool]) -> Poly:
    """An address with the base that its options share taken out of them."""
    for symbol in sorted(address.symbols):
        options = [rebased(option, is_pointer) for option in symbol.options]
        if dict(address.terms).get((symbol,)) != 1 or not options:
            continue
        bases = [_bases(option, is_pointer) for option in options]
        if len(shared := frozenset.intersection(*bases)) == 1 and all(len(found) == 1 for found in bases):
            base = Poly.of(next(iter(shared)))
            offset = Symbol(symbol.name, operands=tuple(option - base for option in options))
            return address - Poly.of(symbol) + base + Poly.of(offset)
    return address


def _bases(address: Poly, is_pointer: Callable[[Symbol], bool]) -> frozenset[Symbol]:
    return frozenset(m[0] for m, c in address.terms if c == 1 and len(m) == 1 and is_pointer(m[0]))
