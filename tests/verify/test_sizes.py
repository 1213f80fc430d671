"""Sizes that no dot counts: of kernels without one, and of what one tile covers. A fault in them must be seen."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.golden import ROOT
from tlxify import convert
from tlxify.cli import main
from tlxify.job import paired
from tlxify.source import SourceFile
from tlxify.verify.inputs import edge_cases
from tlxify.verify.simulate import simulate

pytestmark = pytest.mark.triton

HEAD = """\
import torch
import triton
import triton.language as tl


@triton.jit
"""
#: By name: the kernel's name, a right text, and what wrong texts have in place of a part of it.
KERNELS = {
    "add": (
        """\
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    total = tl.load(x_ptr + offsets, mask=inside) + tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, total, mask=inside)


def launch(x, y, out):
    add[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), BLOCK=1024)
""",
        {
            "one program alone": ("tl.program_id(0) * BLOCK", "tl.program_id(0) * 0"),
            "programs overlap by half": ("tl.program_id(0) * BLOCK", "tl.program_id(0) * (BLOCK // 2)"),
            "programs overlap": ("tl.program_id(0) * BLOCK", "tl.program_id(0) * (BLOCK - 1)"),
            "skips what is left": ("inside = offsets < n", "inside = offsets < n // BLOCK * BLOCK"),
        },
    ),
    "normed": (
        """\
def normed(x_ptr, out_ptr, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + columns, mask=columns < n, other=0.0).to(tl.float32)
        squares += x * x
    scale = tl.rsqrt(tl.sum(squares, 0) / n + eps)
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + columns, mask=columns < n, other=0.0).to(tl.float32)
        tl.store(out_ptr + row * stride + columns, (x * scale).to(out_ptr.dtype.element_ty), mask=columns < n)


def launch(x, out):
    normed[(x.shape[0],)](x, out, x.stride(0), x.shape[1], 1e-5, BLOCK=1024)
""",
        {
            "sums up one block": ("range(0, n, BLOCK)", "range(0, min(n, BLOCK), BLOCK)"),
            "divides by whole blocks": ("/ n + eps", "/ (tl.cdiv(n, BLOCK) * BLOCK) + eps"),
        },
    ),
    "softmax": (
        """\
def softmax(out_ptr, x_ptr, stride_out, stride_x, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    place = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride_x + place, mask=place < columns, other=-float("inf"))
    terms = tl.exp(x.to(tl.float32) - tl.max(x.to(tl.float32), 0))
    share = terms / tl.sum(terms, 0)
    tl.store(out_ptr + row * stride_out + place, share.to(out_ptr.dtype.element_ty), mask=place < columns)


def launch(x, out):
    rows, columns = x.shape
    softmax[(rows,)](out, x, out.stride(0), x.stride(0), columns, BLOCK=triton.next_power_of_2(columns))
""",
        {
            "counts what is not there": ('other=-float("inf")', "other=0.0"),
            "writes past the row": ("element_ty), mask=place < columns)", "element_ty))"),
        },
    ),
}  # fmt: skip
FAULTS = [(name, fault) for name, (_, faults) in KERNELS.items() for fault in faults]


@pytest.fixture
def pair(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def made(name: str, old: str = "", new: str = ""):
        text, _ = KERNELS[name]
        assert old in text
        Path("old.py").write_text(HEAD + text)
        Path("new.py").write_text(HEAD + text.replace(old, new, 1) if old else HEAD + text)
        outcome = paired(Path("old.py"), Path("new.py"), name, name)
        assert not outcome.diagnostics, [item.message for item in outcome.diagnostics]
        (kernel,) = outcome.kernels
        return kernel.conversion

    return made


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_without_a_dot_agrees_with_itself_on_many_programs(pair, name):
    tally = simulate(pair(name))
    assert not tally.source_fails
    assert not tally.findings
    assert tally.programs > 1


@pytest.mark.parametrize(("name", "fault"), FAULTS)
def test_a_wrong_kernel_without_a_dot_is_caught(pair, name, fault):
    old, new = KERNELS[name][1][fault]
    tally = simulate(pair(name, old, new), enough=1)
    assert {finding.code for finding in tally.findings.values()} & {"mismatch", "canary", "global-out-of-bounds"}


def test_what_a_tile_covers_is_as_long_as_the_tile_and_shorter(pair):
    contract = pair("softmax").contract
    assert contract.covered == (("columns", "BLOCK"),)
    lengths = {
        (case.constants(contract)["BLOCK"], dict(case.values)["columns"])
        for case in edge_cases(contract, guarded=False)
    }
    assert {(16, 16), (16, 15), (16, 9), (16, 1)} <= lengths


def test_a_launch_is_replayed_as_it_says_or_not_at_all(pair):
    pair("softmax", *KERNELS["softmax"][1]["counts what is not there"])
    command = ["verify", "old.py", "new.py", "--kernel", "softmax"]
    said = CliRunner().invoke(main, [*command, "--upto", "simulated"]).output
    (replay,) = re.findall(r"--replay '(.*)'", said)
    length = json.loads(replay)["values"]["columns"]
    again = CliRunner().invoke(main, [*command, "--replay", replay])
    assert again.exit_code == 1, again.output
    assert f"columns = {length}" in again.output
    assert "mismatch" in again.output
    nothing = json.dumps({**json.loads(replay), "values": {"columns": length, "grid_0": 0}})
    empty = CliRunner().invoke(main, [*command, "--replay", nothing])
    assert empty.exit_code == 1, empty.output
    assert "nothing was compared" in empty.output
    # What follows from others is not to be had as somebody likes.
    normed = ["verify", "old.py", "new.py", "--kernel", "add"]
    pair("add")
    fixed = """[tool.tlxify.contracts."old.py::add"]\nn = "size = 64"\n"""
    Path("pyproject.toml").write_text(fixed)
    refused = CliRunner().invoke(main, [*normed, "--replay", '{"values": {"n": 3}, "tiles": {"BLOCK": 16}}'])
    assert refused.exit_code == 2, refused.output
    assert "values.n is 3; by the contract it follows from others, and is 64" in " ".join(refused.output.split())


HEADS = ROOT / "corpus" / "attention" / "ragged_head.py"


def test_a_converted_kernel_that_writes_past_a_short_head_is_caught():
    (kernel,) = convert(SourceFile(str(HEADS.relative_to(ROOT)), HEADS.read_text())).kernels
    conversion = kernel.conversion
    assert conversion.contract.covered == (("head_dim", "BLOCK_D"),)
    cases = [case for case in edge_cases(conversion.contract) if case.name.startswith("less than a tile")]
    assert cases
    sound = simulate(conversion, cases=cases)
    assert sound.specialized == len(cases)
    assert not sound.findings
    at = conversion.module_text.index("_ws(")
    head, tail = conversion.module_text[:at], conversion.module_text[at:]
    store = "out, mask=(m[:, None] < length) & (d[None, :] < head_dim)"
    assert store in tail
    wrong = replace(conversion, module_text=head + tail.replace(store, "out, mask=m[:, None] < length", 1))
    tally = simulate(wrong, cases=cases, enough=1)
    assert {finding.code for finding in tally.findings.values()} & {"mismatch", "canary", "global-out-of-bounds"}
