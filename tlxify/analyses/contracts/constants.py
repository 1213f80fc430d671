"""What a parameter is that is neither memory nor its shape: a tile, a flag, an option, an element type, a number."""

from __future__ import annotations

import ast

from ...contract import ConstexprSpec, ScalarSpec
from ...facts import Access, Facts
from ...model import Kernel, Param
from ...parse.heuristics import truth_values
from ...parse.launches import CallSite
from .deciding import deciding_values, dtype_flags
from .integers import drawn, integers, symbols_in

#: How a dot may take its operands; they differ for 32-bit ones alone.
PRECISIONS = ("tf32", "ieee")
#: For numbers of unknown meaning: mostly how many tiles are grouped for the L2.
DEFAULT_INT = 4
#: For numbers that are multiplied with, and for those that random ones are compared with: some lie on each side.
FACTORS = (0.5, 1.0)
CHANCES = (0.25, 0.5)
#: For numbers of elements that tiles start behind: the TMA starts at whole 16 bytes.
STARTS = (16, 32)


def constexpr(
    kernel: Kernel, facts: Facts, param: Param, tiles: set[str], sites: tuple[CallSite, ...]
) -> ConstexprSpec:
    """The parameter's kind, from what the kernel does with it, and the values worth trying."""
    name = param.name
    if name in dict(facts.assumed):
        return ConstexprSpec(name, "flag", (dict(facts.assumed)[name],))
    if name in tiles:
        return ConstexprSpec(name, "tile", (64, 128))
    if _is_element_type(kernel, name):
        return ConstexprSpec(name, "option", ("fp32",))  # as the products of the floats that its operands are
    if name in facts.casts:
        stored = next((s.pointer for s in facts.stores if s.pointer), None)
        return ConstexprSpec(name, "dtype", (), dtype_of=stored)
    options: dict[object, None] = {}
    flag = name in truth_values(kernel)
    for node in ast.walk(kernel.node):
        match node:
            case ast.Compare(left=ast.Name(id=left), comparators=[ast.Constant(value=value)]) if left == name:
                options[value] = None
            case ast.If(test=test) | ast.IfExp(test=test):
                flag |= _tests(test, name)
            case ast.keyword(arg="allow_tf32", value=ast.Name(id=used)) if used == name:
                flag = True
            case ast.keyword(arg="cache_modifier" | "eviction_policy", value=ast.Name(id=used)) if used == name:
                options[""] = None
            case ast.keyword(arg="input_precision", value=ast.Name(id=used)) if used == name:
                return ConstexprSpec(name, "option", PRECISIONS)
    if any(isinstance(value, str) for value in options):
        return ConstexprSpec(name, "option", ("", *(v for v in options if v != "")))
    if (told := dtype_flags(kernel, facts).get(name)) is not None:
        return ConstexprSpec(name, "flag", (False, True), dtype_of=told[0], says=told[1])
    if flag or param.default in ("True", "False"):
        return ConstexprSpec(name, "flag", (False, True))
    literal = next((v for site in sites for k, v in site.literals if k == name), None)
    if literal is None and (chosen := next((v for site in sites for k, v in site.choices if k == name), None)):
        return ConstexprSpec(name, "int", chosen)
    if literal is None and not options and (deciding := deciding_values(kernel, name)):
        return ConstexprSpec(name, "int", deciding)
    if options and literal is None:
        return ConstexprSpec(name, "int", tuple(v for v in options if isinstance(v, int)) or (DEFAULT_INT,))
    return ConstexprSpec(name, "int", (literal if literal is not None else DEFAULT_INT,))


def _is_element_type(kernel: Kernel, name: str) -> bool:
    """Whether blocks are made, or products added up, with elements of the type that it names."""
    for node in ast.walk(kernel.node):
        match node:
            case ast.Call(func=ast.Attribute(attr="zeros" | "full" as function), args=args, keywords=given):
                place = 1 if function == "zeros" else 2
                used = [*args[place : place + 1], *(k.value for k in given if k.arg == "dtype")]
            case ast.Call(func=ast.Attribute(attr="dot"), keywords=given):
                used = [k.value for k in given if k.arg == "out_dtype"]
            case _:
                continue
        if any(isinstance(one, ast.Name) and one.id == name for one in used):
            return True
    return False


def _tests(test: ast.expr, name: str) -> bool:
    match test:
        case ast.Name(id=used):
            return used == name
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _tests(operand, name)
        case ast.BoolOp(values=values):
            return any(_tests(value, name) for value in values)
        case ast.BinOp(left=ast.Name() as left, op=ast.BitAnd() | ast.BitOr(), right=ast.Name() as right):
            return _tests(left, name) or _tests(right, name)  # `if EVEN_M & EVEN_N`
    return False


def number(kernel: Kernel, facts: Facts, param: Param) -> ScalarSpec:
    """A run-time number: an integer where the kernel counts or indexes with it, else a factor."""
    if isinstance(held := dict(facts.assumed).get(param.name), int):
        return ScalarSpec(param.name, "int", choices=(held,))
    if any(_starts(access, param.name) for access in (facts.access(load.span) for load in facts.loads if load.axes)):
        return ScalarSpec(param.name, "int", choices=STARTS)
    if (param.default is not None and "." not in param.default) or _counts(kernel, facts, param.name):
        return ScalarSpec(param.name, "int", choices=(1, 2))
    compared = (symbols_in(scalar) for symbol, scalar in facts.thresholds if drawn(symbol))
    chance = any(symbol.name == param.name for symbols in compared for symbol in symbols)
    return ScalarSpec(param.name, "float", choices=CHANCES if chance else FACTORS)


def _starts(access: Access | None, name: str) -> bool:
    """Whether tiles start that many elements further along an axis."""
    places = access.dimensions[-2:] if access is not None else ()
    return any(
        s.name == name for d in places for monomial, _ in d.coordinate.terms if len(monomial) == 1 for s in monomial
    )


def _counts(kernel: Kernel, facts: Facts, name: str) -> bool:
    if any(name in {s.name for s in symbols_in(poly)} for poly in integers(facts)):
        return True
    for node in ast.walk(kernel.node):
        match node:
            case ast.BinOp(left=left, op=ast.FloorDiv() | ast.Mod(), right=right):
                if any(isinstance(side, ast.Name) and side.id == name for side in (left, right)):
                    return True
            case ast.Call(
                func=ast.Attribute(attr="rand" | "randn" | "randint" | "randint4x"), args=[ast.Name(id=seed), *_]
            ):
                if seed == name:
                    return True
            case ast.Call(func=ast.Name(id="range") | ast.Attribute(attr="range" | "cdiv"), args=args):
                if any(isinstance(arg, ast.Name) and arg.id == name for arg in args):
                    return True
    return False
