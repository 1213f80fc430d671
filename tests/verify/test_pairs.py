"""Two versions of a kernel, plain or TLX, on the same launches."""

from __future__ import annotations

import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from tlxify.cli import main
from tlxify.config import ConfigError
from tlxify.conversion import Conversion
from tlxify.job import paired
from tlxify.verdict import Rung
from tlxify.verify import verify
from tlxify.verify.cases import Case
from tlxify.verify.inputs import edge_cases
from tlxify.verify.simulate import simulate
from tlxify.verify.tally import Tally

pytestmark = pytest.mark.triton

ROOT = Path(__file__).parents[2]
OLD = (ROOT / "corpus" / "gemm" / "matmul.py").read_text()
BY_HAND = (ROOT / "tests" / "tlx" / "kernels" / "gemm_ws.py").read_text()
#: Another hand: other names of tiles, a grid of two axes, rows that must be contiguous, a tuner with two configs.
NEW = '''\
"""The same product, written anew."""

import triton
import triton.language as tl

SLOPE = tl.constexpr(0.01)


@triton.jit
def sloped(x):
    return tl.where(x >= 0, x, SLOPE * x)


@triton.autotune(
    configs=[
        triton.Config({"BM": 64, "BN": 32, "BK": 16}, num_warps=4, num_stages=2),
        triton.Config({"BM": 32, "BN": 64, "BK": 32}, num_warps=8, num_stages=3),
    ],
    key=["M"],
)
@triton.jit
def product(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ACTIVATION: tl.constexpr,
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        depth = start + tl.arange(0, BK)
        a = tl.load(a_ptr + rows[:, None] * stride_am + depth, mask=(rows[:, None] < M) & (depth < K), other=0.0)
        b_mask = (depth[:, None] < K) & (columns < N)
        b = tl.load(b_ptr + depth[:, None] * stride_bk + columns, mask=b_mask, other=0.0)
        acc = tl.dot(a, b, acc)
    if ACTIVATION == "leaky_relu":
        acc = sloped(acc)
    c = acc.to(c_ptr.dtype.element_ty)
    tl.store(c_ptr + rows[:, None] * stride_cm + columns, c, mask=(rows[:, None] < M) & (columns < N))
'''
TABLE = """\
[tool.tlxify.contracts."new.py::gemm_ws"]
a_desc = "descriptor(a_ptr, [BLOCK_M // 2, BLOCK_K])"
b_desc = "descriptor(b_ptr, [BLOCK_K, BLOCK_N])"
STAGES = 3
configs = ["BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, num_warps=4"]
"""


@pytest.fixture
def versions(tmp_path, monkeypatch):
    """Makes a pair of the corpus GEMM and another text."""
    monkeypatch.chdir(tmp_path)
    Path("old.py").write_text(OLD)

    def made(new: str, other: str = "product", table: str = "") -> Conversion:
        Path("new.py").write_text(new)
        Path("pyproject.toml").write_text(table)
        outcome = paired(Path("old.py"), Path("new.py"), "matmul_kernel", other)
        assert not outcome.diagnostics, [item.message for item in outcome.diagnostics]
        (kernel,) = outcome.kernels
        return kernel.conversion

    return made


def few(conversion: Conversion, *names: str) -> list[Case]:
    every = edge_cases(conversion.contract, guarded=False)
    found = [next(case for case in every if case.name.startswith(name)) for name in names if name != "own tiles"]
    found += [case for case in every if case.name == "own tiles" and case.name in names]
    return [replace(case, schedules=("late", 0)) for case in found]


def tried(conversion: Conversion, *names: str) -> Tally:
    return simulate(conversion, cases=few(conversion, *names), enough=1)


def test_a_plain_version_with_names_of_its_own_agrees(versions):
    conversion = versions(NEW)
    contract = conversion.contract
    assert contract.contracted == ("K", "BK")
    assert contract.tiled == (("M", "BM"), ("N", "BN"))
    assert [dict(config.values)["BK"] for config in contract.configs] == [16, 32]
    assert conversion.version.grid == ("cdiv(M, BM)", "cdiv(N, BN)")
    assert not conversion.version.uses_tlx
    tally = tried(conversion, "1 trips", "5 trips", "sizes", "ragged", "contiguous", "ACTIVATION = 'leaky", "own tiles")
    assert not tally.findings
    assert not tally.source_fails
    assert tally.runs == tally.compared == 16, "there is nothing asynchronous in it: its programs come in both orders"


def test_what_the_new_version_cannot_be_told_is_not_tried(versions):
    contract = versions(NEW).contract
    # It takes no stride along a row: rows are contiguous in every launch of it.
    assert [spec.layouts for spec in contract.tensors] == [("rows", "padded")] * 3
    layouts = {layout for case in edge_cases(contract, guarded=False) for _, layout in case.layouts}
    assert layouts == {"padded"}
    assert not any(case.zeroed for case in edge_cases(contract, guarded=False))


