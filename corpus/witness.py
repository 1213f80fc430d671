"""Our own TLX compiled by other TLX compilers: one text, several independent witnesses.

    python corpus/witness.py --against fork=PYTHON utlx=PYTHON

The text is every golden conversion of the corpus and every hand-written kernel of the tests, as it stands but for its
imports: ``import tlx`` becomes Meta's module and ``@tlx.jit`` becomes ``@triton.jit``. What to compile it for is what
our own verifier and tests compile it for. The exit status is 1 if a compiler refuses a launch that ours accepts and
``KNOWN`` does not say why, or accepts one that it should refuse.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import triton

import tlx

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "benchmarks" / "tutorials" / "build.py"
HAND_WRITTEN = ROOT / "tests" / "tlx" / "kernels"
#: the tests that compile hand-written kernels
TESTS = ("tests/tlx/test_gemm.py",)


@dataclass(frozen=True, slots=True)
class Known:
    """Launches that other compilers refuse for a reason of their own."""

    who: tuple[str, ...]
    #: None for any
    kernel: str | None
    #: constants that the launches have
    constexprs: Mapping[str, Any]
    why: str

    def covers(self, who: str, launch: Mapping[str, Any]) -> bool:
        """Whether this compiler must refuse this launch."""
        values = launch["constexprs"]
        return (
            who in self.who
            and self.kernel in (None, launch["kernel"])
            and all(values.get(name) == value for name, value in self.constexprs.items())
        )


KNOWN = (
    Known(
        ("fork", "utlx"),
        "gemm_default_consumers",
        {},
        "they give copies of the default task no registers, and then accept none for other tasks",
    ),
    Known(
        ("utlx",),
        None,
        {"CONSUMER_WARPS": 8},
        "it gives blocks the layout of the kernel's 4 warps in a task of 8, and then calls that invalid",
    ),
)


class Recorded(Exception):
    """What was to be compiled is known now; nothing was."""


class Recorder:
    """Stands in for ``tlx.compile``: keeps what it is asked, and gives up."""

    def __init__(self, file: str | None, stop: Callable[[], None]) -> None:
        #: name of the text among the witnesses'; None for a hand-written kernel's own
        self.file = file
        #: how to give up
        self.stop = stop
        self.launches: list[dict[str, Any]] = []

    def __call__(self, kernel: Any, signature: Any, constexprs: Any = None, **options: Any) -> Any:
        path = Path(inspect.getsourcefile(kernel.fn) or "")
        if self.file is not None or path.parent == HAND_WRITTEN:
            pointers = [name for name, kind in signature.items() if kind.startswith("*")]
            divisible = options.get("divisible_by_16")
            values = {p.name: p.default for p in kernel.params if p.is_constexpr and p.has_default} | (constexprs or {})
            self.launches.append(
                {
                    "file": self.file or path.name,
                    "kernel": kernel.__name__,
                    "signature": {name: signature.get(name, "constexpr") for name in kernel.arg_names},
                    "constexprs": {name: plain(value) for name, value in values.items()},
                    "divisible": list(pointers if divisible is None else divisible),
                    "options": {"num_warps": options.get("num_warps", 4), **(options.get("options") or {})},
                }
            )
        self.stop()

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """In place of ``tlx.compile`` meanwhile."""
        stock, tlx.compile = tlx.compile, self
        try:
            yield
        finally:
            tlx.compile = stock


def plain(value: Any) -> Any:
    """A constant as JSON; build.py makes it a type again."""
    return {"dtype": value.name} if isinstance(value, triton.language.dtype) else value


def swapped(text: str) -> str:
    """The text for Meta's compilers."""
    text = re.sub(r"^import tlx$", "import triton.language.extra.tlx as tlx", text, flags=re.MULTILINE)
    # The guard against other packages called tlx.
    text = re.sub(r"^if not hasattr\(tlx, \"specialized\"\):\n    raise .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^from \.(\w+) import", r"from \1 import", text, flags=re.MULTILINE)
    text = text.replace("@tlx.jit", "@triton.jit")
    added = [] if re.search(r"^import triton$", text, re.MULTILINE) else ["import triton"]
    if "tlx.get_bufidx_phase" in text:
        # A function of a module that Meta's package does not import by itself.
        added.append("from triton.language.extra.tlx.warp_spec import get_bufidx_phase")
        text = text.replace("tlx.get_bufidx_phase", "get_bufidx_phase")
    return text.replace("\nimport ", "\n" + "\n".join([*added, "import "]), 1)


def corpus_launches(path: Path) -> list[dict[str, Any]]:
    """What the verifier compiles of one file's conversions."""
    from tlxify import convert
    from tlxify.source import SourceFile
    from tlxify.verify.compiled import compile_variants

    found: list[dict[str, Any]] = []
    for kernel in convert(SourceFile(str(path.relative_to(ROOT)), path.read_text())).kernels:
        if kernel.conversion is None:
            continue
        recorder = Recorder(f"{path.stem}_tlx.py", give_up)
        with recorder.listening():
            # The verifier notes that each variant failed, and goes on to the next.
            compile_variants(kernel.conversion)
        found += recorder.launches
    return found


def give_up() -> None:
    """Ends what the verifier calls a failed compilation."""
    raise Recorded


def hand_written_launches() -> list[dict[str, Any]]:
    """What the tests compile of the hand-written kernels."""
    recorder = Recorder(None, lambda: pytest.skip("recorded"))
    with recorder.listening(), contextlib.redirect_stdout(sys.stderr):
        pytest.main(["-q", "--no-header", "-p", "no:cacheprovider", *(str(ROOT / test) for test in TESTS)])
    return recorder.launches


def numbered(launches: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without repetitions, each with a name of its own."""
    found, counts = [], {}
    for text in dict.fromkeys(json.dumps(launch) for launch in launches):
        launch = json.loads(text)
        stem = f"{Path(launch['file']).stem}.{launch['kernel']}"
        counts[stem] = counts.get(stem, 0) + 1
        found.append({"case": f"{stem}-{counts[stem]}", **launch})
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", nargs="+", required=True, metavar="NAME=PYTHON")
    parser.add_argument("--only", default="", help="launches whose name this regular expression finds, such as 'ws-1$'")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    plain_kernels = [path for path in sorted((ROOT / "corpus").glob("*/*.py")) if path.parent.name != "golden"]
    launches = numbered([*hand_written_launches(), *(item for path in plain_kernels for item in corpus_launches(path))])
    launches = [launch for launch in launches if re.search(options.only, launch["case"])]
    texts = [*HAND_WRITTEN.glob("*.py"), *(ROOT / "corpus").glob("*/golden/*_tlx.py")]
    refused: dict[str, dict[str, str]] = {}
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in texts:
            (folder / path.name).write_text(swapped(path.read_text()))
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
    if options.json:
        report = {"launches": [launch["case"] for launch in launches], "refused": refused}
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    for case in wrong:
        print(f"unexpected: {case}")
    return int(bool(wrong))


def unexpected(who: str, launch: Mapping[str, Any], errors: Container[str]) -> bool:
    """Whether a compiler did with this launch what ``KNOWN`` does not say."""
    return (launch["case"] in errors) != any(known.covers(who, launch) for known in KNOWN)


def gist(text: str) -> str:
    """What a compiler's complaint comes to."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # MLIR says what is wrong at once; a traceback does so at its end.
    telling = [line for line in lines if ": error: " in line]
    return (telling or lines[-1:] or ["no message"])[0][:300]


if __name__ == "__main__":
    sys.exit(main())
