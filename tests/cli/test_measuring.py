"""`capture`, `profile` and `bench` at the command line: what they print, and their exit status."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import click
import pytest

from tlxify.bench.figures import Spread
from tlxify.bench.report import Report, Row
from tlxify.bench.run import NoGpu
from tlxify.cli import main

CORPUS = Path(__file__).parents[2] / "corpus" / "gemm" / "matmul.py"


@pytest.fixture
def measured(monkeypatch):
    """`bench` without a GPU: the report it is to find, and what it was asked to measure."""
    asked = []

    def answer(report):
        def bench(kernels, **options):
            asked.append((kernels, options))
            if isinstance(report, Exception):
                raise report
            return report

        monkeypatch.setattr("tlxify.bench.run.bench", bench)
        return asked

    return answer


def report(speedup=1.2, **changes):
    ms = {"source": Spread(speedup, 1.1, 1.3), "converted": Spread(1.0, 0.9, 1.1)}
    ratio = {"source": Spread(speedup, speedup, speedup)}
    return Report((Row("matmul_kernel", "M=1", ms, ratio, flops=1e12, bytes=1e9, path="specialized", **changes),))


def test_bench_writes_report_and_chart(run, measured, tmp_path):
    asked = measured(report())
    result = run("bench", CORPUS, "-o", tmp_path / "r.json", "--chart", tmp_path / "c.svg", "--shapes", "M=512,K=64")
    assert result.exit_code == 0, result.output
    assert "1.200" in result.stdout
    assert json.loads((tmp_path / "r.json").read_text())["rows"][0]["launch"] == "M=1"
    assert (tmp_path / "c.svg").read_text().startswith("<svg")
    ((kernel,), options) = asked[0]
    assert kernel.titles() == ("M=512, N=8192, K=64, ACTIVATION=''; fp16",)
    assert options["rounds"] == 15


def test_bench_against_an_older_report_fails_where_the_ratio_fell(run, measured, tmp_path):
    old = tmp_path / "old.json"
    old.write_text(json.dumps(report().data()))
    measured(report(1.19))
    assert run("bench", CORPUS, "--against", old).exit_code == 0
    measured(report(1.1))
    result = run("bench", CORPUS, "--against", old)
    assert (result.exit_code, "slower" in result.stdout) == (1, True)
    told = json.loads(run("bench", CORPUS, "--against", old, "--json").stdout)
    assert told["changes"][0]["state"] == "slower"


def test_bench_tells_failures_from_a_missing_gpu(run, measured, tmp_path):
    measured(report(failure="a hang"))
    assert run("bench", CORPUS).exit_code == 1
    measured(NoGpu("torch sees no GPU"))
    result = run("bench", CORPUS)
    assert (result.exit_code, "torch sees no GPU" in result.stderr) == (2, True)
    (tmp_path / "bad.json").write_text("{}")
    assert run("bench", CORPUS, "--against", tmp_path / "bad.json").exit_code == 2
    assert run("bench", CORPUS, "--shapes", "Q=3").exit_code == 2


def record(path, *launches):
    head = {"kind": "capture", "format": 1}
    path.write_text("".join(json.dumps(line) + "\n" for line in (head, *launches)))
    return path


def launch(k=64, m=128):
    numbers = {"M": m, "N": 128, "K": k, "stride_am": k, "stride_ak": 1, "stride_bk": 128, "stride_bn": 1}
    numbers |= {"stride_cm": 128, "stride_cn": 1}
    constants = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8, "ACTIVATION": ""}
    shapes = {"a_ptr": [m, k], "b_ptr": [k, 128], "c_ptr": [m, 128]}
    tensors = [
        {"name": name, "tensor": {"dtype": "fp16", "shape": shape, "strides": [shape[1], 1], "alignment": 16}}
        for name, shape in shapes.items()
    ]
    arguments = [*tensors, *({"name": name, "value": value} for name, value in numbers.items())]
    arguments += [{"name": name, "value": value, "constexpr": True} for name, value in constants.items()]
    kernel = {"name": "matmul_kernel", "module": "matmul", "file": str(CORPUS), "line": 1, "hash": "0"}
    told = {"kernel": kernel, "arguments": arguments, "grid": [1], "options": {"num_warps": 8, "num_stages": 4}}
    return {"kind": "launch", **told, "overlaps": [], "via": "triton", "launches": 5, "us": [20.0]}


def test_bench_measures_captured_launches_as_they_were(run, measured, tmp_path):
    asked = measured(report())
    run("bench", CORPUS, "--captured", record(tmp_path / "r.jsonl", launch(), launch(72)))
    (kernel,), _ = asked[0]
    values = [dict(case.values) for case in kernel.cases]
    assert [each["K"] for each in values] == [each["stride_am"] for each in values] == [64, 72], "one child for both"


@pytest.mark.triton
def test_profile_names_fallbacks_that_padding_avoids(run, tmp_path):
    good = run("profile", record(tmp_path / "r.jsonl", launch()))
    assert (good.exit_code, "matmul_kernel" in good.stdout, "converted" in good.stdout) == (0, True, True)
    bad = run("profile", record(tmp_path / "s.jsonl", launch(), launch(k=250)))
    assert bad.exit_code == 1
    assert "pad the rows of a_ptr from 250 to 256 elements" in bad.stdout
    told = json.loads(run("profile", tmp_path / "s.jsonl", "--json").stdout)
    assert told["kernels"][0]["launches"] == 10


@pytest.mark.triton
def test_verify_takes_captured_launches(run, tmp_path):
    result = run("verify", CORPUS, "--captured", record(tmp_path / "r.jsonl", launch()), "--upto", "simulated")
    assert result.exit_code == 0, result.output
    assert "of 1 captured ones" in result.stdout
    other = record(tmp_path / "none.jsonl")
    result = run("verify", CORPUS, "--captured", other, "--upto", "simulated")
    assert (result.exit_code, "no captured launch" in result.stdout) == (1, True)


@pytest.mark.triton
def test_the_line_that_repeats_a_captured_launch_is_a_command(run, tmp_path):
    """It was a call in Python. What its numbers mean, the record alone tells: here that the elements are bf16."""
    stored = "    c = accumulator.to(c_ptr.dtype.element_ty)\n"
    fault = f"    if c_ptr.dtype.element_ty == tl.bfloat16:\n        accumulator += 1\n{stored}"
    wrong = tmp_path / "wrong.py"
    wrong.write_text(CORPUS.read_text().replace(stored, fault))
    narrow = json.loads(json.dumps(launch(72)).replace('"fp16"', '"bf16"'))
    captured = record(tmp_path / "r.jsonl", launch(), narrow)
    words = ["verify", CORPUS, wrong, "--kernel", "matmul_kernel", "--captured", captured, "--upto", "simulated"]
    result = run(*words)
    assert (result.exit_code, "mismatch" in result.stdout) == (1, True)
    (line,) = {line.partition("replay: ")[2] for line in result.stdout.splitlines() if "replay: " in line}
    program, *again = shlex.split(line)
    assert program == "tlxify"
    assert again[-1].startswith("{")
    repeated = run(*again)
    assert (repeated.exit_code, "mismatch" in repeated.stdout, line in repeated.stdout) == (1, True, True)
    other = run(*again[:-1], json.dumps({"values": {"M": 1}}))
    assert (other.exit_code, "is the one that is to be repeated" in other.stdout) == (1, True)


def test_capture_ends_as_its_command_did(run, tmp_path):
    output = tmp_path / "x.jsonl"
    result = run("capture", "-o", output, "--", sys.executable, "-c", "raise SystemExit(3)")
    assert (result.exit_code, "status 3" in result.stderr, "no launch" in result.stderr) == (1, True, True)
    assert output.exists()
    missing = run("capture", "-o", output, "--", "no-such-command-at-all")
    assert missing.exit_code == 2
    assert run("profile", CORPUS).exit_code == 2, "it is no record"


def test_the_page_names_options_that_exist():
    page = (CORPUS.parents[2] / "docs" / "measuring.md").read_text()
    sections = dict(re.findall(r"## `tlxify (\w+)`\n(.*?)(?=\n## |\Z)", page, flags=re.DOTALL))
    assert set(sections) == {"capture", "profile", "bench"}
    for name, text in sections.items():
        command = main.get_command(click.Context(main), name)
        known = {option for parameter in command.params for option in parameter.opts}
        named = set(re.findall(r"^\| `(-[-\w]+)", text, flags=re.MULTILINE))
        assert named <= known, name
        assert named or name == "profile"
