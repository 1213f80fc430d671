"""Compiles the conversions of our own kernels to machine code, under the Triton that runs this. No GPU is needed.

    python corpus/compile.py [--first]

Every variant that the verifier compiles of a conversion (configs, layouts, dtypes, odd sizes): 2-6 seconds each, and 20
minutes in all; with --first one per conversion. Exit status 1 if one does not compile, spills what it should not, or
has no specialized launch.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import triton

from tlxify import convert
from tlxify.source import SourceFile
from tlxify.verify.compiled import compile_variants

CORPUS = Path(__file__).resolve().parent


def main() -> int:
    """Prints one line per conversion; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", action="store_true", help="one variant of each conversion")
    share = (0, 1000) if parser.parse_args().first else (0, 1)
    compiled = wrong = 0
    for path in sorted(CORPUS.glob("*/*.py")):
        if path.parent.name == "golden":
            continue
        for kernel in convert(SourceFile(str(path.relative_to(CORPUS.parent)), path.read_text())).kernels:
            if kernel.conversion is None:
                continue
            built = compile_variants(kernel.conversion, share)
            problems = [evidence.text for evidence in built.findings] or ([] if built.compiled else ["nothing compiled"])
            compiled, wrong = compiled + built.compiled, wrong + bool(problems)
            name = f"{path.parent.name}/{path.stem}"
            print(f"{name:40} {built.compiled:3} compiled, {built.registers} registers", *problems, sep="\n  ", flush=True)
    print(f"Triton {triton.__version__}: {compiled} compiled, {wrong} conversions with problems")
    return int(wrong > 0 or not compiled)


if __name__ == "__main__":
    sys.exit(main())
