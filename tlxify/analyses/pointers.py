"""Which parameters are pointers: what an address is relative to, told by what else the kernel and its launches do.

An address is a sum of one pointer and of numbers. A number may be multiplied, bound a loop or be compared; a pointer
may be asked for its element type. What a parameter is called decides only where nothing else does.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Iterator

from ..model import Kernel
from ..parse.launches import call_sites
from ..poly import Poly, Symbol
from .events import Events, LoadEvent, StoreEvent
from .values import Value

#: Functions that are asked of numbers alone.
_ARITHMETIC = re.compile(r"//|%|[<>*]|\b(cdiv|minimum|maximum|min|max)\(")
_CAST = "{}.to("
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def pointer_test(kernel: Kernel, events: Events, hosted: frozenset[str]) -> Callable[[Symbol], bool]:
    """Which symbols are pointers. So are those that are descriptors (`hosted`)."""
    addresses = [*(event.address for event in events.loads), *(event.address for event in events.stores)]
    known = [spread.poly for address in addresses if (spread := address.spreading) is not None]
    sums = {frozenset(_summed(poly)) for poly in itertools.chain.from_iterable(map(_either, known))}
    pointers = {*hosted, *_typed(kernel), *(name for names in sums if len(names) == 1 for name in names)}
    unclear = [names for names in sums if len(names) > 1]
    numbers: set[str] = set()
    if unclear:
        numbers = {*_written(kernel), *_computed_with(events)}
        for site in call_sites(kernel):
            numbers |= site.numbers
            pointers.update(passed.pointer for passed in (*site.extents, *site.pitches))
        numbers -= pointers
        _settle(unclear, pointers, numbers)
    named = {param.name for param in kernel.params if "ptr" in param.name.lower() and not param.constexpr}
    pointers |= named - numbers
    _settle(unclear, pointers, numbers)
    return lambda symbol: symbol.launch and symbol.name in pointers


def _settle(unclear: list[frozenset[str]], pointers: set[str], numbers: set[str]) -> None:
    """Adds what follows from each address having one pointer."""
    changed = True
    while changed:
        before = len(pointers) + len(numbers)
        for names in unclear:
            known, left = names & pointers, names - numbers
            if len(known) == 1:
                numbers |= names - known
            elif not known and len(left) == 1:
                pointers |= left
        changed = len(pointers) + len(numbers) != before


def _summed(address: Poly) -> Iterator[str]:
    """The parameters that may be the pointer of an address."""
    for monomial, coefficient in address.terms:
        alone = coefficient == 1 and len(monomial) == 1 and not monomial[0].chosen
        if alone and monomial[0].launch and not monomial[0].constexpr:
            yield monomial[0].name


def _typed(kernel: Kernel) -> Iterator[str]:
    """The parameters that are asked for their element type."""
    for node in ast.walk(kernel.node):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr="dtype") if kernel.param(name):
                yield name


def _written(kernel: Kernel) -> Iterator[str]:
    """The parameters that are numbers by their annotation or default."""
    arguments = kernel.node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [
        *zip(reversed(positional), reversed(arguments.defaults), strict=False),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    for argument, default in pairs:
        if isinstance(default, ast.Constant) and isinstance(default.value, int | float):
            yield argument.arg
    for argument in (*positional, *arguments.kwonlyargs):
        if argument.annotation is not None and _number_type(argument.annotation):
            yield argument.arg


def _number_type(annotation: ast.expr) -> bool:
    said = annotation.value if isinstance(annotation, ast.Constant) else ast.unparse(annotation)
    return re.fullmatch(r"(\w+\.)*(int|float|bool|u?int\d+|[iu]\d+|fp\d+|float\d+)", str(said)) is not None


def _computed_with(events: Events) -> Iterator[str]:
    """The parameters that the kernel does with what is done with numbers alone."""
    touched: list[LoadEvent | StoreEvent] = [*events.loads, *events.stores]
    for event in touched:
        for value in (event.address, event.mask):
            if value is not None:
                yield from _of_value(value)
        for _, scalar in event.scope:
            yield from _numbers(scalar, number=False)
    for loop in events.loops:
        for bound in (loop.start, loop.stop, loop.step):
            if bound is not None:
                yield from _numbers(bound, number=True)
    for node, left, right in events.comparisons.values():
        for side in (left, right):
            if side.poly is not None and isinstance(node.ops[0], _ORDERS):
                yield from _numbers(side.poly, number=True)


def _of_value(value: Value) -> Iterator[str]:
    spread = value.spreading
    if spread is not None:
        yield from _numbers(spread.poly, number=False)
        for term in spread.terms:
            for number in (term.stride, term.offset, term.modulus, term.divisor):
                if number is not None:
                    yield from _numbers(number, number=True)
    for bound in value.bounds or ():
        yield from _numbers(bound.index, number=True)


def _numbers(poly: Poly, *, number: bool) -> Iterator[str]:
    """The names in a sum that are numbers': all of them where the sum is one, else what is multiplied or divided."""
    for monomial, coefficient in poly.terms:
        counted = number or len(monomial) > 1 or coefficient not in (1, -1)
        for symbol in monomial:
            if counted and symbol.launch and not symbol.operands:
                yield symbol.name
            same = symbol.template.startswith(_CAST) or symbol.options
            inner = counted if same else _ARITHMETIC.search(symbol.template) is not None
            for operand in symbol.operands:
                yield from _numbers(operand, number=inner)


def _either(address: Poly) -> Iterator[Poly]:
    """An address, or where it is one of several, each of them."""
    settled = next((symbol for symbol in sorted(address.symbols) if symbol.chosen), None)
    if settled is not None:
        for option in settled.options:
            yield from _either(address.substitute({settled: option}))
        return
    options = [option for symbol in address.symbols for option in symbol.options]
    if not options or address.terms != ((address.terms[0][0], 1),):
        yield address
    else:
        yield from (found for option in options for found in _either(option))
