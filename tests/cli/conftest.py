"""A pipeline of known answers, so that these tests speak of the command line alone."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import tlxify
from tlxify.cli import main
from tlxify.contract import Contract
from tlxify.conversion import Conversion
from tlxify.diagnostics import Decline, Diagnostic
from tlxify.outcome import FileConversion, KernelOutcome, RoleLine
from tlxify.source import SourceFile, Span
from tlxify.verdict import Evidence, Rung, Verdict

SOURCE = "import triton\n\n\n@triton.jit\ndef kernel(a_ptr):\n    a = tl.load(a_ptr)\n    tl.store(a_ptr, a)\n"
BINDING = "from m_tlx import bind\n"
SPAN = Span(4, 0, 7, 22)
CONTRACT = Contract("kernel", ("a_ptr",), (), (), (), (), True, ())


@dataclass
class Fakes:
    """What the pipeline and the verifier answer; a test changes what it is about."""

    outcome: Callable[[SourceFile], FileConversion] | Exception = field(default_factory=lambda: good)
    verdict: Callable[[Conversion, Rung], Verdict] = field(default_factory=lambda: reached)
    asked: list[tuple[object, ...]] = field(default_factory=list)
    #: Whose tiles were to be tried in each conversion, and what it was to be to.
    how: list[tuple[str | None, str]] = field(default_factory=list)

    def convert(
        self,
        source: SourceFile,
        kernels: tuple[str, ...] | None = None,
        schedule: str = "auto",
        *,
        profitable: bool = True,
        tiles: str | None = None,
        tier: str = "tlx",
        elsewhere: frozenset[str] = frozenset(),
    ) -> FileConversion:
        self.asked.append(("convert", kernels, schedule))
        self.how.append((tiles, tier))
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome(source)

    def analyze(self, source: SourceFile, kernel: str | None = None) -> tuple[object, ...]:
        """Nothing that says what limits a kernel."""
        raise Decline("TLX104", SPAN, what="a fake")

    def verify(
        self,
        conversion: Conversion,
        *,
        upto: Rung,
        progress: Callable[..., None] | None = None,
        timeline: str | None = None,
    ) -> Verdict:
        self.asked.append(("verify", conversion.kernel, upto))
        if progress:
            progress("config 1 of 2")
        return self.verdict(conversion, upto)


def good(source: SourceFile) -> FileConversion:
    """One kernel, converted."""
    roles = (
        RoleLine(5, "def kernel(a_ptr):", frozenset()),
        RoleLine(6, "    a = tl.load(a_ptr)", frozenset({"producer"}), "feeds the dot in line 7"),
        RoleLine(7, "    tl.store(a_ptr, a)", frozenset({"consumer", "epilogue"}), "[bold] stores"),
    )
    conversion = Conversion("kernel", CONTRACT, "module", source.path)
    kernel = KernelOutcome("kernel", SPAN, "converted", roles=roles, contract=CONTRACT, conversion=conversion)
    source = SourceFile(source.path, source.text.removesuffix(BINDING))
    return FileConversion(
        source, (kernel,), (), lambda: source.text + "# converted\n", "# sidecar\n", source.text + BINDING
    )


def refused(code: str, **facts: object) -> Callable[[SourceFile], FileConversion]:
    """One kernel with one diagnostic at its line 6."""
    diagnostic = Diagnostic.of(code, Span(6, 8, 6, 22), **facts)
    word = {"unprofitable": "unprofitable", "no-dot": "no-dot"}.get(diagnostic.outcome, "declined")
    return lambda source: FileConversion(source, (KernelOutcome("kernel", SPAN, word, (diagnostic,)),))  # type: ignore[arg-type]


def reached(conversion: Conversion, upto: Rung) -> Verdict:
    """The rung that was asked for, each with a fact."""
    return Verdict(
        conversion.kernel, upto, tuple(Evidence(rung, True, "fact", f"{rung.name} fact") for rung in Rung if rung)
    )


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> Fakes:
    answers = Fakes()
    for name, attributes in (
        ("tlxify.pipeline", {"convert": answers.convert, "analyze": answers.analyze}),
        ("tlxify.verify", {"verify": answers.verify}),
    ):
        module = types.ModuleType(name)
        if name == "tlxify.verify":
            # Its other modules are what they are.
            module.__path__ = [str(Path(tlxify.__file__).parent / "verify")]
        for attribute, value in attributes.items():
            setattr(module, attribute, value)
        monkeypatch.setitem(sys.modules, name, module)
    return answers


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("m.py").write_text(SOURCE)
    return Path("m.py")


@pytest.fixture
def run() -> Callable[..., Result]:
    return lambda *words: CliRunner().invoke(main, [str(word) for word in words])
