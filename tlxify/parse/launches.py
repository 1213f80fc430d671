"""How a kernel is launched: the configs of its tuner and the literal arguments and grid of its call sites."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ..model import Kernel, Module
from ..reach import chain_of
from .arguments import placed
from .literals import ConfigLiteral, NotLiteral, evaluate
from .names import AUTOTUNE
from .numbers import is_number
from .shapes import Passed, alike, extents, stride_of, strides


@dataclass(frozen=True, slots=True)
class CallSite:
    """One `kernel[grid](…)` in the kernel's own file."""

    #: Source text of the grid translated to the kernel's parameters, one per axis; None where that is not possible. A
    #: name that is no parameter's is a size that only the launching function knows.
    grid: tuple[str | None, ...] | None
    #: Literal keyword arguments, `num_warps` and `num_stages` among them.
    literals: tuple[tuple[str, object], ...]
    #: Arguments that the launching function computes from others, in the kernel's parameters: `NT`, `cdiv(T, BT)`.
    computed: tuple[tuple[str, str], ...] = ()
    #: Arguments that the launching function chooses among literals: `stage = 3 if causal else 1`.
    choices: tuple[tuple[str, tuple[int, ...]], ...] = ()
    #: Arguments that are descriptors made by the launching function, with the lengths of their blocks in the kernel's
    #: parameters.
    blocks: tuple[tuple[str, tuple[str, ...]], ...] = ()
    #: Truth values that are passed where nobody says anything else: a literal, or the default of a parameter of the
    #: launching function.
    usual: tuple[tuple[str, bool], ...] = ()
    #: Parameters that are given a stride of a tensor: `x.stride(0)`.
    strides: frozenset[str] = frozenset()
    #: Arguments that are an extent or a stride of another argument.
    extents: tuple[Passed, ...] = ()
    pitches: tuple[Passed, ...] = ()
    #: Pairs of parameters that the same is passed for.
    alike: tuple[tuple[str, str], ...] = ()
    #: Parameters that are certainly given a number.
    numbers: frozenset[str] = frozenset()


def launched(tree: ast.Module) -> frozenset[str]:
    """Chains that are subscripted and called at once, `name[grid](…)`, or whose `.run` or `.warmup` is called."""
    chains = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Subscript(value=kernel) | ast.Attribute(value=kernel, attr="run" | "warmup")):
                if (chain := chain_of(kernel)) is not None:
                    chains.add(chain)
    return frozenset(chains)


def tuner_configs(kernel: Kernel) -> tuple[ConfigLiteral, ...] | None:
    """The configs of the kernel's autotuner: None if it has none or they are computed at run time."""
    for decorator in kernel.decorators:
        if decorator.name == AUTOTUNE and isinstance(decorator.node, ast.Call):
            call = decorator.node
            node = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "configs"), None)
            if node is None:
                return None
            try:
                configs = evaluate(node, kernel.module)
            except NotLiteral:
                return None
            if isinstance(configs, list) and configs and all(isinstance(config, ConfigLiteral) for config in configs):
                return tuple(config for config in configs if isinstance(config, ConfigLiteral))
    return None


def call_sites(kernel: Kernel) -> tuple[CallSite, ...]:
    """The launches in the kernel's module, in source order."""
    sites = []
    for function in [kernel.module.tree, *(n for n in ast.walk(kernel.module.tree) if isinstance(n, ast.FunctionDef))]:
        nodes = _own_nodes(function)
        names = {kernel.bound, *_wrapped(kernel.bound, nodes)}
        for node in nodes:
            match node:
                case ast.Call(func=ast.Subscript(value=ast.Name(id=name), slice=grid)) if name in names:
                    sites.append(_site(kernel, node, grid, function))
    return tuple(sites)


def _wrapped(kernel: str, nodes: list[ast.AST]) -> Iterator[str]:
    """Names that a function gives the kernel, tuned or with heuristics: `tuned = triton.autotune(…)(kernel)`."""
    for node in nodes:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(func=ast.Call(func=decorator), args=[ast.Name(id=inner)], keywords=[]),
            ) if inner == kernel and ast.unparse(decorator).split(".")[-1] in ("autotune", "heuristics"):
                yield name


def _own_nodes(function: ast.AST) -> list[ast.AST]:
    """Nodes of a function without those of functions inside it."""
    result: list[ast.AST] = []
    pending = list(ast.iter_child_nodes(function))
    while pending:
        node = pending.pop(0)
        if not isinstance(node, ast.FunctionDef):
            result.append(node)
            pending += ast.iter_child_nodes(node)
    return result


