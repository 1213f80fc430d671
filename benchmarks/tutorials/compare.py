"""Machine code of the same launches by several compilers, side by side.

    python -m benchmarks.tutorials.compare --out FILE ours=FOLDER fork=FOLDER …

Each folder is one that build.py wrote. For every kernel: registers, stack, shared memory, and of each innermost loop
that multiplies or loads how often the instructions occur that matter. The first folder is the one that is judged.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from triton import knobs

from tlx.lowering import sass

#: products, TMA loads, mbarriers, CTA barriers, waits for products, their fences, shared memory, register moves
COUNTED = ("HGMMA", "UTMALDG", "LDGSTS", "SYNCS", "BAR", "WARPGROUP", "FENCE", "LDS", "STS", "LDL", "STL", "MOV", "SEL")


@dataclass(frozen=True, slots=True)
class Loop:
    """An innermost loop: how many instructions, and how many of those that count."""

    size: int
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Code:
    """One kernel by one compiler."""

    registers: int
    #: bytes per thread
    stack: int
    #: instructions that keep values in local memory
    spills: int
    #: bytes
    shared: int
    warps: int
    instructions: int
    dot_loops: tuple[Loop, ...]
    load_loops: tuple[Loop, ...]
    #: types of the entry's parameters, in order
    parameters: tuple[str, ...]


def resources(cubin: Path) -> tuple[int, int]:
    """Registers and bytes of stack per thread, as the cubin says."""
    tool = knobs.nvidia.cuobjdump.path
    text = subprocess.run([tool, "-res-usage", str(cubin)], capture_output=True, text=True, check=True).stdout
    found = re.search(r"REG:(\d+) STACK:(\d+)", text)
    return int(found[1]), int(found[2])


def parameters(ptx: str) -> tuple[str, ...]:
    """The entry's parameters without their names: what a launcher has to pass."""
    (listed,) = re.findall(r"\.visible \.entry \w+\(\s*(.*?)\s*\)", ptx, re.DOTALL)
    return tuple(
        re.sub(r"\w+_param_\d+", "", line).strip().replace(" .ptr .global .align 1", "") for line in listed.split(",\n")
    )


def loops(code: tuple[sass.Instruction, ...], opcode: str) -> tuple[Loop, ...]:
    """The innermost loops that execute ``opcode``, by address."""
    found = []
    for body in sass.innermost_with(code, opcode):
        counts = sass.count(body)
        found.append(Loop(len(body), {op: counts[op] for op in COUNTED if op in counts}))
    return tuple(found)


def read(stem: Path) -> Code:
    """What build.py left under this name."""
    cubin = stem.with_name(f"{stem.name}.cubin")
    facts = json.loads(stem.with_name(f"{stem.name}.json").read_text())
    registers, stack = resources(cubin)
    code = sass.parse(sass.disassemble(cubin.read_bytes()))
    counts = sass.count(code)
    return Code(
        registers=registers,
        stack=stack,
        spills=counts.get("LDL", 0) + counts.get("STL", 0),
        shared=facts["shared"],
        warps=facts["num_warps"],
        instructions=len(code),
        dot_loops=loops(code, "HGMMA"),
        load_loops=loops(code, "UTMALDG") or loops(code, "LDGSTS"),
        parameters=parameters(stem.with_name(f"{stem.name}.ptx").read_text()),
    )


def loop_text(found: tuple[Loop, ...]) -> str:
    """Loops in one line, like loops of one kind once."""
    texts = [f"{loop.size}: " + " ".join(f"{op}={n}" for op, n in loop.counts.items()) for loop in found]
    return "; ".join(dict.fromkeys(texts))


def differences(judged: Code, other: Code) -> list[str]:
    """What makes the judged one worse, or impossible to launch like the other."""
    found = []
    if judged.spills > other.spills or judged.stack > other.stack:
        found.append(f"spills {judged.spills} ({other.spills})")
    if judged.parameters != other.parameters:
        found.append("parameters differ")
    for kind in ("dot_loops", "load_loops"):
        mine, theirs = (sum(loop.size for loop in getattr(code, kind)) for code in (judged, other))
        if mine > 1.1 * theirs:
            found.append(f"{kind} {mine} instructions ({theirs})")
    return found


def report(code: Code) -> dict[str, object]:
    """As JSON; of the parameters their number will do."""
    return {**asdict(code), "parameters": len(code.parameters)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="NAME=FOLDER")
    parser.add_argument("--out", type=Path, help="also write everything there")
    options = parser.parse_args()
    folders = {name: Path(folder) for name, folder in (text.split("=", 1) for text in options.folders)}
    judged = next(iter(folders))
    names = sorted({path.stem for folder in folders.values() for path in folder.glob("*.json")})
    table: dict[str, dict[str, object]] = {}
    for name in names:
        row = {who: read(folder / name) for who, folder in folders.items() if (folder / f"{name}.json").exists()}
        table[name] = {who: report(code) for who, code in row.items()}
        print(f"\n{name}")
        for who in folders:
            code = row.get(who)
            if code is None:
                print(f"  {who:5} does not compile")
                continue
            head = f"{code.warps} warps, {code.registers} registers, stack {code.stack}, spills {code.spills}"
            print(f"  {who:5} {head}, shared {code.shared}, {code.instructions} instructions")
            print(f"        products {loop_text(code.dot_loops)}")
            print(f"        loads    {loop_text(code.load_loops)}")
        for who, code in row.items():
            if who != judged and judged in row and (found := differences(row[judged], code)):
                print(f"  {judged} against {who}: {'; '.join(found)}")
    if options.out:
        options.out.write_text(json.dumps(table) + "\n")


if __name__ == "__main__":
    main()
