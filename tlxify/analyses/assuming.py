"""Which constexpr parameters to take as settled, where the arms they choose between have no common form.

A sequence length that is read from memory under `IS_VARLEN`, a tile that lies in two orders: such a kernel is two
kernels in one text. Each is understood by itself, for launches with that value, and the original runs for all others.
So it is with a stride that the kernel takes to be 1 elsewhere.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from ..facts import Facts
from ..model import Kernel
from ..parse.launches import call_sites
from . import analyze

#: How often fixing some parameters may reveal others.
_DEPTH = 6


def readings(kernel: Kernel) -> Iterator[Facts]:
    """The facts without an assumption, then with every undecided flag as launches here have it, then off, then on.

    Where a tile moves by a stride that its axis does not have, the same before that for launches where the stride is 1,
    or after that where it is an extent as well.

    Raises Decline as `analyze` does.

    Flags are parameters that are asked for as truth values. Others that choose (`STAGE & 1`) are then assumed to be,
    one at a time and without any flag, what the launches in the file make them. `Facts.assumed` says what was assumed.
    """
    plain = analyze(kernel)
    ended = {s.name for _, a in plain.accesses for d in a.dimensions if d.extent is not None for s in d.extent.symbols}
    strides = bool(plain.units) and not ended.intersection(plain.units)
    if strides:
        # Without the assumption such a tile is one of many in a batch: and no launch fits such a batch.
        unit = analyze(kernel, dict.fromkeys(plain.units, 1))
        yield unit
        yield from _settled(kernel, unit)
    yield plain
    yield from _settled(kernel, plain)
    if plain.units and not strides:
        unit = analyze(kernel, dict.fromkeys(plain.units, 1))
        yield unit
        yield from _settled(kernel, unit)


def _settled(kernel: Kernel, plain: Facts) -> Iterator[Facts]:
    """The facts with every undecided flag as usual where that is known, then off, then on."""
    usual = {name: value for site in reversed(call_sites(kernel)) for name, value in site.usual}
    seen: set[object] = set()
    for known, value in ((usual, False), ({}, False), ({}, True)):
        facts = plain
        for _ in range(_DEPTH):
            open_ones = [name for name in facts.undecided if is_flag(kernel, name)]
            if not open_ones:
                break
            answers = {name: known.get(name, value) for name in open_ones}
            facts = analyze(kernel, {**dict(facts.assumed), **answers})
        if facts is plain:
            break
        if facts.assumed not in seen:
            seen.add(facts.assumed)
            yield facts
    off: dict[str, object] = {name: False for name in plain.undecided if is_flag(kernel, name)}
    for name, chosen in _stages(kernel, plain):
        yield analyze(kernel, {**off, name: chosen})


def _stages(kernel: Kernel, plain: Facts) -> Iterator[tuple[str, int]]:
    """Undecided parameters that are no flags, with the literals that the launches here give them."""
    chosen = {name: values for site in call_sites(kernel) for name, values in site.choices}
    for name in plain.undecided:
        param = kernel.param(name)
        if param is not None and param.constexpr and not is_flag(kernel, name):
            yield from ((name, value) for value in chosen.get(name, ()))


def relaxed(kernel: Kernel, facts: Facts, suffice: Callable[[Facts], bool]) -> Facts:
    """Facts with as few of the assumptions as suffice: each is dropped where the others do without it."""
    for name, _ in facts.assumed:
        fewer = {other: value for other, value in facts.assumed if other != name}
        without = analyze(kernel, fewer)
        if name not in without.units and suffice(without):
            facts = without
    return facts


def is_flag(kernel: Kernel, name: str) -> bool:
    """Whether a constexpr parameter is asked for as a truth value, and for nothing else."""
    param = kernel.param(name)
    if param is None or not param.constexpr:
        return False
    asked = [use for node in ast.walk(kernel.node) for use in _asked(node)]
    uses = [node for node in ast.walk(kernel.node) if isinstance(node, ast.Name) and node.id == name]
    return bool(uses) and all(any(use is asking for asking in asked) for use in uses)


def _asked(node: ast.AST) -> Iterator[ast.expr]:
    """The names whose truth a condition asks for."""
    match node:
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test) | ast.Assert(test=test):
            yield from _parts(test)


def _parts(test: ast.expr) -> Iterator[ast.expr]:
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _parts(operand)
        case ast.BoolOp(values=values):
            for value in values:
                yield from _parts(value)
        case _:
            yield test
