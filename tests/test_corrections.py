"""Contracts as text: what is printed says the same when it is read, and what cannot be read is told by key."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.test_corpus import KERNELS, converted, name
from tests.verify.samples import CONTRACT
from tlxify.config import ConfigError, contracts_of
from tlxify.contract import ELEMENT_TYPES, Contract, LaunchConfig, ScalarSpec
from tlxify.corrections import ContractTextError, Signature, corrected, given
from tlxify.pipeline import analyze, convert
from tlxify.render.contract import contract_text
from tlxify.source import SourceFile
from tlxify.verify.inputs import edge_cases

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SIGNATURE = Signature("gemm", CONTRACT.parameters, frozenset(("BLOCK_M", "BLOCK_N", "BLOCK_K", "ACTIVATION")))


def entries(contract: Contract) -> dict[str, object]:
    table = tomllib.loads(contract_text(contract, "m.py"))
    return table["tool"]["tlxify"]["contracts"][f"m.py::{contract.kernel}"]


def settled(contract: Contract) -> Contract:
    """Without what no launch depends on: the order of tables, choices of what follows from other values or stands in
    every config, and element types that others of the group may not have.
    """
    order = contract.parameters.index
    computed = {name for name, _ in contract.computed}
    if contract.configs:
        computed |= set.intersection(*({name for name, _ in config.values} for config in contract.configs))

    def fixed(specs):
        specs = [replace(spec, choices=()) if spec.name in computed else spec for spec in specs]
        return tuple(sorted(specs, key=lambda spec: order(spec.name)))

    tensors = [replace(spec, dtypes=contract.dtypes_of(spec.dtype_group)) for spec in contract.tensors]
    return replace(
        contract,
        tensors=tuple(sorted(tensors, key=lambda spec: order(spec.name))),
        scalars=fixed(contract.scalars),
        constexprs=fixed(contract.constexprs),
        multiples=tuple(sorted(contract.multiples)),
        computed=tuple(sorted(contract.computed)),
        configs_known=True,
        origin="inferred",
    )


@pytest.mark.parametrize("path", KERNELS, ids=name)
def test_what_is_printed_says_the_same_when_it_is_read(path):
    for kernel in converted(path).kernels:
        if (contract := kernel.contract) is None:
            continue
        constexprs = {spec.name for spec in (*contract.constexprs, *(s for s in contract.scalars if s.constexpr))}
        signature = Signature(contract.kernel, contract.parameters, frozenset(constexprs), contract.tuned)
        assert settled(given(signature, entries(contract))) == settled(contract)
        assert settled(corrected(contract, signature, entries(contract))) == settled(contract)


def test_a_correction_changes_what_it_says_and_nothing_else():
    found = corrected(CONTRACT, SIGNATURE, {"a_ptr": "bf16[M, K]", "K": "multiple_of(8)", "M": "1..4096"})
    before = CONTRACT.tensors[0]
    assert found.tensors[0] == replace(before, dtypes=("bf16",))
    assert found.tensors[1:] == (replace(CONTRACT.tensors[1], dtypes=("bf16",)), CONTRACT.tensors[2])
    assert found.multiples == (("K", "8"),)
    assert found.bounds == (("M", 1, 4096),)
    assert found.origin == "corrected"
    unchanged = {"tensors": CONTRACT.tensors, "multiples": (), "bounds": (), "origin": "inferred"}
    assert replace(found, **unchanged) == CONTRACT


@pytest.mark.parametrize(
    ("key", "entry", "field", "value"),
    [
        ("ACTIVATION", "relu", "constexprs", ("relu",)),
        ("ACTIVATION", "in {'', 'relu', 'gelu'}", "constexprs", ("", "relu", "gelu")),
        ("ACTIVATION", "True", "constexprs", (True,)),
        ("N", "64", "bounds", (("N", 64, 64),)),
        ("N", 64, "bounds", (("N", 64, 64),)),
        ("N", "8..", "bounds", (("N", 8, None),)),
        ("N", "= 2 * K", "computed", (("N", "2 * K"),)),
        ("N", "2 * K", "computed", (("N", "2 * K"),)),
        ("stride_ak", "1", "computed", (("stride_ak", "1"),)),
        ("c_ptr", "None", "absent", ("c_ptr",)),
        ("grid", "(cdiv(M, BLOCK_M), cdiv(N, BLOCK_N))", "grid", ("cdiv(M, BLOCK_M)", "cdiv(N, BLOCK_N)")),
        ("free", ["heads 1..4", "rows"], "free_sizes", ("heads", "rows")),
        ("trips", "unknown", "contracted", None),
        ("tiles", ["N by BLOCK_N"], "tiled", (("N", "BLOCK_N"),)),
        ("configs", ["BLOCK_M=64, num_warps=8"], "configs", (LaunchConfig((("BLOCK_M", 64),), 8, 3),)),
    ],
)
def test_entries(key, entry, field, value):
    found = getattr(corrected(CONTRACT, SIGNATURE, {key: entry}), field)
    if field == "constexprs":
        found = next(spec.choices for spec in found if spec.name == key)
    assert found == value


@pytest.mark.parametrize(
    ("said", "a", "c"),
    [
        ({"a_ptr": "bf16[M, K]"}, ["bf16"], ["fp16", "bf16"]),
        ({"a_ptr": "fp16[M, K]"}, ["fp16"], ["fp16", "bf16"]),
        ({"b_ptr": "bf16[K, N]"}, ["bf16"], ["fp16", "bf16"]),
        ({"b_ptr": "bf16|fp16[K, N]"}, ["bf16", "fp16"], ["fp16", "bf16"]),
        ({"a_ptr": "bf16|fp32[M, K]", "b_ptr": "fp32|fp16|bf16[K, N]"}, ["bf16", "fp32"], ["fp16", "bf16"]),
        ({"a_ptr": "bf16[M, K]", "c_ptr": "fp32[M, N]"}, ["bf16"], ["fp32"]),
    ],
    ids=str,
)
def test_all_of_a_group_are_launched_with_the_element_types_that_are_said_of_one(said, a, c):
    """The last tensor of a group won: `a = "bf16[M, K]"` ran a as fp16 and fp8."""
    pytest.importorskip("numpy")
    from tlxify.verify.buffers import make_arguments
    from tlxify.verify.inputs import edge_cases

    contract = corrected(CONTRACT, SIGNATURE, said)
    found: dict[str, dict[str, None]] = {"a_ptr": {}, "b_ptr": {}, "c_ptr": {}}
    for case in edge_cases(contract):
        if any("overlap" in layout for layout in case.layouts):  # inapplicable where the element types differ
            continue
        for pointer, memory in make_arguments(contract, case, 0).tensors.items():
            found[pointer][memory.dtype] = None
    assert [*found["a_ptr"]] == [*found["b_ptr"]] == a
    assert [*found["c_ptr"]] == c


def test_a_group_without_a_common_element_type_is_said():
    why = r"^a_ptr: these have one element type, but a_ptr is fp32, b_ptr is fp16\|bf16; allowed: .*dtype_of\(a_ptr\)"
    with pytest.raises(ContractTextError, match=why):
        corrected(CONTRACT, SIGNATURE, {"a_ptr": "fp32[M, K]"})
    apart = corrected(CONTRACT, SIGNATURE, {"a_ptr": "fp32[M, K] dtype_of(a_ptr)"})
    assert [spec.dtypes for spec in apart.tensors] == [("fp32",), ("fp16", "bf16"), ("fp16", "bf16")]


def test_what_the_analyses_took_for_something_else_can_be_put_right():
    found = corrected(CONTRACT, SIGNATURE, {"M": "i32[N] rising(0, K)", "a_ptr": "size"})
    assert {spec.name for spec in found.tensors} == {"b_ptr", "c_ptr", "M"}
    (index,) = (spec for spec in found.tensors if spec.name == "M")
    assert (index.dtypes, index.strides, index.values, index.drawn) == (("i32",), ("1",), ("0", "K"), "rising")
    assert ("a_ptr", "size") in {(spec.name, spec.kind) for spec in found.scalars}


@pytest.mark.parametrize(
    ("key", "entry", "why"),
    [
        ("a_prt", "bf16[M, K]", "no such parameter; allowed: a_ptr, b_ptr"),
        ("a_ptr", "bfloat[M, K]", "'bfloat' is no element type; allowed: fp16, bf16"),
        ("a_ptr", "bf16[M, KK]", "'KK' is no parameter of gemm.*free = "),
        ("a_ptr", "bf16[M, K] strides(1)", "1 strides for 2 axes"),
        ("a_ptr", "bf16[M, K] stride(1, 1)", r"cannot read 'stride\(1, 1\)'; allowed: strides"),
        ("a_ptr", "bf16[M, K] layouts(diagonal)", "'diagonal' is no layout; allowed: rows"),
        ("a_ptr", "bf16[M, K.real]", "'K.real' is no expression"),
        ("a_ptr", "bf16[M, N // (KK - 1)]", "'KK' is no parameter of gemm"),
        ("a_ptr", "bf16[M, min(K)]", r"'min\(K\)' is no expression"),
        ("M", "9..3", "is empty"),
        ("M", "size of_some_kind", "cannot read 'of_some_kind'; allowed: size"),
        ("M", "flag", "'flag' is not what this parameter can be"),
        ("M", ["1"], "is no text"),
        ("ACTIVATION", "in {relu}", "no set of values"),
        ("ACTIVATION", "in {}", "no value is left"),
        ("BLOCK_M", "tile in {48}", "a config sets it to .*, which is none of these"),
        ("grid", "(1, 1, 1, 1)", "4 axes; allowed: one to three"),
        ("trips", "K // BLOCK_K", r"allowed: cdiv\(K, BLOCK_K\)"),
        ("tiles", ["M / BLOCK_M"], '"M by BLOCK_M"'),
        ("configs", ["BLOCK_M: 64"], '"BLOCK_M=128'),
        ("configs", "BLOCK_M=64", "is no list of texts"),
        ("configs", [], "there is none; allowed: at least one"),
        (
            "configs",
            ["BLOK=64"],
            "'BLOK' is no compile-time parameter of gemm; allowed: BLOCK_M, .*num_warps, num_stages",
        ),
        ("configs", ["M=64"], "'M' is no compile-time parameter of gemm"),
        ("free", ["heads and shoulders"], "cannot read"),
        (
            "ACTIVATION",
            "tile",
            r'ACTIVATION has no values, .*; allowed: "tile in \{64, 128\}", "= expression", or configs',
        ),
        ("ACTIVATION", "int", 'ACTIVATION has no values, .*; allowed: "int in '),
    ],
)
def test_what_cannot_be_read_names_key_and_what_is_allowed(key, entry, why):
    with pytest.raises(ContractTextError, match=f"^{key}: .*{why}"):
        corrected(CONTRACT, SIGNATURE, {key: entry})


def test_what_has_a_value_for_other_numbers_than_one_is_an_expression():
    found = corrected(CONTRACT, SIGNATURE, {"grid": "(M // (N - 1) + M // (N / 2),)"})
    assert found.grid == ("M // (N - 1) + M // (N / 2)",)


def test_lengths_may_get_their_values_in_any_way():
    for entry in ("tile in {64}", "64", "= 2 * BLOCK_M", "flag"):
        corrected(CONTRACT, SIGNATURE, {"ACTIVATION": entry})
    corrected(CONTRACT, SIGNATURE, {"BLOCK_M": "tile"})
    corrected(
        CONTRACT, SIGNATURE, {"ACTIVATION": "tile", "configs": ["BLOCK_M=64, BLOCK_N=64, BLOCK_K=64, ACTIVATION=1"]}
    )


def test_a_kind_alone_keeps_what_was_tried_or_gets_several():
    factor = replace(CONTRACT, scalars=(*CONTRACT.scalars, ScalarSpec("alpha", "float", choices=(0.25, 0.5))))
    signature = replace(SIGNATURE, parameters=(*SIGNATURE.parameters, "alpha"))

    def choices(contract, entry):
        found = corrected(contract, signature, {"alpha": entry})
        return next((spec.kind, spec.choices) for spec in found.scalars if spec.name == "alpha")

    assert choices(factor, "float") == ("float", (0.25, 0.5))
    assert choices(factor, "float in {2.0}") == ("float", (2.0,))
    assert choices(factor, "int") == ("int", (1, 2))
    assert choices(factor, "int 1..4") == ("int", ())
    # 1 alone would hide that a version forgets to multiply.
    assert choices(CONTRACT, "float") == ("float", (0.5, 1.0))


def test_every_element_type_has_a_storage():
    dtypes = pytest.importorskip("tlxify.verify.dtypes")
    assert all(dtypes.storage(dtype).itemsize for dtype in ELEMENT_TYPES)


#: Nothing says how long the tensor behind `bias_ptr` is: its rows are picked by numbers from memory.
UNKNOWN = """\
import triton
import triton.language as tl


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, pick_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    rows = pid * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    from_row = tl.load(pick_ptr + pid) * 3
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        depth = k * BK + inner
        a = tl.load(a_ptr + rows[:, None] * K + depth, mask=(rows[:, None] < M) & (depth < K), other=0.0)
        b = tl.load(b_ptr + depth[:, None] * N + cols, mask=(depth[:, None] < K) & (cols < N), other=0.0)
        acc = tl.dot(a, b, acc)
    c_mask = (rows[:, None] < M) & (cols < N)
    tl.store(c_ptr + (from_row + rows[:, None]) * N + cols, acc.to(tl.float16), mask=c_mask)
