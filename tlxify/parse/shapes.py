"""What a launch says of its tensors: passed beside `x`, the `M` of `M, N = x.shape` is how long the first axis of x is.

A parameter that a kernel never reads means something all the same, and the launching function says what.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Passed:
    """A number that a launch takes from a tensor: one extent or one stride of it."""

    parameter: str
    #: The parameter that the tensor itself is passed for.
    pointer: str
    #: From the first if it is not negative, else from the last.
    axis: int


def extents(given: Mapping[str, ast.expr], nodes: Iterable[ast.AST], line: int) -> tuple[Passed, ...]:
    """The arguments that are extents of others.

    Args:
        given: the arguments by parameter.
        nodes: of the launching function.
        line: of the launch.
    """
    known = list(nodes)
    return tuple(_passed(given, ((name, _extent(node, known, line)) for name, node in given.items())))


def strides(given: Mapping[str, ast.expr]) -> tuple[Passed, ...]:
    """The arguments that are strides of others."""
    return tuple(_passed(given, ((name, _stride(node)) for name, node in given.items())))


def alike(given: Mapping[str, ast.expr]) -> tuple[tuple[str, str], ...]:
    """Pairs of parameters that one host expression is passed for, each in both orders."""
    texts = {name: ast.unparse(node) for name, node in given.items() if not isinstance(node, ast.Constant)}
    return tuple((a, b) for a, one in texts.items() for b, other in texts.items() if a != b and one == other)


def _passed(given: Mapping[str, ast.expr], found: Iterable[tuple[str, tuple[str, int] | None]]) -> Iterator[Passed]:
    tensors: dict[str, str] = {}
    for name, node in given.items():
        tensors.setdefault(ast.unparse(node), name)
    for name, pair in found:
        if pair is not None and pair[0] in tensors:
            yield Passed(name, tensors[pair[0]], pair[1])


def _extent(node: ast.expr, nodes: list[ast.AST], line: int) -> tuple[str, int] | None:
    """The tensor and the axis whose extent an expression is."""
    if isinstance(node, ast.Name):
        bound = _bound(node.id, nodes, line)
        return bound if isinstance(bound, tuple) else None if bound is None else _asked(bound)
    return _asked(node)


def _bound(name: str, nodes: list[ast.AST], line: int) -> ast.expr | tuple[str, int] | None:
    """What a name was bound to last before the launch: an expression, or the extent of a tensor's axis."""
    found: list[tuple[tuple[int, int], ast.expr | tuple[str, int] | None]] = []
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                found += [
                    ((node.lineno, node.col_offset), meant)
                    for target, meant in _unpacked(targets, value)
                    if target == name
                ]
            case ast.Assign(targets=targets, value=value):
                found += [
                    ((node.lineno, node.col_offset), value) for t in targets if isinstance(t, ast.Name) and t.id == name
                ]
            case ast.AugAssign(target=ast.Name(id=target)) if target == name:
                found.append(((node.lineno, node.col_offset), None))
    before = [pair for pair in found if pair[0][0] <= line]
    return max(before, key=lambda pair: pair[0])[1] if before else None


def _unpacked(targets: list[ast.expr], value: ast.expr) -> Iterator[tuple[str, ast.expr | tuple[str, int] | None]]:
    """The names of a tuple with what each is bound to; None for what is not known."""
    if isinstance(value, ast.Tuple) and len(value.elts) == len(targets):
        for target, one in zip(targets, value.elts, strict=True):
            if isinstance(target, ast.Tuple):
                yield from _unpacked(target.elts, one)
            elif isinstance(target, ast.Name):
                yield target.id, one
        return
    tensor, starred = _shape(value), False
    for axis, target in enumerate(targets):
        starred |= isinstance(target, ast.Starred)
        if isinstance(target, ast.Name):
            place = axis - len(targets) if starred else axis
            yield target.id, (tensor, place) if tensor is not None else None


def _shape(node: ast.expr) -> str | None:
    """The tensor whose shape an expression is: `x.shape`, `x.size()`."""
    match node:
        case (
            ast.Attribute(value=tensor, attr="shape")
            | ast.Call(func=ast.Attribute(value=tensor, attr="size"), args=[], keywords=[])
        ):
            return ast.unparse(tensor)
    return None


def _asked(node: ast.expr) -> tuple[str, int] | None:
    """What `x.shape[0]` and `x.size(0)` ask of which tensor."""
    match node:
        case ast.Subscript(value=whole, slice=place) if (tensor := _shape(whole)) is not None:
            axis = _integer(place)
        case ast.Call(func=ast.Attribute(value=asked, attr="size"), args=[place], keywords=[]):
            tensor, axis = ast.unparse(asked), _integer(place)
        case _:
            return None
    return None if axis is None else (tensor, axis)


def stride_of(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """The tensor and the axis whose stride an expression is: `x.stride(0)`, `x.stride()[0]`."""
    match node:
        case (
            ast.Call(func=ast.Attribute(value=tensor, attr="stride"), args=[place])
            | ast.Subscript(value=ast.Call(func=ast.Attribute(value=tensor, attr="stride"), args=[]), slice=place)
        ):
            return tensor, place
    return None


def _stride(node: ast.expr) -> tuple[str, int] | None:
    asked = stride_of(node)
    axis = _integer(asked[1]) if asked is not None else None
    return None if asked is None or axis is None else (ast.unparse(asked[0]), axis)


def _integer(node: ast.expr) -> int | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, int) else None
