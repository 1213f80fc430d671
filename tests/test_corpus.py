"""Our own plain kernels: what `convert --write` puts beside each is kept under `golden/` and read as code.

A file that must be declined says so in its first line, `# expect: CODE`; all others must be converted.
"""

from __future__ import annotations

import functools
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.golden import ROOT, needs_block_pointers
from tests.test_cases_simulated import launches
from tlxify import convert
from tlxify.source import SourceFile

KERNELS = [path for path in sorted((ROOT / "corpus").glob("*/*.py")) if path.parent.name != "golden"]
EXPECTED = {path: re.match(r"# expect: (TLX\d{3})\n", path.read_text()) for path in KERNELS}
CONVERTED = [path for path in KERNELS if EXPECTED[path] is None]
DECLINED = [path for path in KERNELS if EXPECTED[path] is not None]
#: Kinds of launches, by the beginning of their names: as deep as the ring and deeper, ragged, and without a trip.
KINDS = ("4 trips", "5 trips", "two tiles each way", "ragged", "0 trips")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT / "corpus").with_suffix(""))


#: Kernels that show what a schedule does which is not chosen by itself.
SCHEDULED = [
    ("attention/forward", "pingpong"),
    ("attention/causal", "pingpong"),
    ("gemm/matmul", "pingpong"),
    ("gemm/persistent", "pingpong"),
]


@functools.cache
def converted(path: Path, *, profitable: bool = True, schedule: str = "auto"):
    source = SourceFile(str(path.relative_to(ROOT)), path.read_text())
    return convert(source, profitable=profitable, schedule=schedule)


@pytest.mark.parametrize("path", CONVERTED, ids=name)
def test_golden(path, request):
    golden = path.parent / "golden" / f"{path.stem}_tlx.py"
    conversion = converted(path)
    assert [kernel.verdict_word for kernel in conversion.kernels] == ["converted"], conversion.kernels[0].diagnostics
    text = conversion.sidecar_text
    if request.config.getoption("--update-golden"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text)
    assert text == golden.read_text(), "run pytest tests/test_corpus.py --update-golden and read the diff"


@pytest.mark.parametrize(("path", "schedule"), SCHEDULED)
def test_golden_of_schedule(path, schedule, request):
    source = ROOT / "corpus" / f"{path}.py"
    golden = source.parent / "golden" / schedule / f"{source.stem}_tlx.py"
    text = converted(source, schedule=schedule).sidecar_text
    if request.config.getoption("--update-golden"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text)
    assert text == golden.read_text(), "run pytest tests/test_corpus.py --update-golden and read the diff"


@pytest.mark.triton
@pytest.mark.parametrize(("path", "schedule"), SCHEDULED)
def test_schedule_simulated(path, schedule):
    """A few launches on every schedule of the simulator."""
    from tlxify.verify.cases import ALL_SCHEDULES
    from tlxify.verify.simulate import simulate

    (kernel,) = converted(ROOT / "corpus" / f"{path}.py", schedule=schedule).kernels
    cases = [replace(case, schedules=ALL_SCHEDULES) for case in launches(kernel.contract, KINDS)]
    tally = simulate(kernel.conversion, cases=cases)
    assert not tally.source_fails
    assert not tally.findings, [f"{evidence.text}: {evidence.detail}" for evidence in tally.findings.values()]
    assert tally.specialized >= 2, "the launcher took the original"


#: What cannot have descriptors alone, with the reason; everything else in the corpus can.
NOT_DESCRIBED = {
    "attention/softcap": "TLX319",
    "convolution/implicit_gemm": "TLX606",
    "gemm/descriptors": "TLX319",
    "gemm/host_descriptors": "TLX319",
    "grouped/pointer_table": "TLX201",
    "grouped/weight_gradients": "TLX211",
}


