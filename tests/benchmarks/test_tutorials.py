"""The comparison with other TLX compilers, on a tutorial of our own: no GPU, and no compiler but ours."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

import torch
from triton.runtime.driver import driver

import tlx
from benchmarks.tutorials import build, check, child, compare, host, launches, record, run, timing
from benchmarks.tutorials.cases import Case

pytestmark = [
    pytest.mark.triton,
    pytest.mark.torch,
    pytest.mark.skipif(not hasattr(tlx, "install"), reason="tlx.install is not there yet"),
]

FOLDER = Path(__file__).parent
#: K = 1000 is a multiple of 8 only, so that it needs other machine code
PROBLEMS = ((256, 256, 512), (512, 128, 1024), (256, 256, 1000))
CASE = Case("sample", "sample_tutorial.py", "matmul", "product", "gemm", {"BN": 128}, PROBLEMS)


@pytest.fixture(scope="module")
def found():
    return record.launches(CASE, FOLDER)


@pytest.fixture(scope="module")
def bundle(found, tmp_path_factory):
    """The folder of one compiler, made by the command that makes them all."""
    folder = tmp_path_factory.mktemp("bundle")
    (folder / "launches.json").write_text(json.dumps({"launches": [asdict(launch) for launch in found]}))
    words = ["--ours", "--tutorials", FOLDER, "--launches", folder / "launches.json", "--out", folder / "ours"]
    command = [sys.executable, "-m", "benchmarks.tutorials.build", *map(str, words)]
    subprocess.run(command, check=True, cwd=FOLDER.parents[1])
    return folder


@pytest.fixture(scope="module")
def compiled(found):
    before = driver._active
    tlx.install()
    try:
        yield build.compile_launch(build.load(FOLDER / CASE.file), asdict(found[0]))
    finally:
        tlx.uninstall()
        driver._active = before  # loading a tutorial puts one without a GPU there, for a process of its own


def test_problems_of_like_arguments_share_a_launch(found):
    assert [launch.case for launch in found] == ["sample", "sample.1"]
    assert [launch.problems for launch in found] == [PROBLEMS[:2], PROBLEMS[2:]]
    assert "K" in found[0].divisible
    assert "K" not in found[1].divisible


def test_a_launch_says_what_the_host_code_passed(found):
    first = found[0]
    assert first.signature["a_desc"] == "tensordesc<fp16[64, 64]>"
    assert first.signature["b_desc"] == "tensordesc<fp16[64, 128]>"
    assert (first.signature["c_ptr"], first.signature["M"]) == ("*fp16", "i32")
    assert first.constexprs == {"BM": 64, "BN": 128, "BK": 64}
    assert first.options == {"num_warps": 4, "num_stages": 1}


@pytest.mark.parametrize("config", [{"BN": 32}, {"BM": 64}], ids=["none fits", "both fit"])
def test_exactly_one_configuration_must_fit(config):
    with record.without_gpu():
        module = host.load(FOLDER / CASE.file)
        with pytest.raises(LookupError, match=f"{0 if 'BN' in config else 2} of 2 configurations fit"):
            host.pick(module.product, replace(CASE, config=config))
    tlx.uninstall()


def test_machine_code_is_read_loop_by_loop(bundle):
    code = compare.read(bundle / "ours" / "sample")
    (loop,) = code.dot_loops
    # 64 x 128 x 64 is four products of depth 16, with its two loads in the same loop.
    assert loop.counts["HGMMA"] == 4
    assert loop.counts["UTMALDG"] == 2
    assert (code.warps, code.stack, code.spills) == (4, 0, 0)
    descriptor = [".param .align 64 .b8 [128]", ".param .u32", ".param .u32", ".param .u64", ".param .u64"]
    assert list(code.parameters[:5]) == descriptor


def test_worse_code_is_named(bundle):
    code = compare.read(bundle / "ours" / "sample")
    assert compare.differences(code, code) == []
    (loop,) = code.dot_loops
    worse = replace(code, spills=3, stack=8, dot_loops=(replace(loop, size=2 * loop.size),), parameters=("u32",))
    assert compare.differences(worse, code) == [
        "spills 3 (0)",
        "parameters differ",
        f"dot_loops {2 * loop.size} instructions ({loop.size})",
    ]


def test_a_failed_compilation_costs_one_row(found, tmp_path):
    broken = replace(found[0], case="broken", signature={**found[0].signature, "M": "*nonsense"})
    (tmp_path / "launches.json").write_text(json.dumps({"launches": [asdict(broken), asdict(found[0])]}))
    words = ["--ours", "--tutorials", FOLDER, "--launches", tmp_path / "launches.json", "--out", tmp_path / "ours"]
    command = [sys.executable, "-m", "benchmarks.tutorials.build", *map(str, words)]
    subprocess.run(command, check=True, cwd=FOLDER.parents[1])
    assert (tmp_path / "ours" / "broken.err").read_text()
    assert not (tmp_path / "ours" / "broken.cubin").exists()
    assert (tmp_path / "ours" / "sample.cubin").exists()


def test_other_machine_code_takes_the_place_of_ours(compiled, bundle, tmp_path):
    for ending in ("cubin", "ptx", "json"):
        shutil.copy(bundle / "ours" / f"sample.{ending}", tmp_path / f"theirs.{ending}")
    facts = json.loads((tmp_path / "theirs.json").read_text())
    facts |= {"name": "theirs", "shared": facts["shared"] + 1024, "num_warps": 8}
    (tmp_path / "theirs.json").write_text(json.dumps(facts))
    (tmp_path / "theirs.cubin").write_bytes(b"theirs")
    other = launches.transplanted(compiled, tmp_path / "theirs")
    assert (other.name, other.kernel) == ("theirs", b"theirs")
    assert (other.metadata.shared, other.metadata.num_warps) == (facts["shared"], 8)
    assert other.packed_metadata == (8, 1, facts["shared"])
    assert compiled.kernel != b"theirs"
    assert compiled.metadata.num_warps == 4


def test_machine_code_with_other_parameters_is_refused(compiled, bundle, tmp_path):
    for ending in ("cubin", "json"):
        shutil.copy(bundle / "ours" / f"sample.{ending}", tmp_path / f"theirs.{ending}")
    text = (bundle / "ours" / "sample.ptx").read_text()
    (tmp_path / "theirs.ptx").write_text(text.replace(".param .u64 .ptr .global", ".param .u32", 1))
    with pytest.raises(ValueError, match="takes"):
        launches.transplanted(compiled, tmp_path / "theirs")


def test_caught_launches_can_be_run_again_by_another(monkeypatch):
    ran = []
    monkeypatch.setattr(launches.Launch, "__call__", lambda launch: ran.append(launch))
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    with record.without_gpu():
        module = host.load(FOLDER / CASE.file)
        host.pick(module.product, CASE)
        tensors = host.operands(CASE, PROBLEMS[0], "meta")
        with launches.caught() as first:
            host.call(module, CASE, tensors)
        with launches.caught(lambda kernel: "another") as second:
            host.call(module, CASE, tensors)
    tlx.uninstall()
    assert ran == first + second
    assert (first[0].grid, first[0].arguments[3:6]) == ((4, 2, 1), PROBLEMS[0])
    assert first[0].kernel.metadata.name == "product"
    assert second[0].kernel == "another"
    assert first[0].through("another").grid == second[0].grid


def test_right_is_within_rounding():
    expected = torch.randn((512, 512), generator=torch.Generator().manual_seed(0)) * 30
    assert check.error(expected.half(), expected).right


@pytest.mark.parametrize("fault", ["tile", "element", "nan"])
def test_wrong_results_are_seen(fault):
    expected = torch.randn((512, 512), generator=torch.Generator().manual_seed(0)) * 30
    out = expected.half()
    if fault == "tile":
        out[:64, :64] *= 1.02
    elif fault == "element":
        out[17, 5] += 2
    else:
        out[17, 5] = float("nan")
    assert not check.error(out, expected).right


def test_memory_nobody_writes_shows():
    with check.poisoned():
        assert torch.empty((16, 16), dtype=torch.float16).isnan().all()
    assert not torch.are_deterministic_algorithms_enabled()


def test_the_reference_honours_the_order_of_operands():
    case = replace(CASE, column_major="B")
    a, b = host.operands(case, (8, 12, 16), "cpu")
    assert (a.stride(), b.stride()) == ((16, 1), (1, 16))
    assert torch.allclose(check.reference(case, (a, b)), (a.double() @ b.double()).float(), atol=1e-4)
    attention = replace(CASE, kind="attention")
    tensors = host.operands(attention, (2, 3, 32, 16), "cpu")
    expected = torch.nn.functional.scaled_dot_product_attention(*(tensor.float() for tensor in tensors))
    assert torch.allclose(check.reference(attention, tensors), expected, atol=1e-5)


def test_speed_is_the_other_time_over_ours():
    speed = timing.ratio([1.0, 1.0, 2.0], [1.1, 1.2, 2.2])
    assert speed["median"] == pytest.approx(1.1)
    assert speed["interval90"] == [pytest.approx(1.1), pytest.approx(1.2)]


def row(speed, right=True):
    checked = {"right": right, "repeats": True, "relative": 0.0}
    return {
        "case": "sample",
        "problem": [int(1000 * speed)],
        "check": {"ours": checked, "fork": checked},
        "ms": {"ours": 1.0, "fork": speed},
        "speed": {"fork": {"median": speed, "interval90": [speed, speed]}},
        "refused": {},
    }


@pytest.mark.parametrize(
    ("speeds", "reached"),
    [((1.0, 0.97), True), ((1.1, 0.94), False), ((0.97, 0.97), False)],
    ids=["good", "one too slow", "mean too low"],
)
def test_the_goal_is_judged_on_each_and_on_the_mean(speeds, reached):
    found = run.summary([row(speed) for speed in speeds], ["fork", "absent"])
    assert found["fork"]["reached"] is reached
    assert found["fork"]["least"] == min(speeds)
    assert "absent" not in found


def test_wrong_and_failed_rows_have_no_speed():
    rows = [row(1.0), row(9.0, right=False), {"case": "sample", "failed": "exit -14"}]
    found = run.summary(rows, ["fork"])
    assert (found["rows"], found["measured"], found["ours right"]) == (3, 2, 1)
    assert found["fork"]["compared"] == 1
    assert "WRONG" in run.line(rows[1])
    assert "FAILED exit -14" in run.line(rows[2])


def test_a_fault_among_rivals_is_looked_at_again_with_one(monkeypatch):
    asked = []

    def attempt(case, options, rivals, lock, end):
        asked.append(rivals)
        return [row(1.0)] if len(rivals) == 1 else [row(1.0), {"case": "sample", "failed": "exit 1"}]

    monkeypatch.setattr(run, "attempt", attempt)
    rows = run.run(CASE, None, ["fork", "utlx"], Path("lock"), 0.0)
    assert asked == [["fork", "utlx"], ["fork"]]
    assert rows == [{"case": "sample", "failed": "exit 1", "among": ["fork", "utlx"]}, row(1.0)]
    assert run.run(CASE, None, ["fork"], Path("lock"), 0.0) == [row(1.0)]


def test_a_process_understands_what_it_is_told(monkeypatch):
    told = []

    def start(command, **options):
        told.extend(command)
        output = json.dumps(row(1.0)) + "\nnot a row\n"
        return subprocess.CompletedProcess(command, -14, stdout=output, stderr="the log")

    monkeypatch.setattr(run.subprocess, "run", start)
    options = SimpleNamespace(bundle=Path("bundle"), rounds=5, limit=30)
    rows = run.attempt(CASE, options, ["fork", "utlx"], Path("lock"), time.monotonic() + 60)
    assert rows == [row(1.0), {"case": "sample", "failed": "exit -14", "log": "the log"}]
    assert told[:3] == [sys.executable, "-m", "benchmarks.tutorials.child"]
    heard = child.arguments().parse_args(told[3:])
    assert (heard.case, heard.rounds, heard.limit, heard.lock) == ("sample", 5, 30, Path("lock"))
    assert heard.folders == ["fork=bundle/fork", "utlx=bundle/utlx"]
    assert run.attempt(CASE, options, [], Path("lock"), time.monotonic()) == [
        {"case": "sample", "failed": "no time left"}
    ]
