"""Which of a kernel's parameters it may write through, read from its text.

The converter knows what is stored, but a launcher that runs two kernels on one set of arguments must not depend on the
analysis that it is there to check. So this reads the source kernel once more, and errs to one side only: a parameter
named here that is never written costs a copy, one that is missed would be written twice.

A value *leads to* a parameter if the parameter is part of the expression that made it; what `tl.load` returns leads
nowhere, for a loaded number is an offset, never a pointer that Triton could store through. Whatever is stored through,
atomics and descriptors included, is written; so is everything that reaches a function whose text is not followed.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from triton.runtime.jit import JITFunction

__all__ = ["written_parameters"]

#: Functions of `triton.language`, and methods of tensors and descriptors, that write through their first operand.
WRITERS = frozenset(
    ("store atomic_add atomic_and atomic_cas atomic_max atomic_min atomic_or atomic_xchg atomic_xor scatter "
     "store_tensor_descriptor atomic_add_tensor_descriptor").split()
)  # fmt: skip
#: Those that read memory: their result leads to no pointer.
READERS = frozenset(("load", "gather", "load_tensor_descriptor"))
#: Code whose effect nobody reads.
OPAQUE = frozenset(("inline_asm_elementwise", "call", "extern_elementwise"))
#: Modules whose functions write only as listed above.
KNOWN_MODULES = ("triton", "math", "builtins")
#: Helpers that call helpers are followed so far.
DEEPEST = 16


def written_parameters(kernel: Any) -> frozenset[frozenset[str]]:
    """For each place where a jit function writes, the parameters that its target leads to.

    Together they are a superset of the pointers written through. A target that leads to no pointer at all is an address
    from elsewhere, such as one loaded from a table.
    """
    return frozenset(_Reader(kernel, 0).written())


class _Reader:
    """One function: what each of its names leads to."""

    def __init__(self, kernel: Any, depth: int) -> None:
        self._depth = depth
        self._scope: Mapping[str, Any] = {**kernel.fn.__globals__, **inspect.getclosurevars(kernel.fn).nonlocals}
        tree = ast.parse(textwrap.dedent(kernel.src))
        self._function = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
        self.parameters = [argument.arg for argument in self._function.args.args]
        self._leads: dict[str, set[str]] = {name: {name} for name in self.parameters}

    def written(self) -> set[frozenset[str]]:
        """What each target of a write leads to."""
        # A name may be used above the line that rebinds it, in a loop: repeat until nothing is new.
        known = -1
        while known != (known := sum(map(len, self._leads.values()))):
            for node in ast.walk(self._function):
                self._bind(node)
        found: set[frozenset[str]] = set()
        for node in ast.walk(self._function):
            if isinstance(node, ast.Call):
                found |= self._written_by(node)
        return found

    def _bind(self, node: ast.AST) -> None:
        targets: Iterable[ast.expr]
        match node:
            case ast.Assign(targets=targets, value=value):
                pass
            case ast.AugAssign(target=target, value=value) | ast.AnnAssign(target=target, value=ast.expr() as value):
                targets = [target]
            case ast.NamedExpr(target=target, value=value) | ast.For(target=target, iter=value):
                targets = [target]
            case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
                targets = [target]
            case _:
                return
        leads = self._lead(value)
        for target in targets:
            for name in ast.walk(target):
                if isinstance(name, ast.Name):
                    self._leads.setdefault(name.id, set()).update(leads)

    def _lead(self, node: ast.AST) -> set[str]:
        """The parameters that the value of an expression leads to."""
        if isinstance(node, ast.Name):
            return self._leads.get(node.id, set())
        if isinstance(node, ast.Call) and _last(node.func) in READERS:
            return set()
        found: set[str] = set()
        for child in ast.iter_child_nodes(node):
            found |= self._lead(child)
        return found

    def _written_by(self, call: ast.Call) -> set[frozenset[str]]:
        name = _last(call.func)
        operands = [*call.args, *(keyword.value for keyword in call.keywords)]
        if name in WRITERS:
            # `ptr.store(x)` and `tl.store(ptr, x)`: what stands before the dot is a module in the second.
            return {frozenset(self._lead(call.func) or self._leads_of(operands[:1]))}
        everything = self._lead(call.func) | self._leads_of(operands)
        function = self._callee(call.func)
        if isinstance(function, JITFunction) and not _known(function.__module__):
            return self._written_in(function, call, everything)
        harmless = function is None or _known(getattr(function, "__module__", "") or "")
        return set() if harmless and name not in OPAQUE else {frozenset({each}) for each in everything}

    def _written_in(self, function: Any, call: ast.Call, everything: set[str]) -> set[frozenset[str]]:
        """What a helper writes through, in terms of this function's parameters."""
        if self._depth == DEEPEST or any(isinstance(argument, ast.Starred) for argument in call.args):
            return {frozenset({each}) for each in everything}
        reader = _Reader(function, self._depth + 1)
        given = dict(zip(reader.parameters, call.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
        return {
            frozenset(self._leads_of(given[name] for name in target if name in given)) for target in reader.written()
        }

    def _leads_of(self, nodes: Iterable[ast.expr]) -> set[str]:
        return set().union(*(self._lead(node) for node in nodes))

    def _callee(self, node: ast.expr) -> Any:
        """The live object that is called; `None` for methods of values and for builtins."""
        if isinstance(node, ast.Name):
            return None if node.id in self._leads else self._scope.get(node.id)
        if isinstance(node, ast.Attribute):
            return getattr(self._callee(node.value), node.attr, None)
        return None


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _known(module: str) -> bool:
    return module.partition(".")[0] in KNOWN_MODULES
