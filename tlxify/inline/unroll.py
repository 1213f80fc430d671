"""`tl.static_range` around a dot, written out where it takes a handful of trips: each trip is then a stage of its own.

Longer ones, and those whose trips only the launch knows, stay loops.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

import libcst as cst

from ..model import Constant, Kernel
from .folding import literal
from .substitute import Substitute
from .trees import Block, Origins, body_of, chain_of, leading

MOST_TRIPS = 4


class Unroll:
    """Writes out loops of one kernel."""

    def __init__(self, kernel: Kernel, origins: Origins, has_dot: Callable[[cst.CSTNode], bool]) -> None:
        self.kernel = kernel
        self.origins = origins
        self.has_dot = has_dot
        #: Counters that are read outside of the loops over them.
        self.outliving: set[str] = set()

    def enter(self, block: Sequence[cst.CSTNode]) -> None:
        """Looks at a whole function before its loops are asked for."""
        for node in block:
            self.outliving |= _outliving(node, frozenset())

    def is_static(self, loop: cst.For) -> bool:
        """Whether a loop is over `tl.static_range`."""
        if not isinstance(loop.iter, cst.Call) or (chain := chain_of(loop.iter.func)) is None:
            return False
        name = self.kernel.module.names.canonical(ast.parse(chain, mode="eval").body)
        return name == "triton.language.static_range"

    def loops_in(self, node: cst.CSTNode) -> bool:
        """Whether a loop over `tl.static_range` is in a statement."""
        if isinstance(node, cst.For) and self.is_static(node):
            return True
        return not isinstance(node, cst.BaseExpression) and any(map(self.loops_in, node.children))

    def copies(self, loop: cst.For) -> Block | None:
        """The trips of a short loop around a dot, one after another; None for any other loop."""
        if not isinstance(loop.target, cst.Name) or loop.orelse or not self.is_static(loop):
            return None
        assert isinstance(loop.iter, cst.Call)
        bounds = [self._integer(argument) for argument in loop.iter.args]
        if not 1 <= len(bounds) <= 3 or None in bounds or bounds[2:] == [0] or not self.has_dot(loop.body):
            return None
        counter, body = loop.target.value, body_of(loop.body)
        trips = range(*[bound for bound in bounds if bound is not None])
        if len(trips) > MOST_TRIPS or counter in self.outliving or _interrupted(loop.body, counter):
            return None
        result: Block = []
        for trip in trips:
            result += Substitute(self.origins, {counter: cst.Integer(str(trip))}).block(body)
        if result:
            result[0] = self.origins.changed(result[0], leading_lines=[*leading(loop), *leading(result[0])])
        return result

    def _integer(self, argument: cst.Arg) -> int | None:
        if argument.keyword is not None or argument.star:
            return None
        value = literal(argument.value)
        if (chain := chain_of(argument.value)) is not None:
            _, meaning = self.kernel.module.meaning(chain) or (chain, None)
            value = meaning.value if isinstance(meaning, Constant) else value
        return value if type(value) is int and value >= 0 else None


def _interrupted(node: cst.CSTNode, counter: str) -> bool:
    """Whether a trip may end early, or the counter is rebound."""
    match node:
        case cst.Break() | cst.Continue() | cst.Return():
            return True
        case cst.AssignTarget(target=cst.Name(value=name)) | cst.AugAssign(target=cst.Name(value=name)):
            if name == counter:
                return True
        case cst.For(target=cst.Name(value=name)) if name == counter:
            return True
        case cst.AnnAssign():
            return True  # a constant that each trip declares
    return any(_interrupted(child, counter) for child in node.children)


def _outliving(node: cst.CSTNode, counters: frozenset[str]) -> set[str]:
    """Names read where no loop over them is around, of those that some loop counts with."""
    loops: set[str] = set()
    reads: set[str] = set()

    def walk(node: cst.CSTNode, inside: frozenset[str]) -> None:
        match node:
            case cst.For(target=cst.Name(value=name)):
                loops.add(name)
                walk(node.iter, inside)
                walk(node.body, inside | {name})
            case cst.Name(value=name):
                reads.add(name) if name not in inside else None
            case cst.Attribute(value=value):
                walk(value, inside)
            case cst.Arg(value=value):
                walk(value, inside)
            case _:
                for child in node.children:
                    walk(child, inside)

    walk(node, counters)
    return loops & reads
