"""The launches that the corpus is timed on, and what is kept of a run that was cut short. No GPU."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import ran, shapes
from benchmarks.kernels import Kernel, kernels, names
from tlxify.verdict import Evidence, Rung, Verdict


@pytest.mark.triton
@pytest.mark.parametrize("name", shapes.SHAPES)
def test_named_launches_take_the_specialized_kernel(name):
    from tlxify.verify.compiled import dispatched
    from tlxify.verify.loading import load

    for kernel in kernels([name]):
        loaded = load(kernel.conversion)
        for case in shapes.cases_of(kernel):
            dispatch, _ = dispatched(loaded, case)
            assert (dispatch.path, dispatch.code) == ("specialized", ""), case
            config = shapes.config_text(case.launch_config(kernel.conversion.contract))
            facts = shapes.facts_of(kernel, loaded, case, config)
            assert facts is not None
            assert facts["stage_bytes"] > 0


def test_fp8_is_where_it_is_said_to_be():
    (kernel,) = kernels(["quantized/fp8_blocks"])
    assert any(spec.dtypes[shapes.FP8 : shapes.FP8 + 1] == ("fp8e4nv",) for spec in kernel.conversion.contract.tensors)


def test_a_name_that_is_none_is_said():
    assert "gemm/matmul" in names()
    with pytest.raises(SystemExit, match="gemm/nothing"):
        kernels(["gemm/nothing"])


def kernel(name, text="x"):
    return Kernel(name, SimpleNamespace(module_text=text, contract=()), None)


def test_what_is_unknown_comes_first_and_what_ran_is_kept():
    found = [kernel(name) for name in ("ran", "changed", "stopped", "new", "long")]
    known = {
        "ran": {"rung": "ran", "made": found[0].made},
        "changed": {"rung": "ran", "made": "another"},
        "stopped": {"rung": "compiled", "made": found[2].made},
        "long": {"rung": "ran", "made": "another", "seconds": 100.0},
    }
    assert [each.name for each in ran.order(found, known, again=False)] == ["new", "stopped", "long", "changed"]
    assert [each.name for each in ran.order(found, known, again=True)][-1] == "ran"


@pytest.mark.torch
def test_the_report_is_continued(tmp_path, monkeypatch):
    path = tmp_path / "ran.json"
    evidence = (
        Evidence(Rung.RAN, True, "launches", "3 launches"),
        Evidence(Rung.RAN, True, "numerics", "all alike"),
        Evidence(Rung.RAN, False, "hang", "it hangs"),
    )
    verdicts = {"a": Verdict("a", Rung.COMPILED, evidence), "b": Verdict("b", Rung.RAN, evidence[:2])}

    def verify(conversion, **options):
        if conversion.module_text == "late":
            run.deadline = 0.0
        options["progress"]("step")
        return verdicts[conversion.module_text]

    monkeypatch.setattr(ran, "verify", verify)
    run = ran.Run(path, float("inf"))
    run.work(kernel("gemm/a", "a"))
    run.work(kernel("gemm/b", "b"))
    run.work(kernel("gemm/late", "late"))
    assert run.left == ["gemm/late"]
    first, second = json.loads(path.read_text())["kernels"]
    assert (first["rung"], first["stopped"]) == ("compiled", ["hang: it hangs"])
    assert (second["rung"], second["ran"]) == ("ran", "3 launches; all alike")
    assert "stopped" not in second
    assert set(ran.Run(path, 0.0).known) == {"gemm/a", "gemm/b"}


def test_choices_are_judged_by_what_the_policy_may_know(tmp_path, capsys, monkeypatch):
    from benchmarks import choices

    facts = {"operands": 2, "last_columns": 64, "stage_bytes": 16384, "stays": False, "dots": 1}
    small, large = {**facts, "rows": 64, "columns": 64}, {**facts, "rows": 128, "columns": 256}

    def line(facts, speedup, path="specialized"):
        return {"kernel": "k", "launch": "M", "path": path, "facts": facts, "speedup": {"source": {"median": speedup}}}

    told = [line(small, 0.9), line(small, 0.93), line(large, 0.9), line(large, 1.2), line(small, 1.5, "original")]
    path = tmp_path / "report.json"
    path.write_text(json.dumps({"rows": told}))
    monkeypatch.setattr("sys.argv", ["choices", str(path)])
    assert choices.main() == 1
    said = capsys.readouterr().out
    assert "WRONG wants original, the table runs the conversion (no row)" in said
    assert "      wants both, the table runs the conversion (no row)" in said
    assert "1.5" not in said


def test_no_benchmark_hides_a_package_from_the_others():
    """A script's own folder comes first where it is run by its path."""
    root = Path(__file__).parents[2]
    folders = {path.name for path in root.iterdir() if path.is_dir()}
    assert not folders & {path.stem for path in (root / "benchmarks").glob("*.py")}
