"""Whether our compiler keeps more in local memory than another one, launch by launch. Exit status 1 if it does.

    python -m benchmarks.tutorials.spills --out FILE ours=FOLDER fork=FOLDER

Each folder is one that build.py wrote. Compilers come with assemblers of different age, and it is the assembler that
spills; so the other compiler's PTX is also assembled by the running Triton, whose assembler ours was compiled with. A
launch is worse than the other's if it has more bytes of stack than both. As many bytes that more instructions use are
told apart in the table.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import make_backend

from benchmarks.tutorials.compare import resources
from tlx.lowering import sass


@dataclass(frozen=True, slots=True)
class Memory:
    """What one kernel keeps outside its registers."""

    registers: int
    #: bytes per thread
    stack: int
    #: instructions that use local memory
    spills: int

    def within(self, other: Memory) -> bool:
        """Whether it keeps no more than another one, and uses it no more often."""
        return self.stack <= other.stack and self.spills <= other.spills


def of_cubin(cubin: Path) -> Memory:
    """Read off the machine code."""
    counts = sass.count(sass.parse(sass.disassemble(cubin.read_bytes())))
    return Memory(*resources(cubin), counts.get("LDL", 0) + counts.get("STL", 0))


def assembled(ptx: Path, arch: int) -> Memory:
    """Of PTX that another compiler wrote, with the assembler and the options of the running Triton."""
    backend = make_backend(GPUTarget("cuda", arch, 32))
    code = backend.make_cubin(ptx.read_text(), {}, backend.parse_options({}), arch)
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder) / "kernel.cubin"
        cubin.write_bytes(code)
        return of_cubin(cubin)


def verdict(ours: Memory | None, theirs: Sequence[Memory]) -> str:
    """One word or a few for the table."""
    if ours is None:
        return "does not compile"
    if not theirs:
        return "nothing to compare with"
    if any(ours.within(other) for other in theirs):
        return "no more"
    return "no more, used more" if any(ours.stack <= other.stack for other in theirs) else "more"


def compare(names: Sequence[str], ours: Path, theirs: Path, arches: Mapping[str, int]) -> dict[str, dict[str, object]]:
    """One row for each launch.

    Args:
        names: of the launches.
        ours, theirs: folders that build.py wrote.
        arches: name → architecture, 90 or 100.
    """
    rows: dict[str, dict[str, object]] = {}
    for name in names:
        own = of_cubin(ours / f"{name}.cubin") if (ours / f"{name}.cubin").exists() else None
        others = {}
        if (theirs / f"{name}.cubin").exists():
            others["their assembler"] = of_cubin(theirs / f"{name}.cubin")
            others["our assembler"] = assembled(theirs / f"{name}.ptx", arches[name])
        rows[name] = {
            "verdict": verdict(own, list(others.values())),
            "ours": asdict(own) if own else None,
            "theirs": {how: asdict(other) for how, other in others.items()},
        }
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--launches", type=Path, action="append", required=True, help="what record.py wrote; again for more"
    )
    parser.add_argument("--out", type=Path)
    parser.add_argument("folders", nargs=2, metavar="NAME=FOLDER")
    options = parser.parse_args()
    (_, ours), (who, theirs) = (text.split("=", 1) for text in options.folders)
    launches = [launch for file in options.launches for launch in json.loads(file.read_text())["launches"]]
    arches = {launch["case"]: launch.get("target", 90) for launch in launches}
    rows = compare(list(arches), Path(ours), Path(theirs), arches)
    for name, row in rows.items():
        print(f"{name:45} {row['verdict']:25} {row['ours']} {who}: {row['theirs']}")
    worse = [name for name, row in rows.items() if row["verdict"] in ("more", "does not compile")]
    listed = ", ".join(worse) or "none"
    print(f"Triton {triton.__version__}: {len(rows)} launches, {len(worse)} worse than {who}: {listed}")
    if options.out:
        options.out.write_text(json.dumps({"triton": triton.__version__, "rows": rows}, indent=1) + "\n")
    return int(bool(worse))


if __name__ == "__main__":
    sys.exit(main())
