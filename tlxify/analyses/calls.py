"""Who is called: a function of Triton, a jit helper, a builtin or a method of a block."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..diagnostics import Decline
from ..model import Helper
from ..reach import chain_of
from ..source import Span
from .language import HANDLERS, LANGUAGE, Call
from .language.boxes import load_descriptor, store_descriptor
from .language.elementwise import pointwise
from .spreads import SIGNS
from .values import Value, literal

if TYPE_CHECKING:
    from .interpret import Interpreter

#: Python's and Triton's host-side names for functions of the language.
_SAME: Mapping[str, str] = {"min": "minimum", "max": "maximum", "abs": "abs", "triton.cdiv": "cdiv"}
#: Methods of a block, by the function of which the block is the first argument.
_METHODS: Mapping[str, str] = {
    "to": "cast",
    "view": "reshape",
    **{name: name for name in "abs cast exp exp2 log sigmoid sqrt".split()},
    **{name: name for name in "broadcast_to expand_dims permute reshape trans".split()},
    **{name: name for name in "argmax argmin max min reduce sum cumprod cumsum flip sort".split()},
    **{name: name for name in "advance gather split log2 sin cos floor ceil erf rsqrt".split()},
}
#: Operators under their methods' names.
_OPERATORS: Mapping[str, type[ast.operator]] = {
    "__add__": ast.Add, "__sub__": ast.Sub, "__mul__": ast.Mult, "__truediv__": ast.Div, "__floordiv__": ast.FloorDiv,
    "__mod__": ast.Mod, "__and__": ast.BitAnd, "__or__": ast.BitOr, "__xor__": ast.BitXor,
    "__lshift__": ast.LShift, "__rshift__": ast.RShift,
}  # fmt: skip
#: Position by position as well, and only methods.
_LOGICAL = ("logical_and", "logical_or")
#: What they answer about a program is not so of the roles it is divided into.
_OF_THE_PROGRAM = frozenset({"num_warps", "num_threads"})
#: Methods of a tensor descriptor.
_DESCRIPTOR = {
    "load": load_descriptor,
    "store": store_descriptor,
    **{f"atomic_{name}": store_descriptor for name in ("add", "and", "max", "min", "or", "xor")},
}


def call(run: Interpreter, node: ast.Call) -> Value:
    """The value of a call. Raises Decline TLX317 for a function nothing is known of."""
    span = Span.of(node)
    if any(isinstance(argument, ast.Starred) for argument in node.args) or any(k.arg is None for k in node.keywords):
        raise Decline("TLX104", span, what="starred arguments")
    keywords = {k.arg: k.value for k in node.keywords if k.arg}
    name = run.module.names.canonical(node.func)
    if name is not None and name.startswith(LANGUAGE):
        return _language(run, Call(name.removeprefix(LANGUAGE), node, tuple(node.args), keywords))
    if (helper := _helper(run, node.func)) is not None:
        positional = [run.expression(argument) for argument in node.args]
        named = {key: run.expression(argument) for key, argument in keywords.items()}
        return run.call_helper(helper, positional, named, span)
    if name is not None and name in _SAME:
        known = Call(_SAME[name], node, tuple(node.args), keywords)
        return HANDLERS["cdiv"](run, known) if known.name == "cdiv" else pointwise(run, known, name)
    if name in ("int", "float", "bool", "len", "isinstance"):
        return pointwise(run, Call(name, node, tuple(node.args), keywords), name)
    if name == "print":
        run.events.effects.append((run.place(node), "print"))
        return literal(None)
    if isinstance(node.func, ast.Attribute) and (name is None or name.split(".")[0] in run.scope):
        return _method(run, node, node.func, keywords)
    raise Decline("TLX317", span, name=ast.unparse(node.func))


def _helper(run: Interpreter, function: ast.expr) -> Helper | None:
    """The jit helper that a callee names, by itself or as a member of a module."""
    chain = chain_of(function)
    if chain is None or chain.partition(".")[0] in run.scope:
        return None
    prefix, meaning = run.module.meaning(chain) or (chain, None)
    return meaning if isinstance(meaning, Helper) and prefix == chain else None


def _language(run: Interpreter, call: Call) -> Value:
    package, _, leaf = call.name.rpartition(".")
    handler = HANDLERS.get(call.name) or (HANDLERS[leaf] if leaf == "inline_asm_elementwise" else None)
    if handler is not None:
        return handler(run, call)
    if package.split(".")[0] in ("math", "extra", "libdevice") and leaf not in _OF_THE_PROGRAM:
        return pointwise(run, call, f"tl.{call.name}")
    raise Decline("TLX317", call.span, name=f"tl.{call.name}")


def _method(run: Interpreter, node: ast.Call, function: ast.Attribute, keywords: Mapping[str, ast.expr]) -> Value:
    method, arguments = function.attr, (function.value, *node.args)
    if method in _METHODS:
        name = _METHODS[method]
        return HANDLERS[name](run, Call(name, node, arguments, keywords))
    if method in _OPERATORS and len(arguments) == 2:
        left, right = (run.events.used(run.expression(argument), Span.of(node)) for argument in arguments)
        return run.worked(SIGNS[_OPERATORS[method]], run.arithmetic.binary(_OPERATORS[method](), left, right))
    if method in _LOGICAL:
        return pointwise(run, Call(method, node, arguments, keywords), f"tl.{method}")
    if method in _DESCRIPTOR:
        return _DESCRIPTOR[method](run, Call(method, node, arguments, keywords))
    run.expression(function.value)
    if method in ("gather", "scatter"):
        raise Decline("TLX210", Span.of(node), name=ast.unparse(function.value))
    raise Decline("TLX317", Span.of(node), name=ast.unparse(node.func))