"""
COMPLETE = """\
[tool.tlxify.contracts."m.py::kernel"]
a_ptr = "fp16[M, K]"
b_ptr = "fp16[K, N] dtype_of(a_ptr)"
c_ptr = "out fp16[M, N]"
pick_ptr = "i32[cdiv(M, BM)] values(0, 0)"
M = "size"
N = "size aligned"
K = "size aligned"
BM = "tile"
BN = "tile"
BK = "tile"
grid = "(cdiv(M, BM), cdiv(N, BN))"
trips = "cdiv(K, BK)"
tiles = ["M by BM", "N by BN"]
configs = ["BM=64, BN=64, BK=32"]
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "m.py").write_text(UNKNOWN)

    def written(text: str) -> Path:
        (tmp_path / "pyproject.toml").write_text(text)
        return tmp_path / "m.py"

    return written


def test_a_complete_contract_replaces_inference(project):
    path = project("[tool.other]\n")
    (kernel,) = convert(SourceFile.read(path)).kernels
    assert [item.code for item in kernel.diagnostics] == ["TLX606"]
    (kernel,) = convert(SourceFile.read(project(COMPLETE))).kernels
    assert kernel.verdict_word == "converted", kernel.diagnostics
    assert kernel.contract is not None
    assert kernel.contract.origin == "given"
    assert kernel.contract.tensors[0].strides == ("K", "1")
    (analysis,) = analyze(SourceFile.read(path))
    assert analysis.contract == kernel.contract


