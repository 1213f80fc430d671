"""Converts every pinned public kernel and compares the outcome with the one that `public.toml` expects.

    python corpus/check.py [--json FILE]

`expect` is a rung ("compiled": the conversion must be proved up to there) or the code of a refusal. Exit status 1 on a difference.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from fetch import location, pinned

from tlxify import convert
from tlxify.diagnostics import Decline
from tlxify.source import SourceFile
from tlxify.verdict import Rung


def outcome(entry: dict[str, str]) -> tuple[str, list[str]]:
    """What became of a kernel, and the evidence for it."""
    from tlxify.verify import verify

    expected = entry["expect"]
    try:
        kernel = convert(SourceFile.read(location(entry)), kernels=(entry["kernel"],)).kernels[0]
    except Decline as refusal:
        return refusal.diagnostic.code, [refusal.diagnostic.message]
    if kernel.conversion is None:
        first = next(iter(kernel.diagnostics), None)
        return (first.code, [first.message]) if first else ("converted, contract not inferred", [])
    upto = Rung[expected.upper()] if expected.upper() in Rung.__members__ else Rung.COMPILED
    verdict = verify(kernel.conversion, upto=upto)
    words = [f"{item.rung.name.lower()}: {item.text}" for item in verdict.evidence]
    return verdict.rung.name.lower() if verdict.passed else "failed", words


def main() -> int:
    """Prints one line per kernel; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows, wrong = [], 0
    for entry in pinned():
        found, words = outcome(entry)
        right = found == entry["expect"]
        wrong += not right
        mark = "ok" if right else f"EXPECTED {entry['expect']}"
        print(f"{entry['package']:24} {entry['kernel']:32} {found:12} {mark}", flush=True)
        for word in words:
            print(f"    {word}")
        rows.append({**entry, "found": found, "evidence": words})
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
