"""Makes mutants of a warp-specialized TLX kernel: one seeded fault each, found by structure.

    python tests/verify/mutants.py FILE [KERNEL]      lists them
    python tests/verify/mutants.py FILE KERNEL NAME   prints the text of one

Works on emitted and hand-written text. Tasks are told apart by what they do: the one that loads through descriptors is
the producer, those that multiply are consumers. Nothing else of the text changes, so the recorded hash of the source
kernel stays right and line numbers stay comparable.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import libcst as cst
import libcst.matchers as m

#: Kind of fault → codes of the findings that name it (protocol check and simulator).
EXPECTED: dict[str, frozenset[str]] = {
    "no-empty-wait": frozenset({"race", "release-before-retire", "phase-lag", "too-many-arrivals"}),
    "flipped-producer-phase": frozenset({"deadlock", "race", "wrong-phase", "phase-lag", "release-before-retire"}),
    "flipped-consumer-phase": frozenset({"deadlock", "race", "wrong-phase", "phase-lag", "read-before-fill"}),
    "missing-arrive": frozenset({"deadlock", "leftover-state"}),
    "bytes-halved": frozenset({"expect-bytes"}),
    "no-dot-wait": frozenset({"race", "release-before-retire", "result-before-retire"}),
    "slot-off-by-one": frozenset({"race", "read-before-fill", "slot-out-of-range", "wrong-phase"}),
    "dropped-last-tile": frozenset({"mismatch"}),
}


@dataclass(frozen=True)
class Mutant:
    """A faulty text. `line` is where the fault was put, counted in the original text."""

    kind: str
    number: int
    line: int
    text: str

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.number}"


@dataclass(frozen=True)
class Site:
    """A node to be replaced, and with what."""

    kind: str
    old: tuple[cst.CSTNode, ...]
    new: Callable[[cst.CSTNode], cst.CSTNode]


def mutants(text: str, kernel: str | None = None) -> Iterator[Mutant]:
    """All mutants of the kernel (the only one with a region of tasks, if not named)."""
    wrapper = cst.metadata.MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    positions = wrapper.resolve(cst.metadata.PositionProvider)
    function = find_kernel(wrapper.module, kernel)
    counts: dict[str, int] = {}
    for site in sites(function):
        number = counts[site.kind] = counts.get(site.kind, -1) + 1
        changed = wrapper.module.visit(_Replace(site))
        assert isinstance(changed, cst.Module)
        yield Mutant(site.kind, number, positions[site.old[0]].start.line, changed.code)


def find_kernel(module: cst.Module, name: str | None) -> cst.FunctionDef:
    found = [
        node
        for node in m.findall(module, m.FunctionDef())
        if (name is None or node.name.value == name) and m.findall(node, call("async_tasks"))
    ]
    if len(found) != 1:
        raise SystemExit(f"{len(found)} kernels with a region of tasks; name one")
    return found[0]


def call(name: str) -> m.Call:
    return m.Call(func=m.Attribute(value=m.Name("tlx"), attr=m.Name(name)))


def statement(inner: m.BaseMatcherNode) -> m.SimpleStatementLine:
    return m.SimpleStatementLine(body=[inner])


def sites(function: cst.FunctionDef) -> Iterator[Site]:
    """Where faults can be put, in the order of the text."""
    tasks = m.findall(function, m.With(items=[m.WithItem(item=call("async_task"))]))
    producers = [task for task in tasks if m.findall(task, call("async_descriptor_load"))]
    consumers = [task for task in tasks if m.findall(task, call("async_dot"))]
    rings = allocations(function)

    for task in producers:
        for wait in m.findall(task, statement(m.Expr(value=call("barrier_wait")))):
            yield Site("no-empty-wait", (wait,), nothing)
        for wait in m.findall(task, call("barrier_wait")):
            yield Site("flipped-producer-phase", (wait,), with_argument(1, "({}) ^ 1"))
        for expect in m.findall(task, call("barrier_expect_bytes")):
            yield Site("bytes-halved", (expect,), with_argument(1, "({}) // 2"))
    for task in consumers:
        for wait in m.findall(task, call("barrier_wait")):
            yield Site("flipped-consumer-phase", (wait,), with_argument(1, "({}) ^ 1"))
        for arrive in m.findall(task, statement(m.Expr(value=call("barrier_arrive")))):
            yield Site("missing-arrive", (arrive,), nothing)
        for wait in m.findall(task, statement(m.Assign(value=call("async_dot_wait")))):
            yield Site("no-dot-wait", (wait,), nothing)
        for name, slots in rings.items():
            for view in m.findall(task, m.Subscript(value=m.Name(name))):
                yield Site("slot-off-by-one", (view,), next_slot(slots))
    loops = [loop for task in (*producers, *consumers) for loop in tile_loops(task)]
    yield Site("dropped-last-tile", tuple(loops), shorter)


def allocations(function: cst.FunctionDef) -> dict[str, str]:
    """Names of rings and the text of their number of slots."""
    found = {}
    for line in m.findall(function, m.Assign(targets=[m.AssignTarget(target=m.Name())], value=call("local_alloc"))):
        assert isinstance(line, cst.Assign)
        name = line.targets[0].target
        assert isinstance(name, cst.Name)
        assert isinstance(line.value, cst.Call)
        found[name.value] = code(line.value.args[2].value)
    return found


def tile_loops(task: cst.CSTNode) -> list[cst.For]:
    """The innermost run-time loops that wait on a barrier."""

    def waits(node: cst.CSTNode) -> bool:
        return bool(m.findall(node, call("barrier_wait")))

    loops = [loop for loop in m.findall(task, m.For()) if isinstance(loop, cst.For) and waits(loop)]
    return [
        loop for loop in loops if not any(other is not loop and other in m.findall(loop, m.For()) for other in loops)
    ]


def nothing(node: cst.CSTNode) -> cst.CSTNode:
    assert isinstance(node, cst.SimpleStatementLine)
    return node.with_changes(body=[cst.Pass()])


def with_argument(position: int, template: str) -> Callable[[cst.CSTNode], cst.CSTNode]:
    def change(node: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(node, cst.Call)
        args = list(node.args)
        value = cst.parse_expression(template.format(code(args[position].value)))
        args[position] = args[position].with_changes(value=value)
        return node.with_changes(args=args)

    return change


def next_slot(slots: str) -> Callable[[cst.CSTNode], cst.CSTNode]:
    def change(node: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(node, cst.Subscript)
        index = node.slice[0].slice
        assert isinstance(index, cst.Index)
        moved = cst.parse_expression(f"({code(index.value)} + 1) % ({slots})")
        return node.with_changes(slice=[cst.SubscriptElement(slice=cst.Index(value=moved))])

    return change


def shorter(node: cst.CSTNode) -> cst.CSTNode:
    """`range(a, b)` becomes `range(a, (b) - 1)`."""
    assert isinstance(node, cst.For)
    assert isinstance(node.iter, cst.Call)
    bound = 0 if len(node.iter.args) == 1 else 1
    return node.with_changes(iter=with_argument(bound, "({}) - 1")(node.iter))


def code(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)


class _Replace(cst.CSTTransformer):
    def __init__(self, site: Site) -> None:
        super().__init__()
        self.site = site

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
        updated = super().on_leave(original_node, updated_node)
        if any(original_node is node for node in self.site.old):
            assert isinstance(updated, cst.CSTNode)
            return self.site.new(updated)
        return updated  # type: ignore[return-value]


def main(arguments: list[str]) -> None:
    text = Path(arguments[0]).read_text(encoding="utf-8")
    for mutant in mutants(text, arguments[1] if len(arguments) > 1 else None):
        if len(arguments) < 3:
            print(f"{mutant.name}: line {mutant.line}")
        elif mutant.name == arguments[2]:
            print(mutant.text, end="")


if __name__ == "__main__":
    main(sys.argv[1:])
