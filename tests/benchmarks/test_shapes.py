"""The launches that the corpus is timed on, and what is kept of a run that was cut short. No GPU."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import ran, shapes
from benchmarks.kernels import Kernel, kernels, names
from tests.verify.samples import CONTRACT
from tlxify.bench.report import Report, Row, row_of
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
    return Kernel(name, SimpleNamespace(module_text=text, contract=CONTRACT), None)


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


SPREAD = {"median": 1.0, "low": 0.9, "high": 1.1}
ABOUT = {"device": "H200", "torch": "2.9", "triton": "3.5", "rounds": 9}


def timed(kernel, launch, made="m", **more):
    return {"kernel": kernel, "launch": launch, "made": made, "ms": {"source": SPREAD, "converted": SPREAD}, **more}


def test_rows_with_times_of_what_has_not_changed_are_kept():
    without_made = {name: value for name, value in timed("a", "old").items() if name != "made"}
    late = {"kernel": "a", "launch": "late", "made": "m", "ms": {}, "failure": "no time left of 60 seconds"}
    wrong = timed("a", "wrong", failure="the results differ")
    known = shapes.kept({**ABOUT, "rows": [timed("a", "1"), without_made, late, wrong, timed("b", "1")]}, ABOUT)
    assert {*known} == {("a", "1", "m"), ("a", "old", ""), ("b", "1", "m")}
    wanted = [("a", "late", "m"), ("a", "1", "m"), ("a", "old", "m"), ("b", "1", "another")]
    lines = shapes.merged(wanted, known, [timed("a", "late", flops=1.0)], others=False)
    assert [(line["launch"], shapes.timed(line)) for line in lines] == [
        ("late", True),
        ("1", True),
        ("old", False),
        ("1", False),
    ]
    assert lines[0]["flops"] == 1.0
    assert lines[3]["failure"] == "not measured"


def test_what_was_measured_now_takes_the_place_of_what_is_known():
    known = shapes.kept({**ABOUT, "rows": [timed("a", "1", flops=1.0)]}, ABOUT)
    (line,) = shapes.merged([("a", "1", "m")], known, [timed("a", "1", flops=2.0)], others=False)
    assert line["flops"] == 2.0


def test_rows_of_kernels_that_were_not_asked_for_stay_and_of_those_that_are_gone_do_not():
    known = shapes.kept({**ABOUT, "rows": [timed("c", "1"), timed("a", "gone"), timed("b", "1")]}, ABOUT)
    wanted = [("a", "1", "m")]
    lines = shapes.merged(wanted, known, [timed("a", "1")], others=True)
    assert [(line["kernel"], line["launch"]) for line in lines] == [("a", "1"), ("b", "1"), ("c", "1")]
    assert len(shapes.merged(wanted, known, [timed("a", "1")], others=False)) == 1


@pytest.mark.parametrize(
    "other", [{"device": "B200"}, {"torch": "3"}, {"triton": "3.6"}, {"rounds": 3}, {"device": ""}]
)
def test_times_of_another_machine_are_not_kept(other):
    assert shapes.kept({**ABOUT, "rows": [timed("a", "1")]}, {**ABOUT, **other}) == {}
    assert shapes.kept({}, ABOUT) == {}


@pytest.mark.triton
def test_a_run_that_is_cut_short_is_continued(tmp_path, monkeypatch, capsys):
    (matmul,) = kernels(["gemm/matmul"])
    asked = []

    def bench(measured, **options):
        launches = [(each.conversion.kernel, launch) for each in measured for launch in each.titles()]
        asked.append(len(launches))
        told = [row_of(timed(*launch)) for launch in launches]
        for number in range(1, len(told)):
            told[number] = Row(*launches[number], failure="no time left")
        return Report(tuple(told), rounds=options["rounds"], ceilings={"gbps": 4.0} if len(asked) == 1 else {})

    monkeypatch.setattr(shapes, "kernels", lambda *what: [matmul])
    monkeypatch.setattr(shapes, "bench", bench)
    monkeypatch.setattr(shapes, "warm", lambda each, limits: None)
    monkeypatch.setattr(shapes, "facts_of", lambda *what: None)
    monkeypatch.setattr(shapes, "told", lambda row: row.launch)
    monkeypatch.setattr(shapes, "machine", lambda: {name: ABOUT[name] for name in ("device", "torch", "triton")})
    path = tmp_path / "report.json"
    monkeypatch.setattr("sys.argv", ["shapes", "--json", str(path)])
    assert [shapes.main() for _ in range(5)] == [1, 1, 1, 0, 0]
    assert asked == [4, 3, 2, 1]
    assert "3 of 4 launches have no times" in capsys.readouterr().out
    report = json.loads(path.read_text())
    assert {name: report[name] for name in ABOUT} == ABOUT
    assert report["ceilings"] == {"gbps": 4.0}
    assert all(map(shapes.timed, report["rows"]))
    assert [line["made"] for line in report["rows"]] == [matmul.made] * 4


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
