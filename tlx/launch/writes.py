"""Which of a kernel's parameters it may write through and read from, read from its text.

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
from enum import Enum
from typing import Any

from triton.runtime.jit import JITFunction

__all__ = ["Access", "accesses", "written_parameters"]

#: Functions of `triton.language`, and methods of tensors and descriptors, that write through their first operand.
WRITERS = frozenset(
    ("store atomic_add atomic_and atomic_cas atomic_max atomic_min atomic_or atomic_xchg atomic_xor scatter "
     "store_tensor_descriptor atomic_add_tensor_descriptor").split()
)  # fmt: skip
#: Those that read memory: their result leads to no pointer.
READERS = frozenset(("load", "gather", "load_tensor_descriptor"))
#: Code whose effect nobody reads.
OPAQUE = frozenset(("inline_asm_elementwise", "call", "extern_elementwise"))
#: What a store of the same values twice leaves as one would have.
STORES = frozenset(("store", "scatter", "store_tensor_descriptor"))
#: How a pointer is passed by name.
POINTER_NAMES = ("pointer", "desc", "base")
#: Modules whose functions write only as listed above.
KNOWN_MODULES = ("triton", "math", "builtins")
#: Helpers that call helpers are followed so far.
DEEPEST = 16


class Access(Enum):
    """What is done to memory at one place of a kernel."""

    LOAD = "load"
    STORE = "store"
    #: What an atomic does, or nobody knows: made twice, it may leave something else than made once.
    UPDATE = "update"


def accesses(kernel: Any) -> frozenset[tuple[Access, frozenset[str]]]:
    """Each access of a jit function, with the parameters that its target leads to.

    A target that leads to no pointer at all is an address from elsewhere, such as one loaded from a table.
    """
    return frozenset(_Reader(kernel, 0).found())


def written_parameters(kernel: Any) -> frozenset[frozenset[str]]:
    """For each place where a jit function writes, the parameters that its target leads to.

    Together they are a superset of the pointers written through.
    """
    return frozenset(target for access, target in accesses(kernel) if access is not Access.LOAD)


class _Reader:
    """One function: what each of its names leads to."""

    def __init__(self, kernel: Any, depth: int) -> None:
        self._depth = depth
        self._scope: Mapping[str, Any] = {**kernel.fn.__globals__, **inspect.getclosurevars(kernel.fn).nonlocals}
        tree = ast.parse(textwrap.dedent(kernel.src))
        self._function = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
        self.parameters = [argument.arg for argument in self._function.args.args]
        self._leads: dict[str, set[str]] = {name: {name} for name in self.parameters}

    def found(self) -> set[tuple[Access, frozenset[str]]]:
        """Each access, and what its target leads to."""
        # A name may be used above the line that rebinds it, in a loop: repeat until nothing is new.
        known = -1
        while known != (known := sum(map(len, self._leads.values()))):
            for node in ast.walk(self._function):
                self._bind(node)
        found: set[tuple[Access, frozenset[str]]] = set()
        for node in ast.walk(self._function):
            if isinstance(node, ast.Call):
                found |= self._made_by(node)
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
        if isinstance(node, ast.Attribute) and node.attr == "dtype":
            return set()
        found: set[str] = set()
        for child in ast.iter_child_nodes(node):
            found |= self._lead(child)
        return found

    def _made_by(self, call: ast.Call) -> set[tuple[Access, frozenset[str]]]:
        name = _last(call.func)
        operands = [*call.args, *(keyword.value for keyword in call.keywords)]
        everything = self._lead(call.func) | self._leads_of(operands)
        if name in WRITERS:
            # `ptr.store(x)` and `tl.store(ptr, x)`: what stands before the dot is a module in the second.
            access = Access.STORE if name in STORES else Access.UPDATE
            target = self._lead(call.func) or self._leads_of(call.args[:1])
            return {(access, frozenset(target or self._leads_of(_named_pointers(call))))}
        if name in READERS:
            return {(Access.LOAD, frozenset(everything))}
        function = self._callee(call.func)
        if isinstance(function, JITFunction) and not _known(function.__module__):
            return self._made_in(function, call, everything)
        # What a parameter stands for, a function of the caller's, is not followed.
        passed = isinstance(call.func, ast.Name) and call.func.id in self._leads
        harmless = not passed and (function is None or _known(getattr(function, "__module__", "") or ""))
        return set() if harmless and name not in OPAQUE else _anything(everything)

    def _made_in(self, function: Any, call: ast.Call, everything: set[str]) -> set[tuple[Access, frozenset[str]]]:
        """What a helper does, in terms of this function's parameters."""
        if self._depth == DEEPEST or any(isinstance(argument, ast.Starred) for argument in call.args):
            return _anything(everything)
        reader = _Reader(function, self._depth + 1)
        given = dict(zip(reader.parameters, call.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
        return {
            (access, frozenset(self._leads_of(given[name] for name in target if name in given)))
            for access, target in reader.found()
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


def _anything(parameters: Iterable[str]) -> set[tuple[Access, frozenset[str]]]:
    """What may be done with these parameters where nobody looks: each may be read, and written in any way."""
    return {(access, frozenset({each})) for access in (Access.LOAD, Access.UPDATE) for each in parameters}


def _named_pointers(call: ast.Call) -> list[ast.expr]:
    return [keyword.value for keyword in call.keywords if keyword.arg in POINTER_NAMES]


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _known(module: str) -> bool:
    return module.partition(".")[0] in KNOWN_MODULES
