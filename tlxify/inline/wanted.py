"""Which jit helpers must be written out: those whose body a role is cut out of, or that ask which program this is.

A helper that only computes (an activation, a tile's coordinates from its index) stays a call: it reads better so.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..model import Helper, Module
from ..reach import chain_of

LANGUAGE = "triton.language."
DOTS = ("dot", "dot_scaled")
_TOUCHES = ("load", "store", "make_block_ptr", "make_tensor_descriptor", "program_id", "num_programs")
_METHODS = ("load", "store", "gather", "scatter")
_EFFECTS = ("store", "scatter", "print", "assert", "barrier")


@dataclass(frozen=True, slots=True)
class Content:
    """What a function does, itself or through the helpers that it calls."""

    #: It must be written out.
    wanted: bool = False
    dot: bool = False
    #: It changes memory or says something: it may not be moved across what reads memory.
    effect: bool = False

    def __or__(self, other: Content) -> Content:
        return Content(self.wanted or other.wanted, self.dot or other.dot, self.effect or other.effect)


class Contents:
    """What the helpers of a kernel do, each looked at once. They may call each other in circles."""

    def __init__(self) -> None:
        self._direct: dict[int, tuple[Content, tuple[Helper, ...]]] = {}
        self._known: dict[int, Content] = {}

    def of(self, helper: Helper) -> Content:
        """What a helper does."""
        if id(helper.node) not in self._known:
            result, pending, seen = Content(), [helper], {id(helper.node)}
            while pending:
                own, called = self._look(pending.pop())
                result |= own
                pending += [one for one in called if id(one.node) not in seen]
                seen |= {id(one.node) for one in called}
            self._known[id(helper.node)] = result
        return self._known[id(helper.node)]

    def _look(self, helper: Helper) -> tuple[Content, tuple[Helper, ...]]:
        """What a helper does itself, and the helpers that it calls or passes on."""
        if id(helper.node) not in self._direct:
            result, found = Content(), list[Helper]()
            for node in ast.walk(helper.node):
                if isinstance(node, ast.Call):
                    own, called = _of_call(node, helper.module)
                    result |= own
                    found += called
            self._direct[id(helper.node)] = result, tuple(found)
        return self._direct[id(helper.node)]


def _of_call(call: ast.Call, module: Module) -> tuple[Content, list[Helper]]:
    name = module.names.canonical(call.func)
    if name is not None and name.startswith(LANGUAGE):
        return _of_language(name.removeprefix(LANGUAGE)), []
    called = helper_of(module, chain_of(call.func))
    passed = [helper for argument in call.args if (helper := helper_of(module, chain_of(argument))) is not None]
    if called is not None:
        return Content(wanted=bool(passed)), [called, *passed]  # one that is passed on is known only where it is called
    if isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS:
        return Content(wanted=True, effect=call.func.attr in _EFFECTS), passed
    return Content(), passed


def helper_of(module: Module, chain: str | None) -> Helper | None:
    """The jit helper that a dotted chain names, whole."""
    if chain is None:
        return None
    prefix, meaning = module.meaning(chain) or (chain, None)
    return meaning if isinstance(meaning, Helper) and prefix == chain else None


def _of_language(name: str) -> Content:
    leaf = name.rpartition(".")[2]
    effect = leaf.startswith("atomic_") or (not leaf.startswith("static_") and any(word in leaf for word in _EFFECTS))
    touches = leaf in _TOUCHES or leaf.startswith("atomic_") or "descriptor" in leaf
    return Content(wanted=touches or leaf in DOTS, dot=leaf in DOTS, effect=effect)
