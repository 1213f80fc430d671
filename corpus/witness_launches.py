"""What other compilers are asked to compile: what our own verifier and tests compile, recorded as they do."""

from __future__ import annotations

import contextlib
import inspect
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import triton
from witness_text import Unportable, extracted, swapped

import tlx

ROOT = Path(__file__).resolve().parent.parent
HAND_WRITTEN = ROOT / "tests" / "tlx" / "kernels"
TESTS = ROOT / "tests" / "tlx"
#: tests whose kernels are not ours to show: Meta's own tutorials
NOT_OURS = ("test_tutorials.py",)

Launch = dict[str, Any]


class Recorded(Exception):
    """What was to be compiled is known now; nothing was."""


def give_up(*asked: Any, **options: Any) -> Any:
    """Ends what the verifier calls a failed compilation: machine code is not what is wanted here."""
    raise Recorded


@dataclass
class Recorder:
    """Stands in for ``tlx.compile``: keeps what it is asked."""

    #: what is done then; a launch that it refuses in words is not kept
    compile: Callable[..., Any]
    #: name of the text; None where each kernel has one of its own
    file: str | None = None
    launches: list[Launch] = field(default_factory=list)
    #: name → text for Meta's compilers
    texts: dict[str, str] = field(default_factory=dict)
    #: kernels that cannot be shown, and why
    left_out: dict[str, str] = field(default_factory=dict)

    def __call__(self, kernel: Any, signature: Any, constexprs: Any = None, **options: Any) -> Any:
        try:
            done = self.compile(kernel, signature, constexprs, **options)
        except Recorded:
            self._keep(kernel, signature, constexprs, options)
            raise
        self._keep(kernel, signature, constexprs, options)
        return done

    def _keep(self, kernel: Any, signature: Any, constexprs: Any, options: dict[str, Any]) -> None:
        while not isinstance(kernel, triton.JITFunction):
            kernel = kernel.fn
        try:
            self.launches.append(self._launch(kernel, signature, constexprs or {}, options))
        except Unportable as error:
            self.left_out[f"{Path(kernel.fn.__code__.co_filename).name} {kernel.__name__}"] = str(error)

    def _launch(self, kernel: Any, signature: Any, constexprs: dict[str, Any], options: dict[str, Any]) -> Launch:
        target = options.get("target", "sm_90")
        pointers = [name for name, kind in signature.items() if kind.startswith("*")]
        divisible = options.get("divisible_by_16")
        values = {p.name: p.default for p in kernel.params if p.is_constexpr and p.has_default} | constexprs
        chosen = {"num_warps": options.get("num_warps", 4), **(options.get("options") or {})}
        if (ctas := chosen.pop("num_ctas", 1)) > 1:
            # A cluster in stock Triton's words; in Meta's Triton those stand for one program on several CTAs.
            chosen["ctas_per_cga"] = [ctas, 1, 1]
        return {
            "file": self.file or self._text(kernel),
            "kernel": kernel.__name__,
            "signature": {name: signature.get(name, "constexpr") for name in kernel.arg_names},
            "constexprs": {name: plain(name, value) for name, value in values.items()},
            "divisible": list(pointers if divisible is None else divisible),
            "options": chosen,
            # Architectures of NVIDIA's are numbers, those of AMD's are names.
            **({} if target == "sm_90" else {"target": int(target[3:]) if target.startswith("sm_") else target}),
        }

    def _text(self, kernel: Any) -> str:
        """Name of the kernel's text: the file's where it is one of hand-written kernels, else an extract."""
        path = Path(inspect.getsourcefile(kernel.fn) or "")
        if path.parent == HAND_WRITTEN:
            self.texts[path.name] = swapped(path.read_text())
            return path.name
        text, stem = swapped(extracted(kernel)), f"{path.stem}__{kernel.__name__}"
        for number in range(1, 100):
            name = f"{stem}.py" if number == 1 else f"{stem}_{number}.py"
            if self.texts.setdefault(name, text) == text:
                return name
        raise AssertionError(f"{stem} has a hundred texts")

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """In place of ``tlx.compile`` meanwhile."""
        stock, tlx.compile = tlx.compile, self
        try:
            yield
        finally:
            tlx.compile = stock


def plain(name: str, value: Any) -> Any:
    """A constant as JSON; build.py makes it a type again."""
    value = value.value if isinstance(value, triton.language.constexpr) else value
    if isinstance(value, triton.language.dtype):
        name = next(key for key, known in vars(triton.language).items() if known is value)
        return {"dtype": name}
    if not isinstance(value, bool | int | float | str | None):
        raise Unportable(f"{name} is {value!r}")
    return value


def corpus_launches(path: Path) -> list[Launch]:
    """What the verifier compiles of one file's conversions."""
    from tlxify import convert
    from tlxify.source import SourceFile
    from tlxify.verify.compiled import compile_variants

    found: list[Launch] = []
    for kernel in convert(SourceFile(str(path.relative_to(ROOT)), path.read_text())).kernels:
        if kernel.conversion is None:
            continue
        recorder = Recorder(give_up, f"{path.stem}_tlx.py")
        with recorder.listening():
            # The verifier notes that each variant failed, and goes on to the next.
            compile_variants(kernel.conversion)
        found += recorder.launches
    return found


def launches_of_tests(select: str = "") -> Recorder:
    """What the tests of the language compile, and our compiler with them; ``select`` as pytest's ``-k``.

    Raises:
        RuntimeError: some of them fail.
    """
    recorder = Recorder(tlx.compile)
    files = [str(path) for path in sorted(TESTS.glob("test_*.py")) if path.name not in NOT_OURS]
    # What is recorded is tlx's own, which is there before pytest can look at its plugins.
    quiet = ["-q", "--no-header", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    words = [*quiet, *(["-k", select] if select else []), *files]
    with recorder.listening(), contextlib.redirect_stdout(sys.stderr):
        code = pytest.main(words)
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise RuntimeError("tests fail that say what is to be compiled")
    return recorder


def numbered(launches: Iterable[Launch]) -> list[Launch]:
    """Without repetitions, each with a name of its own."""
    found, counts = [], {}
    for text in dict.fromkeys(json.dumps(launch) for launch in launches):
        launch = json.loads(text)
        stem = f"{Path(launch['file']).stem}.{launch['kernel']}"
        counts[stem] = counts.get(stem, 0) + 1
        found.append({"case": f"{stem}-{counts[stem]}", **launch})
    return found
