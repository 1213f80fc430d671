"""Helpers written out, one construct per case: the text, and in the simulator the same numbers as with the calls."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path

import pytest

from tests.golden import Case, read, write
from tlxify.analyses import analyze
from tlxify.inline import written_out
from tlxify.model import Kernel
from tlxify.parse.kernels import find_kernels
from tlxify.parse.module import parse_module
from tlxify.slice import cut, jitted
from tlxify.source import SourceFile, Span

CASES = [read(path) for path in sorted((Path(__file__).parent / "cases").glob("*.py"))]


def name(case: Case) -> str:
    return case.path.stem


def kernel_of(case: Case) -> Kernel:
    found = {kernel.name: kernel for kernel in find_kernels(parse_module(SourceFile(case.path.name, case.source)))}
    return found["kernel"]


def text_of(kernel: Kernel) -> str:
    return "".join(kernel.module.source.lines()[kernel.span.line - 1 : kernel.span.end_line])


@pytest.mark.parametrize("case", CASES, ids=name)
def test_the_text(case, request):
    text = text_of(written_out(kernel_of(case)))
    if request.config.getoption("--update-golden"):
        write(case, text)
    assert text == read(case.path).output, "run pytest tests/inline --update-golden and read the diff"


@pytest.mark.parametrize("case", CASES, ids=name)
def test_writing_out_again_changes_nothing(case):
    kernel = written_out(kernel_of(case))
    again = SourceFile(case.path.name, kernel.module.source.text)
    (last,) = [k for k in find_kernels(parse_module(again)) if k.name == "kernel"]
    assert written_out(last) is last


def words(line):
    """What a line speaks of. Names lose the numbers that they were given; a flag is set where a return may follow."""
    return set(re.findall(r"[A-Za-z]+(?:_[A-Za-z]+)*", line.replace("active", "if return")))


@pytest.mark.parametrize("case", CASES, ids=name)
def test_every_statement_has_its_place_in_the_file(case):
    kernel = written_out(kernel_of(case))
    source, lines = kernel.module.source, case.source.splitlines()
    for node in ast.walk(kernel.node):
        if isinstance(node, ast.stmt) and node is not kernel.node:
            place = source.origin(Span.of(node)).span
            assert place.end_line <= len(lines), ast.unparse(node)
            written = words(ast.unparse(node))
            given = SourceFile("", case.source).segment(place) in ast.unparse(node)
            assert given or words(lines[place.line - 1]) & (written | {"return"}), ast.unparse(node)


@pytest.mark.parametrize("case", CASES, ids=name)
def test_the_analyses_follow_it_and_meet_no_helper_with_a_dot(case):
    facts = analyze(written_out(kernel_of(case)))
    assert facts.dots
    assert not [event for event in (*facts.dots, *facts.loads, *facts.stores) if event.helpers]
    assert all(not helpers for _, _, helpers in facts.program_ids)


@pytest.mark.triton
@pytest.mark.parametrize("case", CASES, ids=name)
def test_the_numbers_are_those_of_the_calls(case, tmp_path):
    kernel = kernel_of(case)
    results = [run(one, case, tmp_path / f"{which}.py") for which, one in enumerate((kernel, written_out(kernel)))]
    for array, expected in results[0].items():
        assert (results[1][array] == expected).all(), array
    assert any(array.any() for array in results[0].values())


@pytest.mark.triton
@pytest.mark.parametrize("case", CASES, ids=name)
def test_triton_compiles_it(case, tmp_path, monkeypatch):
    """Types agree wherever a variable is carried around a loop or out of a branch, and constants are constants."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")  # unset, newer releases warn
    kernel, launch = written_out(kernel_of(case)), launch_of(case)
    signature = {}
    for param in kernel.params:
        value = launch["args"].get(param.name)
        kinds = {"*fp32": param.name in pointers(kernel), "fp32": isinstance(value, float), "i32": True}
        signature[param.name] = "constexpr" if param.constexpr else next(kind for kind, it_is in kinds.items() if it_is)
    defaults = {p.name: ast.literal_eval(p.default) for p in kernel.params if p.constexpr and p.default}
    source = ASTSource(loaded(kernel, tmp_path / "0.py"), signature, constexprs=defaults | launch["constexprs"])
    assert "ptx" in triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm


def launch_of(case: Case):
    return ast.literal_eval(re.search(r"^# launch: (.*)$", case.source, re.MULTILINE)[1])


def pointers(kernel: Kernel):
    names = [param.name for param in kernel.params]
    return [name for name in names if name.endswith("_ptr") or ("Q" in names and name in ("Q", "K", "V", "Out"))]


def loaded(kernel: Kernel, path: Path):
    """The kernel, imported from a module of its own."""
    path.write_text(cut(kernel).text(jitted(kernel.module, kernel.node)))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def run(kernel: Kernel, case: Case, path: Path):
    """Every array after one launch on random numbers, the same for every caller."""
    import numpy as np

    import tlx

    launch = launch_of(case)
    rng = np.random.default_rng(0)
    arrays, arguments = {}, []
    for param, value in launch["args"].items():
        if param in pointers(kernel):
            arrays[param] = rng.standard_normal(value).astype(np.float32)
        arguments.append(arrays.get(param, value))
    report = tlx.sim.run(loaded(kernel, path), tuple(launch["grid"]), tuple(arguments), launch["constexprs"])
    report.raise_for_findings()
    return arrays
