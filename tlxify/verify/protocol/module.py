"""The names of a module's text: import aliases, constants and functions."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

#: Modules by the short name under which the check knows their members.
_CANONICAL = {
    "triton.language.extra.tlx": "tlx",
    "tlx": "tlx",
    "triton.language": "tl",
    "triton": "triton",
    "math": "math",
}


@dataclass(frozen=True, slots=True)
class Module:
    """Parsed text with its top-level names."""

    file: str
    aliases: Mapping[str, str]
    constants: Mapping[str, ast.expr]
    functions: Mapping[str, ast.FunctionDef]
    #: What `dotted` found out, by expression: it is asked at each step of each loop.
    known: dict[ast.expr, str | None] = field(default_factory=dict)

    @staticmethod
    def parse(text: str, file: str) -> Module:
        """The module in `text`. Raises SyntaxError."""
        aliases: dict[str, str] = {}
        constants: dict[str, ast.expr] = {}
        functions: dict[str, ast.FunctionDef] = {}
        for node in ast.parse(text, file).body:
            match node:
                case ast.Import(names=names):
                    for name in names:
                        target = name.name if name.asname else name.name.partition(".")[0]
                        aliases[name.asname or target] = _canonical(target)
                case ast.ImportFrom(module=str(source), names=names, level=0):
                    for name in names:
                        aliases[name.asname or name.name] = _canonical(f"{source}.{name.name}")
                case ast.Assign(targets=[ast.Name(id=target)], value=value):
                    constants[target] = value
                case ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value):
                    constants[target] = value
                case ast.FunctionDef(name=target):
                    functions[target] = node
        return Module(file, aliases, constants, functions)

    def dotted(self, node: ast.expr) -> str | None:
        """`tlx.barrier_wait` for an expression that names a member of an imported module, else None."""
        if node not in self.known:
            self.known[node] = self._dotted(node)
        return self.known[node]

    def _dotted(self, node: ast.expr) -> str | None:
        match node:
            case ast.Name(id=name):
                return self.aliases.get(name)
            case ast.Attribute(value=value, attr=attr):
                base = self.dotted(value)
                return None if base is None else _canonical(f"{base}.{attr}")
        return None

    def flags(self, function: str) -> tuple[str, ...]:
        """Compile-time parameters that are only ever asked whether they are true."""
        names = self._constexprs(function)
        asked: set[ast.AST] = set()
        used: dict[str, list[ast.Name]] = {name: [] for name in names}
        for node in ast.walk(self.functions[function]):
            match node:
                case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                    asked.add(test)
                case ast.BoolOp(values=values):
                    asked.update(values)
                case ast.UnaryOp(op=ast.Not(), operand=operand):
                    asked.add(operand)
                case ast.Name(id=name) if name in used:
                    used[name].append(node)
        return tuple(name for name in names if used[name] and asked.issuperset(used[name]))

    def _constexprs(self, function: str) -> tuple[str, ...]:
        """Compile-time parameters without a default."""
        arguments = self.functions[function].args
        required = arguments.args[: len(arguments.args) - len(arguments.defaults)]
        return tuple(
            argument.arg
            for argument in required
            if argument.annotation is not None and self.dotted(argument.annotation) == "tl.constexpr"
        )

    def specialized_kernels(self) -> tuple[str, ...]:
        """Functions that open an `async_tasks` region themselves, in the order of the text."""
        return tuple(
            name
            for name, function in self.functions.items()
            if any(
                isinstance(node, ast.Call) and self.dotted(node.func) == "tlx.async_tasks"
                for node in ast.walk(function)
            )
        )


def _canonical(dotted: str) -> str:
    for long, short in _CANONICAL.items():
        if dotted == long or dotted.startswith(long + "."):
            return short + dotted[len(long) :]
    return dotted
