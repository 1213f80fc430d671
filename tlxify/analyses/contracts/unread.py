"""Parameters that a kernel never reads: nothing in it says what they are, so the launch must, or nobody does.

Another version may well read one, `mask=row < M` say. The `M` of `kernel[(M, …)](x, y, M, …)` is then as many as there
are programs, and that of `M, N = x.shape` as long as the first axis of x.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from ...contract import ConstexprSpec, ScalarSpec, TensorSpec
from ...model import Kernel, Param
from ...parse.launches import CallSite
from ...poly import ZERO, Poly
from ..texts import polynomial, words

#: Any number does where a kernel does not look at it.
ANY = 2


def unread(kernel: Kernel) -> frozenset[str]:
    """The parameters that no expression of the kernel's body reads."""
    read = {
        node.id
        for statement in kernel.node.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    return frozenset(param.name for param in kernel.params) - read


def usual(param: Param, sites: Sequence[CallSite]) -> int | float | str | bool | None:
    """The literal that a launch passes for a parameter, or else its default; None where neither is a value."""
    literal = next((value for site in sites for name, value in site.literals if name == param.name), None)
    if literal is None and param.default is not None:
        try:
            literal = ast.literal_eval(param.default)
        except (ValueError, SyntaxError):
            return None
    return literal if isinstance(literal, int | float | str) else None


def constant(param: Param, sites: Sequence[CallSite]) -> ConstexprSpec:
    """What a launch passes for an unread compile-time parameter."""
    match usual(param, sites):
        case bool() as value:
            return ConstexprSpec(param.name, "flag", (value,))
        case str() as text:
            return ConstexprSpec(param.name, "option", (text,))
        case value:
            return ConstexprSpec(param.name, "int", (ANY if value is None else value,))


def scalar(param: Param, sites: Sequence[CallSite], sizes: Collection[str]) -> ScalarSpec:
    """What a launch passes for another unread parameter; those of which something is told are `sizes`."""
    if param.name in sizes:
        return ScalarSpec(param.name, "size")
    value = usual(param, sites)
    if isinstance(value, float):
        return ScalarSpec(param.name, "float", choices=(value,))
    return ScalarSpec(param.name, "int", choices=(int(value) if isinstance(value, int) else ANY,))


def told(
    names: Collection[str],
    sites: Sequence[CallSite],
    grid: Sequence[str],
    tensors: Mapping[str, TensorSpec],
    known: Collection[str],
) -> dict[str, str]:
    """What the launches say that unread parameters are, as expressions of the contract.

    Args:
        names: the unread parameters.
        sites: the launches.
        grid: of the contract.
        tensors: of the contract, by parameter.
        known: names that expressions may hold: parameters that are read, sizes that no parameter holds.
    """
    found: dict[str, str] = {}
    for name, expression in (*_passed_twice(sites), *_by_grid(names, sites, grid), *_by_shape(sites, tensors)):
        if name in names and words([expression]) <= {*known}:
            found.setdefault(name, expression)
    for name, other in _passed_twice(sites):  # of two that are unread, what is known of either
        if name in names and other in found:
            found.setdefault(name, found[other])
    return found


def _passed_twice(sites: Sequence[CallSite]) -> Iterator[tuple[str, str]]:
    for site in sites:
        yield from site.alike


def _by_grid(names: Collection[str], sites: Sequence[CallSite], grid: Sequence[str]) -> Iterator[tuple[str, str]]:
    for site in sites:
        if site.grid is not None and len(site.grid) == len(grid):
            for host, own in zip(site.grid, grid, strict=True):
                if host is not None:
                    yield from _solved(ast.parse(host, mode="eval").body, ast.parse(own, mode="eval").body, names)


def _solved(host: ast.expr, own: ast.expr, names: Collection[str]) -> Iterator[tuple[str, str]]:
    """What makes an extent of the launch's grid that of the contract's: `Z * H` and `outer_1 * H`."""
    match host, own:
        case ast.Call(func=ast.Name(id="cdiv"), args=[size, _]), ast.Call(func=ast.Name(id="cdiv"), args=[length, _]):
            yield from _solved(size, length, names)
            return
    whole, result = polynomial(ast.unparse(host)), polynomial(ast.unparse(own))
    for symbol in whole.symbols if whole.monomial else ():
        others, rest = whole.divide(Poly.of(symbol))
        if symbol.name in names and rest == ZERO and symbol not in others.symbols:
            quotient, left = result.divide(others)
            if left == ZERO and quotient != ZERO:
                yield symbol.name, quotient.text()


def _by_shape(sites: Sequence[CallSite], tensors: Mapping[str, TensorSpec]) -> Iterator[tuple[str, str]]:
    for site in sites:
        for passed in site.extents:
            spec = tensors.get(passed.pointer)
            place = _place(site, spec, passed.axis) if spec is not None else None
            if spec is not None and place is not None:
                yield passed.parameter, spec.shape[place]


def _place(site: CallSite, spec: TensorSpec, axis: int) -> int | None:
    """Which axis of the contract's tensor is that one of the launch's: a stride tells, or that rows follow each other.

    A contract orders axes by what the kernel does with them.
    """
    rank = len(spec.shape)
    for other in site.pitches:
        if other.pointer == spec.name and other.parameter in spec.strides and other.axis % rank == axis % rank:
            return spec.strides.index(other.parameter)
    strides = [polynomial(stride) for stride in spec.strides]
    extents = [polynomial(extent) for extent in spec.shape]
    pairs = zip(strides, strides[1:], extents[1:], strict=False)
    dense = all(outer == inner * extent for outer, inner, extent in pairs)
    return axis % rank if dense and rank > 1 and -rank <= axis < rank else None
