"""One role's body: the kernel's statements without those the role does not need, and with those it replaces.

What: a walk over the function that keeps, replaces or drops each statement, as the plan says.
Why: what is kept stays the user's text, comments included, so that the output reads like the source.
Before: `a = tl.load(a_ptrs)` under the comment `# next tile`.
After: the generated statements that stand for it, under the same comment; comments of statements that no role keeps go
to whichever role adopts them.
When refused: never; liveness has decided what a role keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import libcst as cst

from ..plan import WrittenOut
from ..source import Span
from .comments import blank, comment_lines, comments_in, leading, trailing, with_leading
from .expressions import replace
from .function import FunctionText
from .lines import statements
from .negation import negated

#: Text of the statements that stand for one of the source's.
Replacement = str
#: What `tl.range` may ask of the compiler. A loop with rings is pipelined and specialized already: what else is done to
#: it breaks that apart, or the compiler.
HINTS = frozenset(
    {
        "num_stages",
        "loop_unroll_factor",
        "disallow_acc_multi_buffer",
        "flatten",
        "warp_specialize",
        "disable_licm",
    }
)
#: Hints that reach into the loops inside, or that no loop of a role may have.
FAR_HINTS = frozenset({"flatten", "warp_specialize"})


#: What becomes of the statements of a block.
Rewritten = Callable[[list[cst.BaseStatement]], list[cst.BaseStatement]]


@dataclass(slots=True)
class Role:
    """How one role is cut out of the kernel."""

    text: FunctionText
    keeps: frozenset[Span]
    #: Statements with generated code in their place.
    replaced: Mapping[Span, Replacement]
    #: Expressions with another in their place.
    expressions: Mapping[Span, str]
    #: Accesses through block pointers, as they are to be written.
    accesses: Mapping[Span, WrittenOut] = field(default_factory=dict)
    #: Generated code at the end of a loop's body, and before and behind a statement.
    at_loop_end: Mapping[Span, str] = field(default_factory=dict)
    before: Mapping[Span, str] = field(default_factory=dict)
    after: Mapping[Span, str] = field(default_factory=dict)
    #: Loops that run over something else here.
    heads: Mapping[Span, str] = field(default_factory=dict)
    #: Blocks that become others: a loop's body, an arm of a branch.
    blocks: Mapping[tuple[Span, int], Rewritten] = field(default_factory=dict)
    #: Loops whose counter has another name here.
    counters: Mapping[Span, str] = field(default_factory=dict)
    #: Comments to put above a kept statement.
    notes: Mapping[Span, str] = field(default_factory=dict)
    #: Statements that no role keeps, whose comments this one takes over.
    adopts: frozenset[Span] = frozenset()
    #: Replaced statements that begin with the wait for a slot: what the source says of them belongs to what follows it.
    acquiring: frozenset[Span] = frozenset()
    #: Replaced statements whose comments another role shows.
    silent: frozenset[Span] = frozenset()
    #: Branches of which one arm takes the place: whether it is the first.
    settled: Mapping[Span, bool] = field(default_factory=dict)
    #: Comparisons that may be turned round.
    reversible: tuple[Span, ...] = ()
    #: Rings take the place of the compiler's pipelining: what a loop asks of it is left out.
    pipelined: bool = True
    _pending: list[str] = field(default_factory=list)

    def body(self) -> list[cst.BaseStatement]:
        """The statements of the role, at the kernel's indentation."""
        block = self.text.function.body
        assert isinstance(block, cst.IndentedBlock)
        result = self._block(block.body)
        return self._flush(result)

    def inside(self, statement: Span, arm: int = 0) -> list[cst.BaseStatement]:
        """The statements of the body of the loop, or of an arm of the branch, at that place."""
        node = self._find(self.text.function, statement)
        assert node is not None
        body = node.body if arm == 0 or not isinstance(node, cst.If) else node.orelse
        if isinstance(body, cst.If):
            return self._flush(self._block([body]))
        assert body is not None
        return self._flush(self._block(self._indented(body.body if isinstance(body, cst.Else) else body).body))

    def _find(self, node: cst.CSTNode, span: Span) -> cst.For | cst.While | cst.If | None:
        """The compound statement at that place."""
        if isinstance(node, cst.For | cst.While | cst.If) and self.text.spans.get(node) == span:
            return node
        found = (self._find(child, span) for child in node.children)
        return next((one for one in found if one is not None), None)

    def _rewritten(self, inner: list[cst.BaseStatement], span: Span, arm: int) -> list[cst.BaseStatement]:
        rewrite = self.blocks.get((span, arm))
        return inner if rewrite is None else rewrite(inner)

    def _block(self, nodes: Sequence[cst.BaseStatement]) -> list[cst.BaseStatement]:
        result: list[cst.BaseStatement] = []
        for node in nodes:
            for single in self._one_by_one(node):
                result += self._statement(single)
        return result

    def _statement(self, node: cst.BaseStatement) -> list[cst.BaseStatement]:
        span = self.text.span(node)
        before, after = statements(self.before.get(span, "")), statements(self.after.get(span, ""))
        inner = self._inner(node, span)
        if before and inner:
            # What is said about the statement is said before what was put in front of it.
            before[0] = with_leading(before[0], [*leading(inner[0]), *leading(before[0])])
            inner[0] = with_leading(inner[0], [])
        return [*before, *inner, *after]

    def _inner(self, node: cst.BaseStatement, span: Span) -> list[cst.BaseStatement]:
        if span in self.replaced:
            return self._replace(node, self.replaced[span])
        if span in self.settled and isinstance(node, cst.If):
            return self._in_place(node, self.settled[span])
        if span not in self.keeps:
            if span in self.adopts:
                self._pending += [*(line.comment.value for line in leading(node) if line.comment), *trailing(node)]
            return []
        match node:
            case cst.For(body=body) | cst.While(body=body):
                return self._loop(node, self._indented(body), span)
            case cst.If():
                return [self._noted(self._if(node), span)]
            case _:
                kept = replace(node, self.text, self.expressions, self.accesses)
                said = comments_in(kept)
                self._pending += [text for text in comments_in(node) if text not in said]
                return [self._noted(kept, span)]

    def _in_place(self, node: cst.If, first: bool) -> list[cst.BaseStatement]:
        """The statements of one arm, in place of the branch; what is said about the branch is said about them."""
        arm = self._taken(node, first)
        if not self._has_work(arm):
            return []
        self._pending += [line.comment.value for line in leading(node) if line.comment]
        inner = self._block(arm)
        if inner and not blank(leading(inner[0])):
            inner[0] = with_leading(inner[0], [*blank(leading(node)), *leading(inner[0])])
        return inner

    def _taken(self, node: cst.BaseStatement, first: bool) -> Sequence[cst.BaseStatement]:
        assert isinstance(node, cst.If)
        orelse = node.orelse
        if not first and isinstance(orelse, cst.If):
            return [orelse]
        suite = node.body if first else orelse.body if isinstance(orelse, cst.Else) else None
        return self._indented(suite).body if suite is not None else []

    def _noted(self, node: cst.BaseStatement, span: Span) -> cst.BaseStatement:
        lines = leading(node)
        if self._pending:
            lines, self._pending = [*blank(lines), *comment_lines(self._pending), *(x for x in lines if x.comment)], []
        if span in self.notes:
            lines = [*lines, *comment_lines(self.notes[span].splitlines())]
        return with_leading(node, lines)

    def _replace(self, node: cst.BaseStatement, text: str) -> list[cst.BaseStatement]:
        new = statements(text)
        own = [*(line.comment.value for line in leading(node) if line.comment), *trailing(node)]
        own = [] if self.text.span(node) in self.silent else own
        first, last = [*self._pending], own
        if self.text.span(node) not in self.acquiring:
            first, last = [*first, *own], []
        self._pending = []
        lines = [*blank(leading(node)), *comment_lines(first), *leading(new[0])]
        new = [with_leading(new[0], lines), *new[1:]]
        return [*new[:-1], with_leading(new[-1], [*comment_lines(last), *leading(new[-1])])] if last else new

    def _one_by_one(self, node: cst.BaseStatement) -> list[cst.BaseStatement]:
        """`a = 1; b = 2` as two lines; what is said behind them is said behind the second."""
        if isinstance(node, cst.SimpleStatementLine) and len(node.body) > 1:
            lines = self._lines(node.body, node.trailing_whitespace)
            return [lines[0].with_changes(leading_lines=node.leading_lines), *lines[1:]]
        return [node]

    def _indented(self, body: cst.BaseSuite) -> cst.IndentedBlock:
        """`for …: a = 1` with its body in lines of its own."""
        if isinstance(body, cst.SimpleStatementSuite):
            return cst.IndentedBlock(body=self._lines(body.body, body.trailing_whitespace))
        assert isinstance(body, cst.IndentedBlock)
        return body

    def _lines(
        self, parts: Sequence[cst.BaseSmallStatement], end: cst.TrailingWhitespace
    ) -> list[cst.SimpleStatementLine]:
        lines = []
        for small in parts:
            alone = small.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
            self.text.spans[alone] = self.text.spans[small]
            lines.append(cst.SimpleStatementLine(body=[alone]))
        return [*lines[:-1], lines[-1].with_changes(trailing_whitespace=end)]

    def _loop(self, node: cst.For | cst.While, block: cst.IndentedBlock, span: Span) -> list[cst.BaseStatement]:
        before, self._pending = self._pending, []
        inner = self._block(block.body)
        inner = self._flush(inner)
        self._pending = before
        inner += statements(self.at_loop_end.get(span, ""))
        inner = self._rewritten(inner, span, 0)
        head = self._head(node).with_changes(body=block.with_changes(body=inner))
        if isinstance(node, cst.For) and isinstance(head, cst.For):
            said = comments_in(head.iter)
            self._pending += [text for text in comments_in(node.iter) if text not in said]
        if span in self.counters and isinstance(head, cst.For):
            head = head.with_changes(target=cst.Name(self.counters[span]))
        return [self._noted(head, span)]

    def _head(self, node: cst.For | cst.While) -> cst.For | cst.While:
        if isinstance(node, cst.For):
            span = self.text.span(node)
            pipelined = span in self.at_loop_end or any(span.contains(other) for other in self.replaced)
            pipelined = pipelined and self.pipelined
            iterable = _without(node.iter, HINTS if pipelined else FAR_HINTS)
            if span in self.heads:
                return node.with_changes(iter=cst.parse_expression(self.heads[span]))
            return node.with_changes(iter=replace(iterable, self.text, self.expressions))
        return node.with_changes(test=replace(node.test, self.text, self.expressions))

    def _if(self, node: cst.If) -> cst.If:
        """The `if` with what the role keeps of its arms; where that is the `else` alone, the condition turns round."""
        body, orelse = node.body, node.orelse
        assert isinstance(body, cst.IndentedBlock | cst.SimpleStatementSuite)
        if isinstance(orelse, cst.Else) and not self._any(body) and self._any(orelse.body):
            before, self._pending = self._pending, []
            self._block(self._indented(body).body)  # for what is said there
            said = [*comments_in(self._indented(body).header), *self._pending, *comments_in(_header(orelse.body))]
            self._pending = before
            test = replace(negated(node.test, self.text, self.reversible), self.text, self.expressions)
            inner = self._rewritten(self._arm(orelse.body), self.text.span(node), 1)
            work = _suite(body, inner).with_changes(header=cst.TrailingWhitespace())
            lines = [*leading(node), *comment_lines(said)]
            return node.with_changes(test=test, body=work, orelse=None, leading_lines=lines)
        inner = self._rewritten(self._arm(body), self.text.span(node), 0)
        match orelse:
            case cst.If() if self.text.span(orelse) in self.settled:
                kept = self._in_place(orelse, self.settled[self.text.span(orelse)])
                orelse = cst.Else(body=cst.IndentedBlock(body=kept)) if kept else None
            case cst.If():
                orelse = self._if(orelse) if self.text.span(orelse) in self.keeps else None
            case cst.Else(body=arm):
                kept = self._rewritten(self._arm(arm), self.text.span(node), 1)
                orelse = orelse.with_changes(body=_suite(arm, kept)) if kept else None
        return node.with_changes(
            test=replace(node.test, self.text, self.expressions),
            body=_suite(body, inner or statements("pass")),
            orelse=orelse,
        )

    def _any(self, body: cst.BaseSuite) -> bool:
        """Whether the role has something to do in a block."""
        return self._has_work(self._indented(body).body)

    def _has_work(self, nodes: Sequence[cst.BaseStatement]) -> bool:
        for single in (single for node in nodes for single in self._one_by_one(node)):
            span = self.text.span(single)
            if span in self.keeps or span in self.replaced:
                return True
            taken = self._taken(single, self.settled[span]) if self._is_settled(single) else ()
            if self._has_work(taken):
                return True
        return False

    def _is_settled(self, node: cst.BaseStatement) -> bool:
        return isinstance(node, cst.If) and self.text.span(node) in self.settled

    def _arm(self, body: cst.BaseSuite) -> list[cst.BaseStatement]:
        before, self._pending = self._pending, []
        block = self._indented(body)
        inner = self._block(block.body)
        if not inner and comments_in(block) and any(self.text.span(node) in self.adopts for node in block.body):
            inner = statements("pass")  # nothing else would carry what is said here
        inner = self._flush(inner)
        self._pending = before
        return inner

    def _flush(self, nodes: list[cst.BaseStatement]) -> list[cst.BaseStatement]:
        """Comments left over at the end of a block go above its last statement: after the end nothing is written."""
        if self._pending and nodes:
            last = nodes[-1]
            nodes = [*nodes[:-1], with_leading(last, [*leading(last), *comment_lines(self._pending)])]
            self._pending = []
        return nodes


def _without(iterable: cst.BaseExpression, hints: frozenset[str]) -> cst.BaseExpression:
    """The call without its arguments of these names."""
    if not isinstance(iterable, cst.Call):
        return iterable
    kept = [arg for arg in iterable.args if arg.keyword is None or arg.keyword.value not in hints]
    if len(kept) == len(iterable.args):
        return iterable
    kept[-1] = kept[-1].with_changes(comma=iterable.args[-1].comma)
    return iterable.with_changes(args=kept)


def _header(body: cst.BaseSuite) -> cst.CSTNode:
    """What stands behind the colon."""
    return body.header if isinstance(body, cst.IndentedBlock) else cst.TrailingWhitespace()


def _suite(body: cst.BaseSuite, inner: list[cst.BaseStatement]) -> cst.IndentedBlock:
    return body.with_changes(body=inner) if isinstance(body, cst.IndentedBlock) else cst.IndentedBlock(body=inner)
