"""Early returns → nested arms: what follows an `if` that may leave the kernel becomes its other arm.

A role is cut out of structured statements, where what runs is told by the arms around it. `if c: return` followed by
the rest is `if c: … else: rest`. A return further inside, in one arm of an `if` whose other paths go on, sets a flag
instead, and the rest stands under that flag. Returns inside loops stay where they are (Triton does not compile them).
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

Block = list[ast.stmt]


def lifted(body: Sequence[ast.stmt], taken: frozenset[str]) -> Block:
    """The statements of a kernel in which nothing follows a `return`.

    Statements keep their places in the file. New ones have places of no width: a flag is set where the `if` begins,
    and asked where it ends; a `return` that clears it gives the assignment its own place. `taken` are names in use.
    """
    flag, count = "active", 1
    while flag in taken:
        count += 1
        flag = f"active_{count}"
    return _Lift(flag).last(list(body))


class _Lift:
    def __init__(self, flag: str) -> None:
        self.flag = flag
        self.set = False

    def last(self, block: Block) -> Block:
        """A block that nothing follows: its returns end it wherever they stand."""
        for position, statement in enumerate(block):
            rest = block[position + 1 :]
            if _leaves(statement):
                return block[: position + 1]
            if not isinstance(statement, ast.If) or not _may_leave(statement):
                continue
            before = block[:position]
            if not rest:
                return [*before, _with(statement, self.arm(statement.body), self.arm(statement.orelse))]
            if (arms := _arms(statement, rest)) is not None:
                return [*before, _with(statement, *map(self.arm, arms))]
            begin = [] if self.set else [self._flag(_at_start(statement), value=True)]
            self.set = True
            asked = ast.copy_location(ast.Name(self.flag, ast.Load()), at := _at_end(statement))
            under = ast.copy_location(ast.If(asked, self.last(rest), []), at)
            return [*before, *begin, *self.inside([statement]), under]
        return block

    def arm(self, block: Block) -> Block:
        """The last block of one arm. A flag that it sets up is not there in the other one."""
        known = self.set
        result = self.last(block)
        self.set = known
        return result

    def inside(self, block: Block) -> Block:
        """A block that something follows: its returns clear the flag."""
        for position, statement in enumerate(block):
            before, rest = block[:position], block[position + 1 :]
            if _leaves(statement):
                return [*before, self._flag(statement, value=False)]
            if not isinstance(statement, ast.If) or not _may_leave(statement):
                continue
            if not rest:
                return [*before, _with(statement, self.inside(statement.body), self.inside(statement.orelse))]
            if (arms := _arms(statement, rest)) is not None:
                return [*before, _with(statement, *map(self.inside, arms))]
            asked = ast.copy_location(ast.Name(self.flag, ast.Load()), at := _at_end(statement))
            under = ast.copy_location(ast.If(asked, self.inside(rest), []), at)
            return [*before, *self.inside([statement]), under]
        return block

    def _flag(self, at: ast.stmt, *, value: bool) -> ast.stmt:
        target = ast.copy_location(ast.Name(self.flag, ast.Store()), at)
        constant = ast.copy_location(ast.Constant(value), at)
        return ast.copy_location(ast.Assign([target], constant), at)


def _arms(statement: ast.If, rest: Block) -> tuple[Block, Block] | None:
    """Both arms, with what follows in the one that goes on; None where a return is further inside."""
    if statement.body and _leaves(statement.body[-1]):
        return statement.body, [*statement.orelse, *rest]
    if statement.orelse and _leaves(statement.orelse[-1]):
        return [*statement.body, *rest], statement.orelse
    return None


def _leaves(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Return) and statement.value is None


def _may_leave(statement: ast.stmt) -> bool:
    """Whether a return stands in it, outside of loops."""
    match statement:
        case ast.If(body=body, orelse=orelse):
            return any(map(_may_leave, (*body, *orelse)))
        case _:
            return _leaves(statement)


def _with(statement: ast.If, body: Block, orelse: Block) -> ast.If:
    return ast.copy_location(ast.If(statement.test, body, orelse), statement)


def _at_start(statement: ast.stmt) -> ast.stmt:
    line, column = statement.lineno, statement.col_offset
    return ast.Pass(lineno=line, col_offset=column, end_lineno=line, end_col_offset=column)


def _at_end(statement: ast.stmt) -> ast.stmt:
    line, column = statement.end_lineno or statement.lineno, statement.end_col_offset or 0
    return ast.Pass(lineno=line, col_offset=column, end_lineno=line, end_col_offset=column)
