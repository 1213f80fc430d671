"""A helper's body in the words of its caller: names renamed, parameters replaced by what they stand for."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from .folding import UNKNOWN, as_node, literal, pruned
from .trees import Block, Copy, Origins, chain_of

#: What needs no brackets wherever a name may stand.
_ATOMS = (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.SimpleString, cst.Float, cst.Integer)


class Substitute(Copy):
    """Copies trees with other names.

    Where a literal takes the place of a name, integer arithmetic and tests are computed.
    """

    def __init__(
        self, origins: Origins, names: Mapping[str, cst.BaseExpression], chains: Mapping[str, str] | None = None
    ) -> None:
        """`names` says what stands for local names, `chains` how chains of global names are said here."""
        super().__init__(origins)
        self._names = names
        self._chains = chains or {}
        #: Names that are nobody's variable: attributes and keywords.
        self._inert: set[cst.CSTNode] = set()
        #: Brackets that are only needed inside of other expressions.
        self._wrapped: set[cst.CSTNode] = set()
        #: Nodes that came to be, or to hold, a literal in place of a name.
        self._touched: set[cst.CSTNode] = set()
        self._settled: dict[cst.CSTNode, bool] = {}

    def block(self, block: Block) -> Block:
        """A copy of statements, without the arms that are settled now."""
        return pruned(self.origins, [self.of(statement) for statement in block], self._settled)

    # ---- names

    def visit_Attribute(self, node: cst.Attribute) -> None:
        """Its own name is no variable."""
        self._inert.add(node.attr)

    def visit_Arg(self, node: cst.Arg) -> None:
        """Its keyword is no variable."""
        if node.keyword is not None:
            self._inert.add(node.keyword)

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        """What stands for a variable."""
        name = original_node.value
        if original_node in self._inert:
            return updated_node
        if name in self._names:
            return self._replaced(original_node, Copy(self.origins).of(self._names[name]))
        if name in self._chains:
            return self._replaced(original_node, cst.parse_expression(self._chains[name]))
        return updated_node

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        """A chain of global names, as a whole."""
        chain = chain_of(original_node)
        if chain is not None and chain in self._chains:
            return self._replaced(original_node, cst.parse_expression(self._chains[chain]))
        return updated_node

    def _replaced(self, original: cst.BaseExpression, value: cst.BaseExpression) -> cst.BaseExpression:
        if original.lpar:
            value = value.with_changes(lpar=[*original.lpar, *value.lpar], rpar=[*value.rpar, *original.rpar])
        elif not value.lpar and not isinstance(value, _ATOMS):
            value = value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
            self._wrapped.add(value)
        if literal(value) is not UNKNOWN:
            self._touched.add(value)
        self.origins.move(value, original)
        return value

    # ---- brackets

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        """An argument stands alone."""
        return updated_node.with_changes(value=self._bare(updated_node.value))

    def leave_Assign(self, original_node: cst.Assign, updated_node: cst.Assign) -> cst.Assign:
        """So does an assigned value."""
        return updated_node.with_changes(value=self._bare(updated_node.value))

    def leave_Return(self, original_node: cst.Return, updated_node: cst.Return) -> cst.Return:
        """So does a returned value."""
        return updated_node.with_changes(value=updated_node.value and self._bare(updated_node.value))

    def leave_Element(self, original_node: cst.Element, updated_node: cst.Element) -> cst.Element:
        """So does an element of a tuple."""
        return updated_node.with_changes(value=self._bare(updated_node.value))

    def _bare(self, value: cst.BaseExpression) -> cst.BaseExpression:
        if value not in self._wrapped or isinstance(value, cst.Tuple | cst.GeneratorExp | cst.NamedExpr | cst.Yield):
            return value
        return self.origins.changed(value, lpar=[], rpar=[])

    # ---- literals

    def leave_BinaryOperation(
        self, original_node: cst.BinaryOperation, updated_node: cst.BinaryOperation
    ) -> cst.BaseExpression:
        """Integers are computed with."""
        return self._computed(updated_node, updated_node.left, updated_node.right)

    def leave_UnaryOperation(
        self, original_node: cst.UnaryOperation, updated_node: cst.UnaryOperation
    ) -> cst.BaseExpression:
        """`not` is settled."""
        return self._computed(updated_node, updated_node.expression)

    def leave_Comparison(self, original_node: cst.Comparison, updated_node: cst.Comparison) -> cst.BaseExpression:
        """Two literals are equal or not."""
        return self._computed(updated_node, updated_node.left, *(part.comparator for part in updated_node.comparisons))

    def leave_BooleanOperation(
        self, original_node: cst.BooleanOperation, updated_node: cst.BooleanOperation
    ) -> cst.BaseExpression:
        """A literal on the left says which side the value is."""
        if updated_node.left in self._touched and (left := literal(updated_node.left)) is not UNKNOWN:
            return updated_node.right if bool(left) == isinstance(updated_node.operator, cst.And) else updated_node.left
        return self._computed(updated_node, updated_node.left, updated_node.right)

    def leave_IfExp(self, original_node: cst.IfExp, updated_node: cst.IfExp) -> cst.BaseExpression:
        """A choice that is made."""
        if updated_node.test in self._touched and (test := literal(updated_node.test)) is not UNKNOWN:
            return updated_node.body if test else updated_node.orelse
        return updated_node

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> cst.If:
        """A test that is settled, for `block` to act on."""
        if updated_node.test in self._touched and (test := literal(updated_node.test)) is not UNKNOWN:
            self._settled[updated_node.test] = bool(test)
        return updated_node

    def _computed(self, node: cst.BaseExpression, *parts: cst.BaseExpression) -> cst.BaseExpression:
        if not any(part in self._touched for part in parts) or (value := literal(node)) is UNKNOWN:
            return node
        made = as_node(value)
        if isinstance(made, cst.UnaryOperation):
            made = made.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
            self._wrapped.add(made)
        self.origins.carry(node, made)
        self._touched.add(made)
        return made
