"""Compiles the conversions of our own kernels to machine code, under the Triton that runs this. No GPU is needed.

    python corpus/compile.py [--first]

Every variant that the verifier compiles of a conversion (configs, layouts, dtypes, odd sizes): 2-6 seconds each, and 20
minutes in all; with --first one per conversion. Exit status 1 if one does not compile, spills what it should not, or
has no specialized launch. What is known of one Triton alone is told with its reason, and is an error once it is gone.
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
#: (Triton, kernel) → all that is wrong with it, and why it is left so.
KNOWN = {
    ("3.7", "attention/window"): (
        {"config 1, dtype 0: 32 bytes of stack", "config 1, dtype 1: 32 bytes of stack"},
        "two CTAs share an SM with 216 registers a consumer thread, which the ptxas of 3.6, 3.8 and 3.9 all fit into; one"
        " CTA with more registers would cost the others half of their warps",
    ),
}


def main() -> int:
    """Prints one line per conversion; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", action="store_true", help="one variant of each conversion")
    first = parser.parse_args().first
    share = (0, 1000) if first else (0, 1)
    version = ".".join(triton.__version__.split(".")[:2])
    compiled = wrong = 0
    for path in sorted(CORPUS.glob("*/*.py")):
        if path.parent.name == "golden":
            continue
        for kernel in convert(SourceFile(str(path.relative_to(CORPUS.parent)), path.read_text())).kernels:
            if kernel.conversion is None:
                continue
            built = compile_variants(kernel.conversion, share)
            problems = [evidence.text for evidence in built.findings] or ([] if built.compiled else ["nothing compiled"])
            name = f"{path.parent.name}/{path.stem}"
            expected, why = KNOWN.get((version, name), (set(), ""))
            known = bool(expected) and {text.partition(" per thread")[0] for text in problems} == expected
            if expected and not known and not first:
                problems.append(f"KNOWN expects this: {', '.join(sorted(expected))}")
            compiled, wrong = compiled + built.compiled, wrong + (bool(problems) and not known)
            told = [f"{text} (known: {why})" for text in problems] if known else problems
            print(f"{name:40} {built.compiled:3} compiled, {built.registers} registers", *told, sep="\n  ", flush=True)
    print(f"Triton {triton.__version__}: {compiled} compiled, {wrong} conversions with problems")
    return int(wrong > 0 or not compiled)


if __name__ == "__main__":
    sys.exit(main())