WRONG = {
    "loses a tile": ("range(0, K, BK)", "range(0, K - (K > 70) * BK, BK)"),
    "takes half a tile of rows": ("tl.program_id(0) * BM", "tl.program_id(0) * (BM // 2)"),
    "skips the last rows": ("c, mask=(rows[:, None] < M)", "c, mask=(rows[:, None] < M - 1)"),
    "swaps the strides": ("rows[:, None] * stride_cm + columns, c", "rows[:, None] * stride_am + columns, c"),
    "wrong in its second config": ("    if ACTIVATION", "    if BK == 32:\n        acc += 0.05\n    if ACTIVATION"),
    "rounds too early": ("acc = tl.dot(a, b, acc)", "acc = tl.dot(a, b, acc).to(tl.bfloat16).to(tl.float32)"),
}  # fmt: skip


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_version_is_caught_in_its_own_file_and_line(versions, fault):
    old, new = WRONG[fault]
    assert old in NEW
    tally = tried(versions(NEW.replace(old, new)), "5 trips", "sizes", "own tiles", "dtype 1")
    (finding,) = tally.findings.values()
    assert finding.code in ("mismatch", "canary", "global-out-of-bounds")
    assert finding.file == "new.py"
    assert finding.line in (0, NEW.splitlines().index("def product("), NEW[: NEW.index("tl.store")].count("\n") + 1)


AXPY = """\
import triton
import triton.language as tl


@triton.jit
def axpy(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = tl.load(y_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x - 2.0 * y, mask=at < n)
"""