def _site(kernel: Kernel, call: ast.Call, grid: ast.expr, function: ast.AST) -> CallSite:
    given = dict(placed(kernel, call))
    names = frozenset(p.name for p in kernel.params)
    unpacked = _Host(kernel.module, function, {}, names, call.lineno)
    given.update(pair for k in call.keywords if k.arg is None for pair in _entries(unpacked.bound(k.value)))
    given.update({k.arg: k.value for k in call.keywords if k.arg})
    literals: list[tuple[str, object]] = []
    for name, node in given.items():
        try:
            value = evaluate(node, kernel.module)
        except NotLiteral:
            continue
        if isinstance(value, int | float | str | bool):
            literals.append((name, value))
    host = {
        ast.unparse(node): name
        for name, node in given.items()
        if kernel.param(name) is not None and not isinstance(node, ast.Constant)
    }
    known = _Host(kernel.module, function, host, names, call.lineno)
    choices = tuple((name, found) for name, node in given.items() if (found := _choices(node, known)))
    computed, blocks = tuple(_computed(given, known)), tuple(_blocks(given, known))
    usual = tuple((name, value) for name, node in given.items() if (value := _usual(node, function)) is not None)
    meant = {name: known.bound(node) for name, node in given.items()}
    stepping, pitches = frozenset(name for name, node in meant.items() if stride_of(node)), strides(meant)
    lengths = extents(given, _own_nodes(function), call.lineno)
    said = _grid(grid, known)
    numbers = frozenset(name for name, node in given.items() if is_number(node, function, known.bound))
    numbers = numbers.union(stepping, (passed.parameter for passed in lengths))
    return CallSite(
        said, tuple(literals), computed, choices, blocks, usual, stepping, lengths, pitches, alike(given), numbers
    )


