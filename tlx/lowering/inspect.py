"""What a compiled kernel is like: resources, machine code of its hot loops, the assembler's complaints."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from . import sass, versions

if TYPE_CHECKING:
    from .offline import Compiled

#: opcodes worth counting: tensor cores, TMA, mbarriers, register budget, spills
COUNTED = ("HGMMA", "IGMMA", "QGMMA", "UTMALDG", "UTMASTG", "SYNCS", "USETMAXREG", "LDL", "STL", "HMMA")
#: opcodes that bring tiles to shared memory: of the TMA, and copies by threads
LOADS = ("UTMALDG", "LDGSTS")
#: opcodes that are a product of a whole warp group, by operand kind
WARPGROUP_PRODUCTS = ("HGMMA", "QGMMA", "IGMMA")

#: from an accumulator to operand A over an accumulator
_STAYS = re.compile(r", (#mma\w*)> -> tensor<\S+, #ttg\.dot_op<\{opIdx = 0, parent = (#mma\w*),")
#: Operations on global memory by the threads themselves.
_GLOBAL = re.compile(r"\btt\.(load|store|atomic_rmw|atomic_cas)\b")
#: an accumulator layout by its name, with how its warps are arranged
_ACCUMULATOR = re.compile(r"^(#mma\w*) = #ttg\.nvidia_mma<\{.*?(warpsPerCTA = \[[^\]]*\])", re.MULTILINE)
_NOTE = re.compile(r"\(C(\d+)\)")


@dataclass(frozen=True, slots=True)
class AssemblerLog:
    """What ptxas says with ``-v``."""

    registers: int
    #: bytes
    stack: int
    spill_stores: int
    spill_loads: int
    #: numbers of remarks, such as 7510 (products serialized) or 7517 (a wait added)
    notes: tuple[int, ...]
    #: remarks and warnings as printed
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CompiledFacts:
    """Everything the ``compiled`` rung of a verdict looks at."""

    name: str
    target: str
    #: warps launched
    num_warps: int
    #: registers per thread that the launch reserves
    registers: int
    #: bytes per thread
    stack: int
    spill_stores: int
    spill_loads: int
    #: bytes of shared memory
    shared: int
    #: occurrences of each of ``COUNTED`` in the whole kernel
    counts: Mapping[str, int]
    #: opcode counts of the innermost loops with warp-group products, by address
    dot_loops: tuple[Mapping[str, int], ...]
    #: opcode counts of the innermost loops with TMA loads, by address
    load_loops: tuple[Mapping[str, int], ...]
    #: numbers of ptxas remarks
    notes: tuple[int, ...]
    #: remarks and warnings of ptxas
    log: tuple[str, ...]
    #: convert_layout operations of the TTGIR inside loops that hold a warp-group product
    dot_loop_conversions: tuple[str, ...]

    @property
    def spills(self) -> bool:
        """Whether any thread keeps values in local memory."""
        return bool(self.stack or self.spill_stores or self.spill_loads or self.counts["LDL"] or self.counts["STL"])

    @property
    def serialized(self) -> bool:
        """Whether ptxas gave up on overlapping products (C7510 to C7514 and their kin)."""
        return any("are serialized" in line for line in self.log)

    @property
    def budget_ignored(self) -> bool:
        """Whether ptxas ignored the register budget of a task."""
        return any("'setmaxnreg' ignored" in line for line in self.log)

    @property
    def injected_waits(self) -> bool:
        """Whether ptxas had to wait for a product whose result was read too early (C7517)."""
        return any("injected" in line for line in self.log)


def assemble(ptx: str, arch: int) -> AssemblerLog:
    """Runs the wheel's ptxas on ``ptx`` once more, because Triton throws its log away.

    Raises:
        subprocess.CalledProcessError: ptxas rejects the text.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.ptx"
        path.write_text(ptx)
        command = [*versions.ptxas(arch), "-v", f"--gpu-name=sm_{arch}{'a' if arch >= 90 else ''}", str(path)]
        done = subprocess.run(
            [*command, "-o", str(path.with_suffix(".cubin"))], capture_output=True, text=True, check=True
        )
    text = done.stderr + done.stdout

    def number(pattern: str) -> int:
        return sum(int(found) for found in re.findall(pattern, text))

    remarks = tuple(line.strip() for line in text.splitlines() if _NOTE.search(line) or "warning" in line.lower())
    return AssemblerLog(
        registers=number(r"Used (\d+) registers"),
        stack=number(r"(\d+) bytes stack frame"),
        spill_stores=number(r"(\d+) bytes spill stores"),
        spill_loads=number(r"(\d+) bytes spill loads"),
        notes=tuple(sorted({int(found) for line in remarks for found in _NOTE.findall(line)})),
        lines=remarks,
    )


