"""Module → Kernels: the jit functions that are launched, each as a tree of statements with spans."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from ..model import Branch, Decorator, Jitted, Kernel, Loop, Module, Node, Param, Statement
from ..source import Span
from .enclosed import makers
from .jitted import decorator_name
from .launches import launched
from .module import parse_module
from .names import AUTOTUNE, HEURISTICS
from .returns import lifted


def find_kernels(module: Module, elsewhere: frozenset[str] = frozenset()) -> tuple[Kernel, ...]:
    """The module's kernels in source order.

    That is: tuned, launched as `name[grid]`, here or `elsewhere`, or called by no other and returning nothing.
    """
    names = launched(module.tree) | elsewhere
    called = {
        inner.func.id
        for helper in module.helpers.values()
        for inner in ast.walk(helper.node)
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name)
    }
    kernels: dict[int, Kernel] = {}
    for name, helper in module.helpers.items():
        kernel = build_kernel(module, helper.node, helper.jitted)
        tuned = any(d.name in (AUTOTUNE, HEURISTICS) for d in kernel.decorators)
        if tuned or name in names or (name not in called and returns_nothing(helper.node)):
            # Of several that are made of one function the first is converted: the text is the same.
            kernels.setdefault(id(helper.node), kernel)
    return tuple(sorted(kernels.values(), key=lambda kernel: kernel.span.line))


def kernel_named(module: Module, name: str) -> Kernel | None:
    """The model of the jit function of that name, its own or the one that it is launched by; None without one."""
    found = [helper for bound, helper in module.helpers.items() if name in (bound, helper.name)]
    return build_kernel(module, found[0].node, found[0].jitted) if found else None


def enclosing_views(module: Module) -> tuple[Module, ...]:
    """The module as each of its functions sees it that makes kernels."""
    return tuple(parse_module(module.source, inside=n) for n in range(len(makers(module.tree, module.names))))


def enclosed_in(views: Sequence[Module]) -> tuple[Kernel, ...]:
    """The kernels that the functions with these views make, each under a name that no other kernel of them has."""
    found = [
        kernel
        for view in views
        for kernel in find_kernels(view)
        if view.inside is not None and view.inside.contains(kernel.span)
    ]
    names = [kernel.name for kernel in found]
    return tuple(kernel for kernel in found if names.count(kernel.name) == 1)


def build_kernel(module: Module, node: ast.FunctionDef, jitted: Jitted | None = None) -> Kernel:
    """The model of one jit function. `jitted` is the statement that makes it one, where no decorator does."""
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(plain) - len(arguments.defaults))
    defaults += [*arguments.defaults, *arguments.kw_defaults]
    params = tuple(
        Param(arg.arg, Span.of(arg), is_constexpr(arg, module), ast.unparse(default) if default else None)
        for arg, default in zip(positional, defaults, strict=True)
    )
    return Kernel(
        name=node.name,
        span=with_decorators(node),
        module=module,
        params=params,
        body=_nodes(lifted(node.body, _names(module, node))),
        decorators=jitted.decorators
        if jitted is not None
        else tuple(Decorator(decorator_name(d, module.names), Span.of(d), d) for d in node.decorator_list),
        node=node,
        jitted=jitted,
    )


def with_decorators(node: ast.FunctionDef) -> Span:
    """A function's definition from its first decorator on."""
    own, found = Span.of(node), node.decorator_list
    return replace(own, line=found[0].lineno, column=found[0].col_offset - 1) if found else own


def is_constexpr(arg: ast.arg, module: Module) -> bool:
    """Whether a parameter is annotated as `tl.constexpr`."""
    match arg.annotation:
        case None:
            return False
        case ast.Constant(value=str() as text):
            return text.split(".")[-1] == "constexpr"
        case annotation:
            return module.names.canonical(annotation) == "triton.language.constexpr"


def returns_nothing(node: ast.FunctionDef) -> bool:
    """A launched function has no caller to return to; one that returns a value is a helper."""
    return not any(isinstance(inner, ast.Return) and inner.value is not None for inner in ast.walk(node))


def _names(module: Module, node: ast.FunctionDef) -> frozenset[str]:
    """Names that mean something in a function."""
    own = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    own |= {inner.arg for inner in ast.walk(node) if isinstance(inner, ast.arg)}
    return frozenset(own | set(module.helpers) | set(module.constants) | set(module.names.aliases))


def _nodes(body: list[ast.stmt]) -> tuple[Node, ...]:
    nodes: list[Node] = []
    for statement in body:
        span = Span.of(statement)
        match statement:
            case ast.For(body=inner) | ast.While(body=inner):
                nodes.append(Loop(span, statement, _nodes(inner)))
            case ast.If(body=inner, orelse=orelse):
                nodes.append(Branch(span, statement, _nodes(inner), _nodes(orelse)))
            case _:
                nodes.append(Statement(span, statement))
    return tuple(nodes)
