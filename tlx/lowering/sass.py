"""Reading machine code: instructions and the natural loops of their control flow."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from triton import knobs

_LINE = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)(\S*)\s*(.*?)\s*;")
#: instructions after which control does not fall through
_ENDS = {"BRA", "EXIT", "RET", "BRX", "JMP", "JMX", "KILL"}


@dataclass(frozen=True, slots=True)
class Instruction:
    """One SASS instruction."""

    address: int
    guarded: bool
    #: mnemonic up to the first dot
    opcode: str
    #: the mnemonic's modifiers and the operands
    rest: str

    @property
    def target(self) -> int | None:
        """Where a direct branch goes."""
        found = re.search(r"0x([0-9a-f]+)", self.rest) if self.opcode == "BRA" else None
        return int(found[1], 16) if found else None

    def __str__(self) -> str:
        return f"{self.address:05x} {'@' if self.guarded else ' '}{self.opcode}{self.rest}"


def disassemble(cubin: bytes) -> str:
    """The SASS text of a cubin, by the wheel's own cuobjdump."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        tool = knobs.nvidia.cuobjdump.path
        done = subprocess.run([tool, "-sass", str(path)], capture_output=True, text=True, check=True)
    return done.stdout


def parse(text: str) -> tuple[Instruction, ...]:
    """The instructions of a listing, in address order."""
    found = (_LINE.match(line) for line in text.splitlines())
    return tuple(Instruction(int(m[1], 16), bool(m[2]), m[3], f"{m[4]} {m[5]}") for m in found if m)


def count(instructions: Iterable[Instruction]) -> dict[str, int]:
    """How often each opcode occurs."""
    return dict(Counter(i.opcode for i in instructions))


@dataclass(frozen=True, slots=True)
class Graph:
    """Basic blocks of one kernel. Block 0 is the entry."""

    blocks: tuple[tuple[Instruction, ...], ...]
    successors: tuple[tuple[int, ...], ...]


def flow_graph(code: Sequence[Instruction]) -> Graph:
    """Cuts the code at branches and their targets. An indirect branch has no known successor."""
    targets = {i.target for i in code if i.target is not None}
    heads = [n for n, i in enumerate(code) if n == 0 or i.address in targets or code[n - 1].opcode in _ENDS]
    blocks = tuple(tuple(code[a:b]) for a, b in zip(heads, [*heads[1:], len(code)], strict=True))
    at = {block[0].address: n for n, block in enumerate(blocks)}
    successors = []
    for n, block in enumerate(blocks):
        last, next_ones = block[-1], []
        if last.target is not None and last.target in at:
            next_ones.append(at[last.target])
        if (last.opcode not in _ENDS or last.guarded) and n + 1 < len(blocks):
            next_ones.append(n + 1)
        successors.append(tuple(next_ones))
    return Graph(blocks, tuple(successors))


def _dominators(graph: Graph) -> list[set[int]]:
    size = len(graph.blocks)
    before: list[list[int]] = [[] for _ in range(size)]
    for n, after in enumerate(graph.successors):
        for m in after:
            before[m].append(n)
    # A block nobody is known to reach (target of an indirect branch) counts as an entry.
    dominators = [{n} if n == 0 or not before[n] else set(range(size)) for n in range(size)]
    changed = True
    while changed:
        changed = False
        for n in range(size):
            if n == 0 or not before[n]:
                continue
            new = set.intersection(*(dominators[m] for m in before[n])) | {n}
            if new != dominators[n]:
                dominators[n], changed = new, True
    return dominators


def loops(code: Sequence[Instruction]) -> list[tuple[Instruction, ...]]:
    """The natural loops, smallest first, each as its instructions in address order.

    Out-of-line blocks that jump back into a loop belong to it; those that are merely placed behind it do not make one.
    """
    graph = flow_graph(code)
    dominators = _dominators(graph)
    before: dict[int, list[int]] = {}
    for n, after in enumerate(graph.successors):
        for m in after:
            before.setdefault(m, []).append(n)
    bodies: dict[int, set[int]] = {}
    for n, after in enumerate(graph.successors):
        for head in after:
            if head not in dominators[n]:
                continue
            body, work = {head}, [n]
            while work:
                block = work.pop()
                if block not in body:
                    body.add(block)
                    work.extend(before.get(block, []))
            bodies.setdefault(head, set()).update(body)
    found = [tuple(i for n in sorted(body) for i in graph.blocks[n]) for body in bodies.values()]
    return sorted(found, key=len)


def innermost_with(code: Sequence[Instruction], opcode: str) -> list[tuple[Instruction, ...]]:
    """The loops that execute ``opcode`` and hold no other loop that does, by address."""
    chosen: list[tuple[Instruction, ...]] = []
    for body in loops(code):
        inside = {i.address for i in body}
        nested = any(inner[0].address in inside for inner in chosen)
        if not nested and any(i.opcode == opcode for i in body):
            chosen.append(body)
    return sorted(chosen, key=lambda body: body[0].address)
