"""Flags that decide how tensors lie: every value of them is launched, and the specialized kernel takes each."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from tests.golden import CASES, ROOT, needs_block_pointers, read
from tlxify import convert
from tlxify.contract import BYTE_DTYPES, Undefined, evaluate, flags_in, settled
from tlxify.job import paired
from tlxify.source import SourceFile
from tlxify.verify.buffers import make_arguments
from tlxify.verify.compiled import variants
from tlxify.verify.inputs import edge_cases
from tlxify.verify.layouts import wanted_strides
from tlxify.verify.loading import _imported
from tlxify.verify.simulate import simulate
from tlxify.verify.sizing import base_case, told

pytestmark = pytest.mark.triton

#: By name: the flags that decide, in the kernel's order.
SUBJECTS = {
    "address/transposed_by_flags": ("TRANS_A", "TRANS_B"),
    "address/strides_by_flags": ("TRANS_A", "TRANS_B"),
    "address/moved_by_a_flag": ("TRANS_A",),
    "address/transposed_by_heuristic": ("BY_ROWS",),
    "address/stored_by_a_flag": ("TRANS_C", "APART"),
    "address/block_pointer_by_a_flag": ("TRANS_B",),
    "address/repeated_by_a_flag": ("ONE_ROW", "ONE_COLUMN"),
    "gemm/transposes": ("TRANS_A", "TRANS_B"),
    "gemm/majors": ("TRANS_A", "TRANS_B", "TRANS_C"),
}


def converted(name, **how):
    path = CASES / f"{name}.py"
    source = read(path).source if path.exists() else (ROOT / "corpus" / f"{name}.py").read_text()
    needs_block_pointers(source)
    (kernel,) = convert(SourceFile(f"{name}.py", source), profitable=False, **how).kernels
    return kernel


def laid(contract):
    """A launch for each combination of the flags that decide how tensors lie."""
    base = replace(base_case(contract, 0), path="specialized", schedules=("late", 0))
    for choices in itertools.product(*(spec.choices for spec in contract.laying)):
        flags = dict(zip((spec.name for spec in contract.laying), choices, strict=True))
        yield told(contract, replace(base, name=f"{flags}", values=tuple({**dict(base.values), **flags}.items())))


@pytest.mark.parametrize("name", SUBJECTS)
def test_the_specialized_kernel_takes_every_value(name):
    kernel = converted(name)
    assert kernel.plan.guard.claims == ()
    assert tuple(spec.name for spec in kernel.contract.laying) == SUBJECTS[name]
    cases = list(laid(kernel.contract))
    assert len(cases) == 2 ** len(SUBJECTS[name])
    for case in cases:
        arguments = make_arguments(kernel.contract, case, 0)
        assert arguments.faithful
        for memory in arguments.tensors.values():
            repeated = 0 in memory.array.strides
            assert repeated or int(memory.mine.sum()) == memory.array.size, "every element has a place of its own"
    tally = simulate(kernel.conversion, cases=cases)
    assert not tally.source_fails
    assert not tally.findings, [f"{evidence.text}: {evidence.detail}" for evidence in tally.findings.values()]
    assert (tally.cases, tally.specialized, tally.original) == (len(cases), len(cases), 0)
    assert tally.compared >= len(cases)


@pytest.mark.parametrize("name", SUBJECTS)
def test_the_launches_of_every_rung_have_both_values(name):
    contract = converted(name).contract
    wanted = [case for case in edge_cases(contract) if case.path in ("specialized", "claimed")]
    for spec in contract.laying:
        assert {dict(case.values)[spec.name] for case in wanted} == {False, True}
    names = [spec.name for spec in contract.laying]
    compiled = {
        tuple(dict(variant.case.values)[flag] for flag in names)
        for variant in variants(contract, frozenset())
        if variant.usual
    }
    assert compiled == set(itertools.product((False, True), repeat=len(names)))


@pytest.mark.parametrize("name", ["address/transposed_by_flags", "gemm/majors"])
def test_operands_of_8_bits_are_launched_along_the_depth(name):
    kernel = converted(name)
    contract = kernel.conversion.contract
    cases = [case for case in edge_cases(contract) if case.name.startswith("dtype")]
    narrow = [
        case
        for case in cases
        if any(contract.dtype_of(t, case.dtype) in BYTE_DTYPES for t in contract.tensors if t.deep is not None)
    ]
    assert narrow
    for case in narrow:
        assert (dict(case.values)["TRANS_A"], dict(case.values)["TRANS_B"]) == (False, True)
    tally = simulate(kernel.conversion, cases=narrow)
    assert not tally.findings
    assert tally.specialized == len(narrow)


@pytest.mark.parametrize("by_rows", [True, False])
def test_a_heuristic_answers_at_the_launch(by_rows):
    import tlx.sim

    case = read(CASES / "address" / "transposed_by_heuristic.py")
    module, _ = _imported(convert(SourceFile("by_heuristic.py", case.source)).module_text, "by_heuristic.py")
    M, N, K = 40, 48, 64
    random = np.random.default_rng(0)
    a, b = (random.standard_normal(shape).astype(np.float16) for shape in ((M, K), (K, N)))
    right = tlx.sim.tensor(b) if by_rows else tlx.sim.tensor(np.ascontiguousarray(b.T)).T
    out = tlx.sim.tensor(np.zeros((M, N), np.float16))
    tiles = {"BLOCK_M": 64, "BLOCK_N": 32, "BLOCK_K": 32}
    arguments = (tlx.sim.tensor(a), right, out, M, N, K, K, *right.stride(), N)
    found = module.kernel.resolve(*arguments, **tiles, grid=(1, 2), processors=2)
    assert (found.path, found.kwargs["B_TRANSPOSED"]) == ("specialized", not by_rows)
    report = tlx.sim.run(found.kernel, found.grid, (), found.kwargs)
    assert list(report.findings) == []
    np.testing.assert_allclose(out.numpy(), a.astype(np.float32) @ b.astype(np.float32), atol=0.05, rtol=1e-2)


@pytest.mark.parametrize("wrong", ["1 if TRANS_A else lda", "lda if TRANS_A else 1"])
def test_a_guard_that_reads_the_flag_the_wrong_way_round_is_found(wrong):
    kernel = converted("address/transposed_by_flags")
    first, test, other = wrong.partition(" if TRANS_A else ")
    text = kernel.conversion.module_text
    assert text.count(wrong) == 1
    mutant = replace(kernel.conversion, module_text=text.replace(wrong, f"{other}{test}{first}"))
    tally = simulate(mutant, cases=laid(kernel.contract))
    assert tally.findings


def test_a_kernel_that_takes_the_other_order_is_found():
    kernel = converted("address/transposed_by_flags")
    text = kernel.conversion.module_text
    entry = '"A_TRANSPOSED": a.transposed'
    assert text.count(entry) == 1
    mutant = replace(kernel.conversion, module_text=text.replace(entry, '"A_TRANSPOSED": not a.transposed'))
    assert simulate(mutant, cases=laid(kernel.contract)).findings


@pytest.mark.parametrize(
    ("name", "flag"),
    [
        ("hostile/arm_ends_elsewhere", "TRANS_B"),
        ("hostile/arm_begins_elsewhere", "TRANS_A"),
        ("hostile/arm_of_another_row", "TRANS_A"),
        ("hostile/flag_of_pointers", "OTHER"),
        ("control/length_by_a_flag", "WIDE"),
        ("control/depth_by_a_flag", "WIDE"),
    ],
)
def test_arms_that_load_something_else_are_one_at_a_time(name, flag):
    kernel = converted(name)
    assert kernel.plan.guard.claims == (f"not {flag}",)
    assert flag not in {spec.name for spec in kernel.contract.laying}


def test_a_contract_says_what_a_stride_is_for_each_answer():
    text = "(1 if LAYOUT == 'T' and not OFF else 2 * lda)"
    assert settled(text, {"LAYOUT": "T", "OFF": False}) == "1"
    assert settled(text, {"LAYOUT": "T", "OFF": True}) == "2 * lda"
    assert evaluate(text, {"LAYOUT": "N", "OFF": False, "lda": 8}) == 16
    assert flags_in([text, "lda"]) == ("LAYOUT", "OFF")
    with pytest.raises(Undefined, match="LAYOUT"):
        settled(text, {"lda": 8})


@pytest.mark.parametrize(("flag", "strides"), [(False, (48, 1)), (True, (1, 80))])
def test_the_axis_that_the_flag_makes_contiguous_is(flag, strides):
    kernel = converted("address/transposed_by_flags")
    spec = next(tensor for tensor in kernel.contract.tensors if tensor.name == "a_ptr")
    assert wanted_strides(spec, "padded", (64, 32), 2, {"TRANS_A": flag}) == strides


def test_a_version_that_knows_no_strides_is_launched_without_gaps(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    old = read(CASES / "address" / "transposed_by_flags.py").source
    new = old.replace("K, lda, ldb", "K, ldb").replace(
        "    acc = tl.zeros", "    lda = M if TRANS_A else K\n    acc = tl.zeros"
    )
    (tmp_path / "old.py").write_text(old)
    (tmp_path / "new.py").write_text(new)
    (kernel,) = paired(tmp_path / "old.py", tmp_path / "new.py", "kernel", None).kernels
    contract = kernel.conversion.contract
    assert {spec.name: spec.layouts for spec in contract.tensors}["a_ptr"] == ("rows",)
    cases = [replace(case, layouts=(("b_ptr", "padded"),), path="any", schedules=("late",)) for case in laid(contract)]
    tally = simulate(kernel.conversion, cases=cases)
    assert not tally.findings
    assert not tally.source_fails
    assert tally.compared >= len(cases) == 4


@pytest.mark.parametrize("name", ["address/transposed_by_flags", "address/moved_by_a_flag"])
def test_plain_triton_with_descriptors_takes_every_value(name):
    kernel = converted(name, tier="descriptors")
    assert kernel.plan.plain
    assert kernel.plan.guard.claims == ()
    cases = list(laid(kernel.contract))
    tally = simulate(kernel.conversion, cases=cases)
    assert not tally.findings
    assert tally.specialized == len(cases)
