"""Every small break of a TLX function, made on its text.

A break is an edit of one span: lines keep their numbers, comments and layout stay. Where faults can be put follows from
the primitives of TLX and their signatures alone; no name of a kernel, buffer or barrier means anything here.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

import tlx

#: what can be left out, by the word for it
DELETED = {
    "wait": (
        "barrier_wait",
        "named_barrier_wait",
        "async_dot_wait",
        "async_descriptor_store_wait",
        "async_load_wait_group",
        "cluster_barrier",
    ),
    "arrive": ("barrier_arrive", "named_barrier_arrive"),
    "expect": ("barrier_expect_bytes",),
    "commit": ("tcgen05_commit", "async_load_commit_group"),
    "fence": ("fence", "fence_async_shared", "fence_mbarrier_init_cluster"),
    "copy": ("async_load", "async_descriptor_load", "async_descriptor_store", "async_remote_shmem_store"),
}
#: parameter → what it is changed to, where it is given: (kind of break, primitives, parameter, template)
CHANGED = (
    ("flip phase", ("barrier_wait",), "phase", "({}) ^ 1"),
    ("flip phase", ("clc_producer",), "p_producer", "({}) ^ 1"),
    ("flip phase", ("clc_consumer",), "p_consumer", "({}) ^ 1"),
    ("halve bytes", ("barrier_expect_bytes",), "size", "({}) // 2"),
    ("double bytes", ("barrier_expect_bytes",), "size", "({}) * 2"),
    ("weaken wait", ("async_dot_wait", "async_descriptor_store_wait", "async_load_wait_group"), "pendings", "({}) + 1"),
    ("arrival more", ("alloc_barriers", "barrier_arrive"), "arrive_count", "({}) + 1"),
    ("arrival more", ("alloc_warp_barrier",), "num_arrivals", "({}) + 1"),
    ("arrival more", ("clc_create_context",), "num_consumers", "({}) + 1"),
    ("arrival less", ("alloc_barriers", "barrier_arrive"), "arrive_count", "({}) - 1"),
    ("arrival less", ("alloc_warp_barrier",), "num_arrivals", "({}) - 1"),
    ("arrival less", ("clc_create_context",), "num_consumers", "({}) - 1"),
    ("arrive at home", ("barrier_arrive",), "remote_cta_rank", "None"),
    ("no multicast", ("async_descriptor_load",), "multicast_targets", "[]"),
    ("no barrier for the product", ("async_dot", "async_dot_scaled"), "mBarriers", "[]"),
)
#: defaults that a break makes explicit
ASSUMED = {"arrive_count": "1", "num_arrivals": "1"}
#: what makes arrays of slots, and the parameter that says how many
ALLOCATING = {"local_alloc": "num", "alloc_barriers": "num_barriers", "alloc_warp_barrier": "num_barriers"}
#: stands where a break would be, to see whether that place is ever reached
TRAP = "_this_is_never_reached"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A broken text of one function."""

    #: what was done, such as "delete wait: barrier_wait"
    what: str
    #: counted from the first line of the text
    line: int
    #: the line as it was
    text: str
    source: str
    #: the text that fails when the place of the break is reached
    trap: str


@dataclass(frozen=True, slots=True)
class _Edit:
    what: str
    node: ast.expr | ast.Expr
    new: str


def mutants(source: str, modules: Collection[str] = ("tlx",)) -> Iterator[Mutant]:
    """All breaks of a function, in the order of its text.

    Args:
        source: the function with its decorators, not indented.
        modules: names that stand for the module ``tlx`` in it.
    """
    text = _Text(source)
    tree = ast.parse(source)
    edits = list(_edits(tree, text, modules))
    for edit in sorted(edits, key=lambda edit: (edit.node.lineno, edit.node.col_offset)):
        line = edit.node.lineno
        yield Mutant(
            edit.what, line, text.lines[line - 1].decode().strip(), text.with_span(edit.node, edit.new),
            text.with_span(edit.node, TRAP),
        )  # fmt: skip