def test_swapped_inputs_of_equal_shape_are_caught(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("old.py").write_text(AXPY)
    for new, right in (
        (AXPY.replace("x - 2.0 * y", "-2.0 * y + x"), True),
        (AXPY.replace("x - 2.0 * y", "y - 2.0 * x"), False),
    ):
        Path("new.py").write_text(new)
        (kernel,) = paired(Path("old.py"), Path("new.py"), "axpy", None).kernels
        findings = list(simulate(kernel.conversion, enough=1).findings.values())
        assert [finding.code for finding in findings] == ([] if right else ["mismatch"])


def test_what_lies_behind_a_tensor_is_not_a_versions_to_read(tmp_path, monkeypatch):
    # It throws away what it read there: on a GPU such a load ends the launch, or does not, as memory happens to lie.
    monkeypatch.chdir(tmp_path)
    Path("old.py").write_text(AXPY)
    Path("new.py").write_text(AXPY.replace("y_ptr + at, mask=at < n", "y_ptr + at"))
    (kernel,) = paired(Path("old.py"), Path("new.py"), "axpy", None).kernels
    (finding,) = simulate(kernel.conversion, enough=1).findings.values()
    assert finding.code == "global-out-of-bounds"
    assert finding.line == 9


def test_zero_times_what_lies_between_the_rows_is_not_zero(versions):
    # Rows of B past its end are zero, which hides every number that A has there but NaN and infinity.
    text = NEW.replace(
        "(rows[:, None] < M) & (depth < K)", "(rows[:, None] < M) & (depth < K + (rows[:, None] < M - 1))"
    )
    (finding,) = tried(versions(text), "ragged").findings.values()
    assert (finding.code, "nan" in finding.text) == ("mismatch", True)


def test_the_printed_command_repeats_the_finding(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("old.py").write_text(AXPY)
    Path("new.py").write_text(AXPY.replace("mask=at < n)\n    y", "mask=at < n - 1, other=0.0)\n    y"))
    words = ["verify", "old.py", "new.py", "--kernel", "axpy", "--upto", "simulated"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 1
    (command,) = (line for line in result.output.splitlines() if line.strip().startswith("replay: "))
    assert "n = 1;" in result.output, "one element shows it"
    again = CliRunner().invoke(main, shlex.split(command.strip().removeprefix("replay: tlxify ")))
    assert again.exit_code == 1
    (finding,) = (line for line in result.output.splitlines() if ": mismatch: " in line)
    assert finding in again.output.splitlines()


def test_a_failing_launch_is_made_small_and_can_be_repeated(versions):
    conversion = replace(
        versions(NEW.replace(*WRONG["loses a tile"])), command=("tlxify", "verify", "old.py", "new.py")
    )
    (finding,) = simulate(conversion, cases=few(conversion, "5 trips"), minimal=True).findings.values()
    assert "M = 1, N = 1, K = 71" in finding.detail
    (line,) = (line for line in finding.detail.splitlines() if line.startswith("replay: tlxify verify old.py new.py"))
    replay = re.search(r"--replay '(.*)'$", line)[1]
    (again,) = simulate(conversion, replay=replay).findings.values()
    assert (again.code, again.text) == (finding.code, finding.text)
    assert not simulate(versions(NEW), replay=replay).findings


def test_a_plain_version_is_compiled_and_judged_as_what_it_is(versions):
    from tlxify.verify.compiled import compile_variants

    built = compile_variants(versions(NEW), share=(0, 8))
    assert (built.compiled, built.configs, built.findings) == (1, {0}, [])


def test_the_protocol_of_a_plain_version_holds_at_once(versions):
    (evidence,) = verify(versions(NEW), upto=Rung.PROTOCOL).evidence
    assert evidence.ok
    assert "no barriers" in evidence.text


def test_a_tlx_version_by_hand_agrees_on_every_schedule(versions):
    conversion = versions(BY_HAND, "gemm_ws", TABLE)
    assert conversion.version.uses_tlx
    assert dict(conversion.version.arguments)["STAGES"] == "3"
    tally = tried(conversion, "1 trips", "7 trips", "sizes")
    assert not tally.findings
    assert tally.runs == tally.compared == 6


@pytest.mark.parametrize(
    ("old", "new", "codes"),
    [
        ("tlx.barrier_arrive(empty[(k - 1) % STAGES])", "pass", {"deadlock", "leftover-state"}),
        ("acc = tlx.async_dot_wait(1, acc)", "pass", {"race", "release-before-retire"}),
    ],
)
def test_a_race_in_a_tlx_version_is_named_with_its_line(versions, old, new, codes):
    text = BY_HAND.replace(old, new)
    findings = tried(versions(text, "gemm_ws", TABLE), "7 trips").findings.values()
    assert {finding.code for finding in findings} & codes
    lines = text.splitlines()
    for finding in findings:
        assert finding.file == "new.py"
        assert f"new.py:{finding.line}" in finding.detail
        assert "tlx." in lines[finding.line - 1]


#: The kernel by hand with descriptors that it makes itself: pointers and strides are all that it takes.
SELF_MADE = (
    BY_HAND.replace("a_desc, b_desc, c_ptr,", "a_ptr, b_ptr, c_ptr,")
    .replace("stride_cm, stride_cn,", "stride_am, stride_bk, stride_cm, stride_cn,")
    .replace(
        "    a_ring = ",
        "    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [stride_am, 1], [HALF_M, BLOCK_K])\n"
        "    b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [stride_bk, 1], [BLOCK_K, BLOCK_N])\n"
        "    a_ring = ",
    )
)
#: Nothing is inferred of a TLX kernel: the project says it all.
GIVEN = """\
[tool.tlxify.contracts."old.py::gemm_ws"]
a_ptr = "fp16|bf16[M, K] strides(stride_am, 1) layouts(padded)"
b_ptr = "fp16|bf16[K, N] strides(stride_bk, 1) layouts(padded) dtype_of(a_ptr)"
c_ptr = "out fp16|bf16[M, N] strides(stride_cm, stride_cn)"
M = "size"
N = "size"
K = "size"
stride_am = "stride"
stride_bk = "stride"
stride_cm = "stride"
stride_cn = "stride"
BLOCK_M = "tile"
BLOCK_N = "tile"
BLOCK_K = "tile"
ACTIVATION = "option in {'', 'leaky_relu'}"
grid = "(cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N),)"
trips = "cdiv(K, BLOCK_K)"
tiles = ["M by BLOCK_M", "N by BLOCK_N"]
configs = ["BLOCK_M=64, BLOCK_N=32, BLOCK_K=32, GROUP_M=2, STAGES=2, num_stages=2"]
"""


def test_both_versions_may_be_tlx(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("old.py").write_text(SELF_MADE)
    Path("pyproject.toml").write_text(GIVEN)
    for new, codes in ((SELF_MADE, set()), (SELF_MADE.replace("0.01 * acc", "0.02 * acc"), {"mismatch"})):
        Path("new.py").write_text(new)
        outcome = paired(Path("old.py"), Path("new.py"), "gemm_ws", None)
        assert not outcome.diagnostics, [item.message for item in outcome.diagnostics]
        (kernel,) = outcome.kernels
        assert kernel.contract.origin == "given"
        tally = tried(kernel.conversion, "5 trips", "sizes", "ACTIVATION = 'leaky")
        assert not tally.source_fails
        assert {finding.code for finding in tally.findings.values()} == codes


def test_sources_for_metas_triton_are_understood(versions):
    text = BY_HAND.replace("import tlx\n", "import triton.language.extra.tlx as tlx\n").replace(
        "@tlx.jit", "@triton.jit"
    )
    assert "@triton.jit\ndef gemm_ws(" in text
    assert not tried(versions(text, "gemm_ws", TABLE), "4 trips").findings


def test_a_version_that_makes_its_descriptors_gets_memory_they_can_describe(versions):
    start = NEW.index("    rows = ")
    stop = NEW.index("    for start")
    text = NEW[:start] + (
        "    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN\n"
        "    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [stride_am, 1], [BM, BK])\n"
        "    b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [stride_bk, 1], [BK, BN])\n"
        "    rows, columns = row + tl.arange(0, BM), column + tl.arange(0, BN)\n"
        "    acc = tl.zeros((BM, BN), dtype=tl.float32)\n"
    )
    loop = NEW[stop:]
    first, last = loop.index("        depth"), loop.index("        acc = tl.dot")
    text += (
        loop[:first] + "        a = a_desc.load([row, start])\n        b = b_desc.load([start, column])\n" + loop[last:]
    )
    conversion = versions(text)
    assert [spec.layouts for spec in conversion.contract.tensors] == [("padded",)] * 3
    tally = tried(conversion, "5 trips", "ragged", "sizes")
    assert not tally.findings
    assert tally.compared == 6


def test_a_parameter_that_nothing_tells_is_asked_for(tmp_path):
    shutil.copy(ROOT / "corpus" / "gemm" / "matmul.py", tmp_path / "old.py")
    (tmp_path / "new.py").write_text(BY_HAND)
    (refusal,) = paired(tmp_path / "old.py", tmp_path / "new.py", "matmul_kernel", "gemm_ws").diagnostics
    assert refusal.code == "TLX607"
    assert dict(refusal.facts)["parameter"] == "a_desc"
    assert BY_HAND.splitlines()[refusal.span.line - 1].strip().startswith("a_desc")


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ('a_desc = "descriptor(x_ptr, [64, 64])"', "a_desc: 'x_ptr' is not known"),
        ('a_desc = "descriptor(a_ptr"', "a_desc: cannot read"),
        ('A_desc = "a_ptr"', "A_desc: gemm_ws has no such parameter; allowed: a_desc"),
        ('grid = "(1, 1, 1, 1)"', "grid: 4 axes"),
    ],
)
def test_what_the_project_says_wrong_is_told_by_key(versions, entry, why):
    key = entry.partition(" ")[0]
    lines = [entry, *(line for line in TABLE.splitlines()[1:] if not line.startswith(f"{key} "))]
    with pytest.raises(ConfigError, match=rf'pyproject.toml: .*new.py::gemm_ws"\] {re.escape(why)}'):
        versions(BY_HAND, "gemm_ws", "\n".join([TABLE.splitlines()[0], *lines]))


def test_a_kernel_is_cut_out_with_the_lines_that_it_has(versions):
    lines, given = versions(NEW).module_text.splitlines(), NEW.splitlines()
    for line in ("def sloped(x):", "def product(", "        acc = tl.dot(a, b, acc)", "SLOPE = tl.constexpr(0.01)"):
        assert lines.index(line) == given.index(line)
    assert "@triton.autotune(" not in lines


ROWS = """\
import triton
import triton.language as tl


@triton.jit
def square(x_ptr, y_ptr, M, N, sx, sy, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * sx + at, mask=at < N, other=0.0)
    tl.store(y_ptr + row * sy + at, x * x, mask=at < N)
"""
LAUNCH = """

def run(x, y):
    M, N = x.shape
    square[(M, triton.cdiv(N, 128))](x, y, M, N, x.stride(0), y.stride(0), BLOCK=128)
"""


def test_what_the_first_version_never_reads_is_what_its_launch_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("old.py").write_text(ROWS + LAUNCH)
    for bound, codes in (("M", []), ("M - 1", ["mismatch"])):
        Path("new.py").write_text(ROWS.replace("x * x, mask=at < N", f"x * x, mask=(at < N) & (row < {bound})"))
        (kernel,) = paired(Path("old.py"), Path("new.py"), "square", None).kernels
        tally = simulate(kernel.conversion, enough=1)
        assert [finding.code for finding in tally.findings.values()] == codes
        assert not tally.source_fails


def test_what_the_first_version_never_reads_and_the_second_one_does_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("old.py").write_text(ROWS)
    Path("new.py").write_text(ROWS)
    assert not paired(Path("old.py"), Path("new.py"), "square", None).diagnostics, "neither reads it"
    Path("new.py").write_text(ROWS.replace("x * x, mask=at < N", "x * x, mask=(at < N) & (row < M)"))
    (refusal,) = paired(Path("old.py"), Path("new.py"), "square", None).diagnostics
    assert (refusal.code, dict(refusal.facts)["parameter"]) == ("TLX607", "M")
    assert 'contracts."old.py::square"`, as in `M = "size = grid_0"`' in refusal.remedy
    Path("pyproject.toml").write_text('[tool.tlxify.contracts."old.py::square"]\nM = "size = grid_0"\n')
    assert not paired(Path("old.py"), Path("new.py"), "square", None).diagnostics