@pytest.mark.parametrize("path", KERNELS, ids=name)
def test_descriptors_alone(path):
    """No role, no block pointer and no load of ours through a pointer is left of what a descriptor loads."""
    source = SourceFile(str(path.relative_to(ROOT)), path.read_text())
    (kernel,) = convert(source, tier="descriptors").kernels
    if name(path) in NOT_DESCRIBED:
        assert [item.code for item in kernel.diagnostics] == [NOT_DESCRIBED[name(path)]]
        return
    assert kernel.verdict_word == "converted", kernel.diagnostics
    text = kernel.conversion.module_text
    body = text[text.index(f"def {kernel.plan.converted}(") : text.index("_guard(")]
    assert "tlx." not in body
    assert "make_block_ptr" not in body
    for one in kernel.plan.described:
        assert f"{one.view.descriptor}.load([" in body


@pytest.mark.parametrize("path", DECLINED, ids=name)
def test_declined(path):
    (kernel,) = converted(path).kernels
    assert [diagnostic.code for diagnostic in kernel.diagnostics] == [EXPECTED[path][1]]


def test_every_golden_has_its_kernel():
    stems = {path.stem for path in CONVERTED}
    assert len(stems) == len(CONVERTED), "witnesses lay all goldens in one folder"
    goldens = (ROOT / "corpus").glob("*/golden/*.py")
    assert {path.stem for path in goldens} == {f"{stem}_tlx" for stem in stems}


@pytest.mark.parametrize("path", CONVERTED, ids=name)
def test_generated_lines_are_laid_out_as_black_does(path):
    import black

    text = converted(path).sidecar_text
    functions = text[text.index("@tlx.jit") :]
    assert (
        black.format_str(functions, mode=black.Mode(line_length=120, target_versions={black.TargetVersion.PY310}))
        == functions
    )


@pytest.mark.parametrize("path", CONVERTED, ids=name)
def test_every_comment_is_kept(path):
    conversion = converted(path)
    text = conversion.sidecar_text
    for kernel in conversion.kernels:
        for number in range(kernel.span.line, kernel.span.end_line + 1):
            _, _, comment = conversion.source.line(number).partition("  # ")
            line = conversion.source.line(number).strip()
            comment = line.removeprefix("# ") if line.startswith("#") else comment
            assert not comment or comment.startswith("fmt: ") or comment.strip() in text


@pytest.mark.triton
@pytest.mark.parametrize("path", CONVERTED, ids=name)
def test_simulated(path):
    """A few launches, late and in one seeded order: `make corpus-simulated` does the rest."""
    from tlxify.verify.simulate import simulate

    needs_block_pointers(path.read_text())
    (kernel,) = converted(path).kernels
    tally = simulate(kernel.conversion, cases=launches(kernel.contract, KINDS))
    assert not tally.source_fails
    assert not tally.findings, [f"{evidence.text}: {evidence.detail}" for evidence in tally.findings.values()]
    assert tally.specialized, "the launcher took the original every time: nothing was tried"


@pytest.mark.triton
@pytest.mark.thorough
@pytest.mark.parametrize("path", KERNELS, ids=name)
def test_simulated_thoroughly(path):
    """Every edge case on every schedule, and drawn launches; also what would convert but is not expected to pay."""
    from tlxify.verdict import Rung
    from tlxify.verify import verify

    (kernel,) = converted(path, profitable=False).kernels
    if kernel.conversion is None:
        assert EXPECTED[path] is not None
        return
    verdict = verify(kernel.conversion, upto=Rung.SIMULATED)
    assert not verdict.source_fails
    assert verdict.passed, [f"{evidence.text}: {evidence.detail}" for evidence in verdict.evidence if not evidence.ok]
    assert verdict.rung is Rung.SIMULATED


@pytest.mark.triton
@pytest.mark.parametrize("path", ["gemm/swiglu", "fused/low_rank"])
def test_two_dots_under_way_compile(path):
    """The simulator lets a sum pass a wait for another one; the compiler does not."""
    from tlxify.verify.compiled import compile_variants

    (kernel,) = converted(ROOT / "corpus" / f"{path}.py").kernels
    built = compile_variants(kernel.conversion, share=(0, 1000))
    assert built.compiled == 1
    assert not built.findings, [evidence.text for evidence in built.findings]