def _entries(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """What a dictionary passes by name, if it is written out."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, value


def _choices(node: ast.expr, host: _Host, depth: int = 0) -> tuple[int, ...]:
    """The integers that an argument may be; nothing where it may be anything else."""
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return (value,)
        case ast.IfExp(body=body, orelse=orelse):
            arms = _choices(body, host, depth), _choices(orelse, host, depth)
            return tuple(dict.fromkeys(arms[0] + arms[1])) if all(arms) else ()
        case ast.Name(id=name) if depth == 0 and isinstance(bound := host.assigned(name), ast.expr):
            return _choices(bound, host, 1)
    return ()


def _usual(node: ast.expr, function: ast.AST) -> bool | None:
    match node:
        case ast.Constant(value=bool() as value):
            return value
        case ast.Name(id=name) if isinstance(function, ast.FunctionDef):
            arguments = function.args
            placed = [*arguments.posonlyargs, *arguments.args]
            placed = placed[len(placed) - len(arguments.defaults) :]
            pairs = zip((*placed, *arguments.kwonlyargs), (*arguments.defaults, *arguments.kw_defaults), strict=True)
            default = next((value for argument, value in pairs if argument.arg == name), None)
            rebound = any(
                isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in ast.walk(function)
            )
            return _usual(default, ast.Module([], [])) if default is not None and not rebound else None
    return None


#: What makes descriptors, and where among its arguments the lengths of the blocks are.
_DESCRIPTORS: Mapping[str, int] = {"TensorDescriptor": 3, "from_tensor": 1}


def _blocks(given: Mapping[str, ast.expr], host: _Host) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name, node in given.items():
        match host.bound(node):
            case ast.Call(func=func, args=args, keywords=keywords) if (
                position := _DESCRIPTORS.get(ast.unparse(func).split(".")[-1])
            ) is not None:
                named = next((k.value for k in keywords if k.arg == "block_shape"), None)
                listed = args[position] if named is None and len(args) > position else named
                block = host.bound(listed) if listed is not None else None
                if isinstance(block, ast.List | ast.Tuple):
                    lengths = [_translate(length, host, None) for length in block.elts]
                    if None not in lengths:
                        yield name, tuple(length for length in lengths if length is not None)


def _computed(given: Mapping[str, ast.expr], host: _Host) -> Iterator[tuple[str, str]]:
    for name, node in given.items():
        if name not in host.parameters:
            continue
        others = replace(host, arguments={text: other for text, other in host.arguments.items() if other != name})
        text = _translate(node, others, None)
        if text is None or isinstance(node, ast.Constant):
            continue
        used = {n.id for n in ast.walk(ast.parse(text, mode="eval")) if isinstance(n, ast.Name)}
        used -= {"cdiv", "min", "max"}
        if used and used <= host.parameters - {name} and not text.isidentifier():
            yield name, text


@dataclass(frozen=True, slots=True)
class _Host:
    """What host expressions mean in the kernel's terms."""

    module: Module
    function: ast.AST
    arguments: Mapping[str, str]
    parameters: frozenset[str]
    #: Line of the launch.
    line: int

    def assigned(self, name: str) -> ast.expr | ast.FunctionDef | None:
        """What a local name was bound to last before the launch."""
        found: list[tuple[int, ast.expr | ast.FunctionDef]] = []
        for node in _own_nodes(self.function) + [n for n in ast.walk(self.function) if isinstance(n, ast.FunctionDef)]:
            match node:
                case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                    found.append((node.lineno, value))
                case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                    pairs = zip(targets, values, strict=False)
                    found += [(node.lineno, v) for t, v in pairs if isinstance(t, ast.Name) and t.id == name]
                case ast.FunctionDef(name=target) if target == name:
                    found.append((node.lineno, node))
        before = [pair for pair in found if pair[0] <= self.line]
        return max(before, key=lambda pair: pair[0])[1] if before else None

    def bound(self, node: ast.expr) -> ast.expr:
        """What a local name stands for; anything else as it is."""
        found = self.assigned(node.id) if isinstance(node, ast.Name) else None
        return found if isinstance(found, ast.expr) else node


def _grid(node: ast.expr, host: _Host, depth: int = 0) -> tuple[str | None, ...] | None:
    match node:
        case ast.Name(id=name) if depth < 4:
            bound = host.assigned(name)
            match bound:
                case ast.FunctionDef(
                    args=ast.arguments(args=[meta]), body=[*_, ast.Return(value=ast.expr() as result)]
                ):
                    return _axes(result, host, meta.arg)
                case ast.expr():
                    return _grid(bound, host, depth + 1)
            return None
        case ast.Lambda(args=ast.arguments(args=[meta]), body=body):
            return _axes(body, host, meta.arg)
        case _:
            return _axes(node, host, None)


def _axes(node: ast.expr, host: _Host, meta: str | None) -> tuple[str | None, ...]:
    entries = node.elts if isinstance(node, ast.Tuple) else [node]
    return tuple(_translate(entry, host, meta) or _local(entry, host) for entry in entries)


def _local(node: ast.expr, host: _Host) -> str | None:
    """A size that has a name in the launching function alone."""
    return node.id if isinstance(node, ast.Name) and node.id not in host.parameters else None


def _translate(node: ast.expr, host: _Host, meta: str | None, depth: int = 0) -> str | None:
    """A host expression in the kernel's parameters."""
    if (known := host.arguments.get(ast.unparse(node))) is not None:
        return known
    if depth > 8:
        return None
    match node:
        case ast.Constant(value=int() as value):
            return str(value)
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str() as key)) if name == meta:
            return key
        case ast.Call(func=func, args=[left, right]) if ast.unparse(func).split(".")[-1] in ("cdiv", "ceil_div"):
            a, b = _translate(left, host, meta, depth + 1), _translate(right, host, meta, depth + 1)
            return f"cdiv({a}, {b})" if a and b else None
        case ast.Call(func=ast.Name(id="min" | "max" as name), args=[left, right], keywords=[]):
            a, b = _translate(left, host, meta, depth + 1), _translate(right, host, meta, depth + 1)
            return f"{name}({a}, {b})" if a and b else None
        case ast.IfExp(body=body, orelse=orelse):  # without optional tensors as a rule, but either is a valid launch
            return _translate(body, host, meta, depth + 1) or _translate(orelse, host, meta, depth + 1)
        case ast.BinOp(left=left, op=ast.Mult() | ast.Add() | ast.Sub() | ast.FloorDiv() as op, right=right):
            a, b = _translate(left, host, meta, depth + 1), _translate(right, host, meta, depth + 1)
            sign = {ast.Mult: "*", ast.Add: "+", ast.Sub: "-", ast.FloorDiv: "//"}[type(op)]
            return f"({a} {sign} {b})" if a and b else None
        case ast.Name(id=name):
            bound = host.assigned(name)
            return _translate(bound, host, meta, depth + 1) if isinstance(bound, ast.expr) else None
    return None