def dot_loop_conversions(ttgir: str) -> tuple[str, ...]:
    """The ``ttg.convert_layout`` lines inside loops that hold a warp-group product and no loop that does, in text
    order.

    A product's result that becomes the register operand of the next one stays in its registers, so the conversion from
    an accumulator layout to the operand layout of the same accumulator, or of one with other columns, is not listed;
    nor is that of one number per row or column. Where the loop itself loads or stores global memory, tiles change to
    and from the layout of such accesses as the kernel asks: there, conversions between two accumulator layouts are
    listed alone.
    """
    warps = dict(_ACCUMULATOR.findall(ttgir))
    open_loops: list[tuple[int, int]] = []  # (depth of braces before the loop, first line)
    lines = ttgir.splitlines()
    spans: list[tuple[int, int]] = []
    depth = 0
    for number, line in enumerate(lines):
        opened = re.search(r"\bscf\.(for|while)\b", line) is not None
        if opened:
            open_loops.append((depth, number))
        depth += line.count("{") - line.count("}")
        while open_loops and depth <= open_loops[-1][0] and not (opened and open_loops[-1][1] == number):
            spans.append((open_loops.pop()[1], number))
    found: set[int] = set()
    inner: list[tuple[int, int]] = []
    # Spans come out innermost first.
    for first, last in spans:
        dots = any(re.search(r"warp_group_dot\b", line) for line in lines[first : last + 1])
        if dots and not any(first < start and end < last for start, end in inner):
            inner.append((first, last))
            asks = any(_GLOBAL.search(line) for line in lines[first : last + 1])
            found |= {n for n in range(first, last) if _converts(lines[n], warps, between_accumulators=asks)}
    return tuple(lines[n].strip() for n in sorted(found))


def _converts(line: str, warps: Mapping[str, str], *, between_accumulators: bool) -> bool:
    if "ttg.convert_layout" not in line:
        return False
    if (stays := _STAYS.search(line)) and warps.get(stays[1], stays[1]) == warps.get(stays[2], stays[2]):
        return False  # a warp group spreads its rows alike over any number of columns
    shape = re.search(r": tensor<((?:\d+x)+)", line)
    if shape is not None and sum(side not in ("", "1") for side in shape[1].split("x")) < 2:
        return False
    return not between_accumulators or re.search(r"#mma\w*> -> tensor<[^#]*#mma\w*>", line) is not None


def inspect_compiled(kernel: Compiled) -> CompiledFacts:
    """Gathers the facts of a kernel that ``tlx.compile`` made."""
    arch = int(kernel.target.removeprefix("sm_"))
    log = assemble(kernel.asm["ptx"], arch)
    code = sass.parse(sass.disassemble(kernel.asm["cubin"]))
    counts = sass.count(code)
    products = next((op for op in WARPGROUP_PRODUCTS if counts.get(op)), "HGMMA")
    return CompiledFacts(
        name=kernel.name,
        target=kernel.target,
        num_warps=kernel.num_warps,
        registers=log.registers,
        stack=log.stack,
        spill_stores=log.spill_stores,
        spill_loads=log.spill_loads,
        shared=kernel.shared,
        counts={op: counts.get(op, 0) for op in COUNTED},
        dot_loops=tuple(sass.count(body) for body in sass.innermost_with(code, products)),
        load_loops=tuple(sass.count(body) for load in LOADS for body in sass.innermost_with(code, load)),
        notes=log.notes,
        log=log.lines,
        dot_loop_conversions=dot_loop_conversions(kernel.asm["ttgir"]),
    )