def _edits(tree: ast.Module, text: _Text, modules: Collection[str]) -> Iterator[_Edit]:
    arrays, single = _arrays(tree, modules)
    statements = {id(node.value): node for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        name = _primitive(node, modules)
        if name is not None:
            assert isinstance(node, ast.Call)
            yield from _deleted(name, node, statements.get(id(node)), text)
            yield from _changed(name, node, text)
            if name == "local_view":
                array, index = (_argument(node, name, each) for each in ("local_allocated_buffers", "buffer_idx"))
                if array is not None and index is not None and text.of(array) not in single:
                    yield _shifted(array, index, text)
        slots = isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in arrays
        if slots and isinstance(node, ast.Subscript) and not isinstance(node.slice, (ast.Slice, ast.Tuple)):
            yield _shifted(node.value, node.slice, text)


def _arrays(tree: ast.Module, modules: Collection[str]) -> tuple[set[str], set[str]]:
    """Names of arrays with slots to choose from, and of those that are written with one slot: it has no neighbour."""
    several, single = set(), set()
    for node in ast.walk(tree):
        name = _primitive(node.value, modules) if isinstance(node, ast.Assign) else None
        if name not in ALLOCATING:
            continue
        assert isinstance(node, ast.Assign)
        assert isinstance(node.value, ast.Call)
        number = _argument(node.value, name, ALLOCATING[name])
        if isinstance(number, ast.Call) and len(number.args) == 1:  # tl.constexpr(1)
            (number,) = number.args
        kind = single if isinstance(number, ast.Constant) and number.value == 1 else several
        kind.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return several, single - several


def _deleted(name: str, call: ast.Call, statement: ast.Expr | None, text: _Text) -> Iterator[_Edit]:
    for kind, names in DELETED.items():
        if name not in names:
            continue
        what = f"delete {kind}: {name}"
        if statement is not None:
            yield _Edit(what, statement, "pass")
        elif name == "async_dot_wait":
            waited = _argument(call, name, "inp")
            yield _Edit(what, call, f"({text.of(waited)})" if waited is not None else "None")
        else:
            yield _Edit(what, call, "None")


def _changed(name: str, call: ast.Call, text: _Text) -> Iterator[_Edit]:
    for kind, names, parameter, template in CHANGED:
        if name not in names:
            continue
        what = f"{kind}: {name}"
        given = _argument(call, name, parameter)
        if given is not None:
            old = text.of(given)
            if not (kind == "arrival less" and old.strip() == "1"):  # no barrier has a count of 0
                yield _Edit(what, given, template.format(old))
        elif parameter in ASSUMED and kind == "arrival more":
            last = (call.args + [keyword.value for keyword in call.keywords])[-1]
            new = f"{text.of(last)}, {parameter}={template.format(ASSUMED[parameter])}"
            yield _Edit(what, last, new)


def _shifted(array: ast.expr, index: ast.expr, text: _Text) -> _Edit:
    """The slot after the one meant, around the ring: the index stays in range."""
    return _Edit("shift slot", index, f"(({text.of(index)}) + 1) % ({text.of(array)}).num")


def _primitive(node: ast.AST | None, modules: Collection[str]) -> str | None:
    """The name of the primitive that a node calls."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    module = node.func.value
    return node.func.attr if isinstance(module, ast.Name) and module.id in modules else None


def _argument(call: ast.Call, name: str, parameter: str) -> ast.expr | None:
    """What a call gives for a parameter of the primitive."""
    for keyword in call.keywords:
        if keyword.arg == parameter:
            return keyword.value
    position = _positions(getattr(tlx, name))[parameter]  # a name that the primitive does not have is a fault of ours
    return call.args[position] if position < len(call.args) else None


def _positions(primitive: Callable[..., object]) -> dict[str, int]:
    return {name: position for position, name in enumerate(inspect.signature(primitive).parameters)}


class _Text:
    """Source by spans; ``ast`` counts columns in bytes."""

    def __init__(self, source: str) -> None:
        self.lines = source.encode().splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        self.bytes = source.encode()

    def _span(self, node: ast.expr | ast.Expr) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[node.end_lineno - 1] + node.end_col_offset

    def of(self, node: ast.expr) -> str:
        """The text of an expression; in parentheses if it needs them to go over lines."""
        start, stop = self._span(node)
        return self.bytes[start:stop].decode()

    def with_span(self, node: ast.expr | ast.Expr, new: str) -> str:
        """The source with other text in place of a node, and every line after it at its number."""
        start, stop = self._span(node)
        gone = self.bytes[start:stop].count(b"\n") - new.count("\n")
        after = self.bytes.index(b"\n", stop) if b"\n" in self.bytes[stop:] else len(self.bytes)
        parts = self.bytes[:start], new.encode(), self.bytes[stop:after], b"\n" * gone, self.bytes[after:]
        return b"".join(parts).decode()
