"""Our own TLX compiled by other TLX compilers: one text, several independent witnesses.

    python corpus/witness.py --against fork=PYTHON utlx=PYTHON

The text is every golden conversion of the corpus and every kernel that the tests of the language compile, as it stands
but for its imports: ``import tlx`` becomes Meta's module and ``@tlx.jit`` becomes ``@triton.jit``. What to compile it for
is what our own verifier and tests compile it for; run it under the newest Triton, whose tests compile most. The exit
status is 1 if a compiler refuses a launch that ours accepts and ``KNOWN`` does not say why in the compiler's own words,
or accepts one that it should refuse.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from witness_known import unexpected, unused
from witness_launches import ROOT, corpus_launches, numbered, launches_of_tests
from witness_text import swapped

BUILD = ROOT / "benchmarks" / "tutorials" / "build.py"


def main() -> int:
    """Prints what each compiler refuses; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", nargs="+", required=True, metavar="NAME=PYTHON")
    parser.add_argument("--part", choices=("tests", "corpus"), help="only one half of the launches")
    parser.add_argument("--only", default="", help="launches whose name this regular expression finds, such as 'ws-1$'")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    launches, texts = asked(options.part)
    launches = [launch for launch in launches if re.search(options.only, launch["case"])]
    refused: dict[str, dict[str, str]] = {}
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in texts.items():
            (folder / file).write_text(text)
        (folder / "launches.json").write_text(json.dumps({"launches": launches}))
        for who, python in (text.split("=", 1) for text in options.against):
            words = ["--tutorials", folder, "--launches", folder / "launches.json", "--out", folder / who]
            subprocess.run([python, BUILD, *words], check=True, env={"PATH": "/usr/bin:/bin"}, stdout=sys.stderr)
            errors = {path.stem: path.read_text() for path in sorted((folder / who).glob("*.err"))}
            refused[who] = {case: gist(text) for case, text in errors.items()}
            print(f"{who}: {len(launches) - len(errors)} of {len(launches)} launches compile")
            for case, line in refused[who].items():
                print(f"  {case}: {line}")
            wrong += [f"{who} {launch['case']}" for launch in launches if unexpected(who, launch, errors)]
            if not options.part and not options.only:
                wrong += [f"{who}: nothing is refused because {known.why}" for known in unused(who, launches)]
    if options.json:
        report = {"launches": [launch["case"] for launch in launches], "refused": refused}
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    for case in wrong:
        print(f"unexpected: {case}")
    return int(bool(wrong) or not launches)


def asked(part: str | None) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The launches and the texts that they name."""
    launches: list[dict[str, Any]] = []
    texts: dict[str, str] = {}
    if part != "corpus":
        recorder = launches_of_tests()
        launches += recorder.launches
        texts |= recorder.texts
        for name, why in recorder.left_out.items():
            print(f"not asked: {name}: {why}")
    if part != "tests":
        plain_kernels = [path for path in sorted((ROOT / "corpus").glob("*/*.py")) if path.parent.name != "golden"]
        launches += [launch for path in plain_kernels for launch in corpus_launches(path)]
        texts |= {path.name: swapped(path.read_text()) for path in (ROOT / "corpus").glob("*/golden/*_tlx.py")}
    return numbered(launches), texts


def gist(text: str) -> str:
    """What a compiler's complaint comes to."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # MLIR says what is wrong at once; a traceback does so at its end.
    telling = [line for line in lines if re.search(r"(^|[:;] )error *: ", line)]
    # Where it ends with a mark under the source, the exception that led there says it.
    told = [line for line in lines if line.strip("^~")] or lines
    if lines and not lines[-1].strip("^~"):
        told = [line for line in told if re.match(r"[A-Za-z_]*(Error|Exception)\b", line)] or told
    return (telling or told[-1:] or ["no message"])[0][:300]


if __name__ == "__main__":
    sys.exit(main())