def test_an_incomplete_one_says_what_is_missing(project):
    path = project(COMPLETE.replace('N = "size aligned"\n', "").replace('BK = "tile"\n', ""))
    with pytest.raises(ConfigError, match=r'pyproject.toml: \[.*"m.py::kernel"\] N: nothing is known of N'):
        convert(SourceFile.read(path))


def test_how_often_a_loop_runs_must_be_said(project):
    path = project(COMPLETE.replace('trips = "cdiv(K, BK)"\n', ""))
    with pytest.raises(ConfigError, match=r"trips: nothing is known of trips; allowed: .*\"unknown\""):
        convert(SourceFile.read(path))


def test_tiles_that_are_not_listed_are_those_that_the_grid_counts(project):
    path = project(COMPLETE.replace('tiles = ["M by BM", "N by BN"]\n', ""))
    (kernel,) = convert(SourceFile.read(path)).kernels
    assert kernel.contract is not None
    assert kernel.contract.tiled == (("M", "BM"), ("N", "BN"))


def test_every_size_is_long_where_nobody_says_which_one_counts_trips(project):
    path = project(COMPLETE.replace('"cdiv(K, BK)"', '"unknown"'))
    (analysis,) = analyze(SourceFile.read(path))
    case = next(case for case in edge_cases(analysis.contract) if case.name == "many tiles each way")
    assert dict(case.values)["K"] >= 7 * 16


def test_errors_name_the_project_and_the_table(project):
    path = project(COMPLETE.replace("fp16[M, K]", "fp17[M, K]"))
    with pytest.raises(ConfigError, match=r'pyproject.toml: .*m.py::kernel"\] a_ptr: \'fp17\' is no element type'):
        convert(SourceFile.read(path))
    with pytest.raises(ConfigError, match=r"cannot read .*pyproject.toml"):
        contracts_of(project("[tool.tlxify\n"))
    with pytest.raises(ConfigError, match=r"'m.py'; allowed: a table by the name of a file"):
        contracts_of(project('[tool.tlxify.contracts]\n"m.py" = "x"\n'))


def test_the_nearest_project_counts_and_names_files_from_its_folder(tmp_path):
    inner = tmp_path / "package" / "kernels"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text('[tool.tlxify.contracts."package/kernels/m.py::k"]\nM = "8"\n')
    assert contracts_of(inner / "m.py").of("k") == {"M": "8"}
    assert contracts_of(inner / "n.py").of("k") == {}
    (tmp_path / "package" / "pyproject.toml").write_text("")
    assert contracts_of(inner / "m.py").of("k") == {}
