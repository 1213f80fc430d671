"""Integer polynomials over named scalars: how addresses, bounds and trip counts are compared.

Two scalars are equal when their polynomials are. What is not a sum of products (a division, a loaded value) becomes an
opaque symbol named after its operator and canonical operands, so the same quantity computed twice is the same symbol.
Sizes and strides are exact integers here: a source that overflows its own 32-bit arithmetic is not described.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, reduce


@dataclass(frozen=True, slots=True, order=True)
class Symbol:
    """A scalar that is not taken apart further."""

    name: str
    #: Known when the kernel is launched: a parameter, or a pure function of parameters.
    launch: bool = False
    #: A `tl.constexpr` parameter, or a pure function of such.
    constexpr: bool = False
    #: The number of finished trips of a loop (0 on the first).
    trip: bool = False
    #: For a pure function of scalars: how it is written, with `{}` for each operand, and the operands.
    template: str = field(default="", compare=False)
    operands: tuple[Poly, ...] = field(default=(), compare=False, repr=False)

    @property
    def options(self) -> tuple[Poly, ...]:
        """What a scalar may be that a branch or a flag chooses; nothing for any other symbol."""
        if self.chosen:
            return (self.operands[0], self.operands[2])
        return self.operands if self.name.startswith(EITHER) else ()

    @property
    def chosen(self) -> bool:
        """Whether it is one of two launch-constants, as a test says that the compilation settles.

        The operands are what it is where the test holds, the test, and what it is elsewhere.
        """
        return self.template == CHOSEN


#: How the names of scalars begin that a branch chooses when the kernel runs.
EITHER = "either "
#: How a scalar is written that a flag chooses when the kernel is compiled.
CHOSEN = "({} if {} else {})"
#: How the names of scalars begin that are computed of all elements of a block: its least, its sum.
REDUCED = "reduced@"

Monomial = tuple[Symbol, ...]


@dataclass(frozen=True)
class Poly:
    """A sum of coefficient × product of symbols, kept sorted so that equal polynomials compare equal."""

    terms: tuple[tuple[Monomial, int], ...] = ()

    @staticmethod
    def of(value: int | Symbol) -> Poly:
        """The polynomial of one integer or one symbol."""
        if isinstance(value, Symbol):
            return Poly((((value,), 1),))
        return Poly((((), value),)) if value else Poly()

    @staticmethod
    def build(terms: Iterable[tuple[Monomial, int]]) -> Poly:
        """Collects like terms."""
        total: dict[Monomial, int] = {}
        for monomial, coefficient in terms:
            key = tuple(sorted(monomial))
            total[key] = total.get(key, 0) + coefficient
        return Poly(tuple(sorted((m, c) for m, c in total.items() if c)))

    def __add__(self, other: Poly) -> Poly:
        return Poly.build((*self.terms, *other.terms))

    def __neg__(self) -> Poly:
        return Poly(tuple((m, -c) for m, c in self.terms))

    def __sub__(self, other: Poly) -> Poly:
        return self + (-other)

    def __mul__(self, other: Poly) -> Poly:
        return Poly.build((m + n, c * d) for m, c in self.terms for n, d in other.terms)

    @cached_property
    def symbols(self) -> frozenset[Symbol]:
        """Every symbol that occurs."""
        return frozenset(symbol for monomial, _ in self.terms for symbol in monomial)

    @property
    def constant(self) -> int | None:
        """The value, if no symbol occurs."""
        if not self.terms:
            return 0
        return self.terms[0][1] if self.terms[0][0] == () and len(self.terms) == 1 else None

    @property
    def launch(self) -> bool:
        """Known when the kernel is launched."""
        return all(symbol.launch for symbol in self.symbols)

    @property
    def constexpr(self) -> bool:
        """Known when the kernel is compiled."""
        return all(symbol.constexpr for symbol in self.symbols)

    @property
    def monomial(self) -> bool:
        """A single product with a positive coefficient."""
        return len(self.terms) == 1 and self.terms[0][1] > 0

    @property
    def alone(self) -> Symbol | None:
        """The symbol that this is, and nothing more; None for anything else."""
        match self.terms:
            case (((symbol,), 1),):
                return symbol
        return None

    def rejoined(self) -> Poly:
        """The same number with `a` in the place of `a // b * b + a % b`."""
        whole = self
        for rest in sorted(s for s in self.symbols if s.template == "({} % {})"):
            taken, by = rest.operands
            parts = [s for s in self.symbols if s.template == "({} // {})" and s.operands == rest.operands]
            times = dict(whole.terms).get((rest,), 0)
            for quotient in parts if times else ():
                found = (Poly.of(quotient) * by + Poly.of(rest)) * Poly.of(times)
                if all(term in whole.terms for term in found.terms):
                    whole = whole - found + taken * Poly.of(times)
        return whole

    def divide(self, divisor: Poly) -> tuple[Poly, Poly]:
        """(quotient, rest) by a single monomial: self = quotient × divisor + rest, term by term."""
        ((by, factor),) = divisor.terms
        quotient, rest = [], []
        for monomial, coefficient in self.terms:
            left = list(monomial)
            divisible = coefficient % factor == 0
            for symbol in by:
                if divisible and symbol in left:
                    left.remove(symbol)
                else:
                    divisible = False
            if divisible:
                quotient.append((tuple(left), coefficient // factor))
            else:
                rest.append((monomial, coefficient))
        return Poly.build(quotient), Poly.build(rest)

    def substitute(self, values: Mapping[Symbol, Poly]) -> Poly:
        """The polynomial with some symbols replaced."""
        return sum_of(
            reduce(
                lambda product, symbol: product * values.get(symbol, Poly.of(symbol)), monomial, Poly.of(coefficient)
            )
            for monomial, coefficient in self.terms
        )

    def text(self, names: Mapping[Symbol, str] | None = None) -> str:
        """Python text; `names` says how symbols are written (default: by their own names)."""
        if not self.terms:
            return "0"
        parts: list[str] = []
        for monomial, coefficient in sorted(self.terms, key=_reading_order):
            factors = [(names or {}).get(symbol, symbol.name) for symbol in sorted(monomial, key=_factor_order)]
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, str(abs(coefficient)))
            product = " * ".join(factors)
            if not parts:
                parts.append(product if coefficient > 0 else f"-{product}")
            else:
                parts.append(f"{'+' if coefficient > 0 else '-'} {product}")
        return " ".join(parts)

    def __str__(self) -> str:
        return self.text()


def _factor_order(symbol: Symbol) -> tuple[bool, bool, str]:
    """`pid_m * BLOCK_M`, `k * BLOCK_K`: what varies first, then what is fixed."""
    return (symbol.launch, symbol.constexpr, symbol.name)


def _reading_order(term: tuple[Monomial, int]) -> tuple[bool, bool, int, str]:
    """Positive terms first, then what varies most, then longer products; the constant last."""
    monomial, coefficient = term
    return (coefficient < 0, not monomial, all(s.launch for s in monomial), "*".join(s.name for s in monomial))


def sum_of(polys: Iterable[Poly]) -> Poly:
    """The sum of polynomials."""
    return Poly.build(term for poly in polys for term in poly.terms)


ZERO = Poly()
ONE = Poly.of(1)
