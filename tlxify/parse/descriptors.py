"""How long the blocks of a descriptor are that the caller makes: what the host's code says about it.

Either the launch says it, `TensorDescriptor(x, x.shape, x.stride(), [BLOCK_M, BLOCK_K])` or `from_tensor(x, […])`, or a
hook of the configs does, `nargs["a_desc"].block_shape = [BLOCK_M, BLOCK_K]`, where the launch says `[1, 1]`. What is
found is a guess as to which launch it will be: the launcher compares it with the live descriptor.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..model import Kernel
from .launches import call_sites


@dataclass(frozen=True, slots=True)
class Blocks:
    """The lengths of a descriptor's blocks, in constexpr parameters and integers."""

    lengths: tuple[str, ...]
    #: Constexpr parameters that are asked for as truth values, and the answers under which this holds.
    conditions: tuple[tuple[str, bool], ...] = ()


def blocks_of(kernel: Kernel) -> dict[str, tuple[Blocks, ...]]:
    """What is said of each parameter that is a descriptor; what a launch says comes before hooks."""
    found: dict[str, dict[Blocks, None]] = {}
    for name, blocks in (*_launched(kernel), *_hooked(kernel)):
        if any(length != "1" for length in blocks.lengths):  # `[1, 1]` stands for what a hook will say
            found.setdefault(name, {})[blocks] = None
    return {name: tuple(said) for name, said in found.items()}


def _hooked(kernel: Kernel) -> Iterator[tuple[str, Blocks]]:
    functions = [n for n in ast.walk(kernel.module.tree) if isinstance(n, ast.FunctionDef) and len(n.args.args) == 1]
    saying = {function.name: list(_said(kernel, function)) for function in functions}
    saying = {name: said for name, said in saying.items() if said}
    named = {n.id for d in kernel.decorators for n in ast.walk(d.node) if isinstance(n, ast.Name)}
    # The kernel's own decorators name its hook, unless the configs are made elsewhere.
    own = [name for name in saying if name in named]
    for name in own or saying:
        yield from saying[name]


def _said(kernel: Kernel, hook: ast.FunctionDef) -> Iterator[tuple[str, Blocks]]:
    arguments = hook.args.args[0].arg
    names: dict[str, str] = {}

    def value(node: ast.expr) -> str | None:
        match node:
            case ast.Constant(value=int() as number):
                return str(number)
            case ast.Name(id=name):
                return names.get(name)
            case ast.Subscript(value=ast.Name(id=held), slice=ast.Constant(value=str() as key)) if held == arguments:
                return key if (param := kernel.param(key)) is not None and param.constexpr else None
        return None

    def body(statements: list[ast.stmt], conditions: tuple[tuple[str, bool], ...]) -> Iterator[tuple[str, Blocks]]:
        for statement in statements:
            match statement:
                case ast.Assign(targets=[ast.Name() | ast.Tuple() as target], value=assigned):
                    for name, known in list(_pairs(target, assigned, value)):
                        names.pop(name, None)
                        if known is not None:
                            names[name] = known
                case ast.Assign(
                    targets=[
                        ast.Attribute(
                            attr="block_shape",
                            value=ast.Subscript(value=ast.Name(id=held), slice=ast.Constant(value=str() as key)),
                        )
                    ],
                    value=ast.List(elts=lengths) | ast.Tuple(elts=lengths),
                ) if held == arguments and kernel.param(key) is not None:
                    known_lengths = [length for node in lengths if (length := value(node)) is not None]
                    if len(known_lengths) == len(lengths):
                        yield key, Blocks(tuple(known_lengths), conditions)
                case ast.If(test=test, body=taken, orelse=other):
                    if (flag := value(test)) is not None and not flag.isdigit():
                        yield from body(taken, (*conditions, (flag, True)))
                        yield from body(other, (*conditions, (flag, False)))

    yield from body(hook.body, ())


def _pairs(
    target: ast.Name | ast.Tuple, assigned: ast.expr, value: Callable[[ast.expr], str | None]
) -> Iterator[tuple[str, str | None]]:
    """The names that an assignment binds, with what is known of each."""
    if isinstance(target, ast.Name):
        yield target.id, value(assigned)
        return
    parts = assigned.elts if isinstance(assigned, ast.Tuple) and len(assigned.elts) == len(target.elts) else None
    for place, name in enumerate(target.elts):
        if isinstance(name, ast.Name):
            yield name.id, value(parts[place]) if parts is not None else None


def _launched(kernel: Kernel) -> Iterator[tuple[str, Blocks]]:
    for site in call_sites(kernel):
        yield from ((name, Blocks(lengths)) for name, lengths in site.blocks)
