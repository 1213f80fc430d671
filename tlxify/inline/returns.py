"""The returns of a helper as statements of its caller: every path ends with what it leaves behind.

`if c: return x` followed by `return y` becomes `if c: a = x`, `else: a = y`. Where a return that gives nothing stands
deeper, a flag says whether the rest still runs, as in parse/returns.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import libcst as cst

from .trees import Block, Copy, Origins, body_of, comment_lines, comments_in, line_of, otherwise, suite, with_arms


class Tangled(Exception):
    """A return that cannot be expressed by arms of an `if`."""

    def __init__(self, node: cst.CSTNode, what: str) -> None:
        super().__init__(what)
        self.node = node
        self.what = what


#: What to do where a helper returns; for None, where it ends without saying so.
Finish = Callable[[cst.Return | None], Block]


class Returns:
    """Rewrites one body. `fresh` gives the name of the flag if one is needed; None where values are returned."""

    def __init__(self, origins: Origins, finish: Finish, fresh: Callable[[], str] | None) -> None:
        self.origins = origins
        self.finish = finish
        self.fresh = fresh
        self.flag = ""

    def last(self, block: Block) -> Block:
        """A block that nothing follows."""
        for position, statement in enumerate(block):
            before, rest = block[:position], block[position + 1 :]
            if (returned := return_of(statement)) is not None:
                return [*before, *self._said(statement, self.finish(returned))]
            if not _may_leave(statement):
                continue
            if not isinstance(statement, cst.If):
                raise Tangled(_first_return(statement), "a `return` inside a loop of the helper `{name}`")
            body, orelse = body_of(statement.body), otherwise(statement)
            if leaves(body) or not rest:
                return [*before, *self._arms(statement, body if leaves(body) else [*body, *rest], [*orelse, *rest])]
            if leaves(orelse):
                return [*before, *self._arms(statement, [*body, *rest], orelse)]
            if len(rest) == 1 and return_of(rest[0]) is not None:
                again = Copy(self.origins).of(rest[0])
                return [*before, *self._arms(statement, [*body, again], [*orelse, *rest])]
            if self.fresh is None:
                raise Tangled(_first_return(statement), "a `return` inside nested branches of the helper `{name}`")
            begin: Block = []
            if not self.flag:
                self.flag = self.fresh()
                begin = [self._set(statement, "True")]
            return [*before, *begin, *self.inside([statement]), self._asked(statement, self.last(rest))]
        return [*block, *self.finish(None)]

    def inside(self, block: Block) -> Block:
        """A block that something follows: its returns, which give nothing, clear the flag."""
        for position, statement in enumerate(block):
            before, rest = block[:position], block[position + 1 :]
            if return_of(statement) is not None:
                return [*before, self._set(statement, "False")]
            if not _may_leave(statement):
                continue
            if not isinstance(statement, cst.If):
                raise Tangled(_first_return(statement), "a `return` inside a loop of the helper `{name}`")
            arms = self.inside(body_of(statement.body)), self.inside(otherwise(statement))
            result: Block = [*before, with_arms(self.origins, statement, *arms)]
            return result if not rest else [*result, self._asked(statement, self.inside(rest))]
        return block

    def _arms(self, statement: cst.If, body: Block, orelse: Block) -> Block:
        """The `if` with both arms at their ends; turned round where only the other one does something."""
        known = self.flag
        first = self.last(body)
        self.flag = known
        second = self.last(orelse)
        self.flag = known
        if first or not second:
            return [with_arms(self.origins, statement, first, second)]
        above = [*statement.leading_lines, *comment_lines(comments_in(statement.body))]
        opposite = negated(self.origins, statement.test)
        return [self.origins.changed(statement, leading_lines=above, test=opposite, body=suite(second), orelse=None)]

    def _said(self, statement: cst.BaseStatement, block: Block) -> Block:
        """What stands for a return, with the comments above it."""
        if block and isinstance(statement, cst.SimpleStatementLine):
            block[0] = self.origins.changed(block[0], leading_lines=statement.leading_lines)
            last = block[-1]
            if isinstance(last, cst.SimpleStatementLine):
                block[-1] = self.origins.changed(last, trailing_whitespace=statement.trailing_whitespace)
        return block

    def _set(self, at: cst.BaseStatement, value: str) -> cst.BaseStatement:
        made = cst.Assign([cst.AssignTarget(cst.Name(self.flag))], cst.Name(value))
        self.origins.carry(at.body[0] if isinstance(at, cst.SimpleStatementLine) else at, made)
        return line_of(made)

    def _asked(self, at: cst.BaseStatement, rest: Block) -> cst.If:
        made = cst.If(cst.Name(self.flag), suite(rest))
        self.origins.carry(at, made)
        return made


def return_of(statement: cst.BaseStatement) -> cst.Return | None:
    """The return that a line consists of."""
    if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1:
        only = statement.body[0]
        return only if isinstance(only, cst.Return) else None
    return None


def leaves(block: Sequence[cst.BaseStatement]) -> bool:
    """Whether every path through a block ends in a return."""
    return any(
        return_of(statement) is not None
        or (isinstance(statement, cst.If) and leaves(body_of(statement.body)) and leaves(otherwise(statement)))
        for statement in block
    )


def returns_in(block: Sequence[cst.CSTNode]) -> list[cst.Return]:
    """Every return in a block, in order."""
    found: list[cst.Return] = []
    for node in block:
        if isinstance(node, cst.Return):
            found.append(node)
        elif not isinstance(node, cst.BaseExpression | cst.FunctionDef):
            found += returns_in(node.children)
    return found


def _may_leave(statement: cst.BaseStatement) -> bool:
    return bool(returns_in([statement]))


def _first_return(statement: cst.BaseStatement) -> cst.Return:
    return returns_in([statement])[0]


_OPPOSITE: dict[type[cst.BaseCompOp], type[cst.BaseCompOp]] = {
    cst.Equal: cst.NotEqual,
    cst.NotEqual: cst.Equal,
    cst.Is: cst.IsNot,
    cst.IsNot: cst.Is,
}


def negated(origins: Origins, test: cst.BaseExpression) -> cst.BaseExpression:
    """The opposite of a condition. Only what also holds of NaN is turned round."""
    match test:
        case cst.Comparison(comparisons=[target]) if (opposite := _OPPOSITE.get(type(target.operator))) is not None:
            turned = origins.changed(target, operator=opposite())
            return origins.changed(test, comparisons=[turned])
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            return inner
    closed = test
    if not test.lpar and not isinstance(test, cst.Name | cst.Call | cst.Attribute):
        closed = origins.changed(test, lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    made = cst.UnaryOperation(cst.Not(), closed)
    origins.carry(test, made)
    return made
