"""Parameters that follow from others, and pointers and constexprs that a launch does not choose."""

from __future__ import annotations

import textwrap

import pytest

from tlxify.analyses import analyze
from tlxify.analyses.assuming import readings
from tlxify.analyses.contracts import infer_contract
from tlxify.analyses.contracts.relations import solved
from tlxify.contract import complete, evaluate
from tlxify.diagnostics import Decline
from tlxify.parse.kernels import find_kernels
from tlxify.parse.module import parse_module
from tlxify.source import SourceFile

HEAD = "import triton\nimport triton.language as tl\n\n"


def contract(text: str, assumed: bool = False):
    module = parse_module(SourceFile("kernel.py", HEAD + textwrap.dedent(text)))
    (kernel,) = find_kernels(module)
    facts = [*readings(kernel)][1] if assumed else analyze(kernel)
    return infer_contract(kernel, facts)


COUNTED = """
@triton.jit
def kernel(a, b, c, T, K: tl.constexpr, NT, BT: tl.constexpr):
    cols = tl.arange(0, K)
    acc = tl.zeros([K, K], dtype=tl.float32)
    for i in range(NT):
        rows = i * BT + tl.arange(0, BT)
        x = tl.load(a + rows[:, None] * K + cols[None, :], mask=rows[:, None] < T, other=0.0)
        y = tl.load(b + rows[:, None] * K + cols[None, :], mask=rows[:, None] < T, other=0.0)
        acc += tl.dot(tl.trans(x), y)
    tl.store(c + cols[:, None] * K + cols[None, :], acc)
"""


def test_a_loop_over_chunks_has_as_many_as_there_are():
    assert contract(COUNTED).computed == (("NT", "cdiv(T, BT)"),)


def test_what_the_launching_function_computes_is_computed():
    found = contract(
        COUNTED
        + """
def launch(a, b, c, T, K, S):
    NT, BT = triton.cdiv(T, 64), 64
    kernel[(1,)](a, b, c, T, K=K, NT=NT, BT=min(K, 64))
"""
    )
    assert dict(found.computed)["BT"] == "min(K, 64)"


RADIX = """
@triton.jit
def kernel(a, b, c, T, K: tl.constexpr, BT: tl.constexpr, BC: tl.constexpr, NC: tl.constexpr):
    p = tl.program_id(0)
    rows = (p // NC) * BT + (p % NC) * BC + tl.arange(0, BC)
    cols = tl.arange(0, K)
    x = tl.load(a + rows[:, None] * K + cols[None, :], mask=rows[:, None] < T, other=0.0)
    y = tl.load(b + cols[:, None] * K + cols[None, :])
    tl.store(c + rows[:, None] * K + cols[None, :], tl.dot(x, y), mask=rows[:, None] < T)
"""


def test_a_chunk_is_as_long_as_its_tiles_and_chunks_count_programs():
    found = contract(RADIX)
    assert found.computed == (("BT", "NC * BC"),)
    assert found.grid == ("NC * cdiv(T, BT)",)


def test_pointers_that_an_assumption_leaves_unused_are_absent():
    found = contract(
        """
@triton.jit
def kernel(a, b, c, lengths, T, K: tl.constexpr, BT: tl.constexpr, VARLEN: tl.constexpr):
    p = tl.program_id(0)
    if VARLEN:
        first = tl.load(lengths + p)
    else:
        first = p * T
    rows = tl.arange(0, BT)
    cols = tl.arange(0, K)
    x = tl.load(a + (first + rows)[:, None] * K + cols[None, :], mask=rows[:, None] < T, other=0.0)
    y = tl.load(b + cols[:, None] * K + cols[None, :])
    tl.store(c + (first + rows)[:, None] * K + cols[None, :], tl.dot(x, y), mask=rows[:, None] < T)
""",
        assumed=True,
    )
    assert found.absent == ("lengths",)
    assert {spec.name: spec.choices for spec in found.constexprs}["VARLEN"] == (False,)


def test_a_tuner_sets_its_own_parameters_alone():
    found = contract(
        COUNTED.replace(
            "@triton.jit",
            '@triton.autotune([triton.Config({"BT": 32}), triton.Config({"BT": 64})], key=["K"])\n@triton.jit',
        )
    )
    assert found.tuned == ("BT",)


def test_what_follows_is_completed_in_any_order():
    found = contract(RADIX)
    known: dict[str, object] = {"NC": 2, "BC": 16}
    complete(found, known)
    assert known["BT"] == 32


HEADS = """
@triton.jit
def kernel(a, k, s, w, T, H: tl.constexpr, HV: tl.constexpr, D: tl.constexpr, BT: tl.constexpr, BK: tl.constexpr):
    p, h = tl.program_id(0), tl.program_id(1)
    rows = p * BT + tl.arange(0, BT)
    tile = tl.arange(0, BT)
    x = tl.load(a + h * BT + rows[:, None] * (HV * BT) + tile[None, :], mask=(rows[:, None] < T) & (tile[None, :] < BT))
    scale = tl.load(s + rows * HV + h, mask=rows < T, other=0.0)
    for i in range(tl.cdiv(D, BK)):
        d = i * BK + tl.arange(0, BK)
        inside = (rows[:, None] < T) & (d[None, :] < D)
        y = tl.load(k + (h // (HV // H)) * D + rows[:, None] * (H * D) + d[None, :], mask=inside, other=0.0)
        z = tl.dot(x, y) * scale[:, None]
        tl.store(w + h * D + rows[:, None] * (HV * D) + d[None, :], z, mask=inside)
"""


def test_heads_that_share_keys_are_some_times_as_many():
    found = contract(HEADS)
    assert dict(found.computed)["HV"] == "ratio_HV * H"
    assert "ratio_HV" in found.free_sizes


def test_a_chunk_is_a_tile_a_stride_and_a_shape_at_once():
    spec = next(spec for spec in contract(HEADS).tensors if spec.name == "a")
    assert dict(zip(spec.strides, spec.shape, strict=True)) == {"BT": "grid_1", "BT * HV": "T", "1": "BT"}


def test_a_pitch_says_how_many_lie_side_by_side():
    found = contract(HEADS)
    known = {"H": 3, **dict.fromkeys(found.free_sizes, 2)}
    complete(found, known)
    assert dict(found.computed)["grid_1"] == "HV"
    assert known["grid_1"] == 6


def test_of_a_product_that_is_a_stride_one_factor_need_be_aligned():
    assert contract(HEADS).aligned == ("D", "HV")


def test_what_one_tile_covers_counts_no_trips():
    found = contract(
        """
@triton.jit
def kernel(q, k, o, N, D, sq, sk, so, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    rows, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BD)
    x = tl.load(q + rows[:, None] * sq + d[None, :], mask=(rows[:, None] < N) & (d[None, :] < D), other=0.0)
    acc = tl.zeros([BM, BD], dtype=tl.float32)
    for i in range(tl.program_id(0) * BM, (tl.program_id(0) + 1) * BM, BN):
        keys = i + tl.arange(0, BN)
        y = tl.load(k + keys[:, None] * sk + d[None, :], mask=(keys[:, None] < N) & (d[None, :] < D), other=0.0)
        acc += tl.dot(tl.dot(x, tl.trans(y)).to(y.dtype), y)
    tl.store(o + rows[:, None] * so + d[None, :], acc, mask=(rows[:, None] < N) & (d[None, :] < D))
"""
    )
    assert ("D", "BD") in found.covered
    assert found.contracted is None or found.contracted[0] != "D"


def test_a_scalar_from_one_of_two_places_lies_in_memory_that_holds_both():
    found = contract(
        """
@triton.jit
def kernel(a, b, c, e, T, K: tl.constexpr, NT, BT: tl.constexpr):
    cols = tl.arange(0, K)
    acc = tl.zeros([K, K], dtype=tl.float32)
    for i in range(NT):
        rows = i * BT + tl.arange(0, BT)
        last = e + (T - 1) if i == NT - 1 else e + (i * BT + BT - 1)
        x = tl.load(a + rows[:, None] * K + cols[None, :], mask=rows[:, None] < T, other=0.0)
        y = tl.load(b + rows[:, None] * K + cols[None, :], mask=rows[:, None] < T, other=0.0)
        acc += tl.dot(tl.trans(x), y) * tl.load(last)
    tl.store(c + cols[:, None] * K + cols[None, :], acc)
"""
    )
    spec = next(spec for spec in found.tensors if spec.name == "e")
    assert spec.dtypes == ("fp32",)
    assert evaluate(spec.shape[0], {"T": 61, "BT": 16, "NT": 4}) == 64


def test_a_quotient_that_is_a_tile_says_how_many_there_are():
    tiles = {"G"}
    assert [*solved([("G", "HQ // H")], tiles, set())] == [("HQ", "G * H")]
    assert [*solved([("G", "HQ // H")], tiles, {"HQ"})] == [("H", "HQ // G")]
    assert [*solved([("G", "HQ // H")], set(), set())] == [("G", "HQ // H")]


FOLDED = """
@triton.jit
def kernel(a, k, w, T, H: tl.constexpr, HV: tl.constexpr, D: tl.constexpr, BT: tl.constexpr, BD: tl.constexpr):
    p, h = tl.program_id(0), tl.program_id(1) % HV
    first = (tl.program_id(1) // HV) * T
    i, d = tl.arange(0, BT), tl.arange(0, BD)
    rows = p * BT + i
    inside = (rows[:, None] < T) & (d[None, :] < D)
    x = tl.load(a + (first * HV + h) * BT + rows[:, None] * (HV * BT) + i[None, :], mask=rows[:, None] < T, other=0.0)
    y = tl.load(k + (first * H + h // (HV // H)) * D + rows[:, None] * (H * D) + d[None, :], mask=inside, other=0.0)
    z = tl.dot(x, y)
    for j in range(0, min(BT, T - p * BT)):
        z += tl.load(a + (first * HV + h) * BT + (p * BT + j) * HV * BT + i)[:, None]
    tl.store(w + (first * HV + h) * D + rows[:, None] * (HV * D) + d[None, :], z, mask=inside)
"""


def test_heads_are_counted_by_no_row_of_elements_in_which_they_lie_inside_of_others():
    found = contract(FOLDED)
    assert dict(found.computed)["HV"] == "ratio_HV * H"
    assert found.grid == ("cdiv(T, BT)", "outer_1 * HV")
    # However few rows there are, there is a head of keys for each head of values.
    known: dict[str, object] = {"T": 1, "BT": 16, "BD": 16, "H": 3, **dict.fromkeys(found.free_sizes, 2)}
    complete(found, known)
    assert evaluate("HV // H", known) == 2


def test_a_row_holds_as_many_tiles_as_heads_however_many_rows_a_mask_tells_of():
    # The same tile is masked along the rows, and lies head by head along the columns, where nothing masks it.
    found = contract(
        """
@triton.jit
def kernel(k, w, T, H: tl.constexpr, HV: tl.constexpr, D: tl.constexpr, BT: tl.constexpr, BD: tl.constexpr):
    p, h = tl.program_id(0), tl.program_id(1) % HV
    first = (tl.program_id(1) // HV) * T
    rows = p * BT + tl.arange(0, BT)
    acc = tl.zeros([BT, BT], dtype=tl.float32)
    for i in range(tl.cdiv(D, BD)):
        d = i * BD + tl.arange(0, BD)
        inside = (rows[:, None] < T) & (d[None, :] < D)
        x = tl.load(k + (first * H + h // (HV // H)) * D + rows[:, None] * (H * D) + d[None, :], mask=inside, other=0.0)
        acc += tl.dot(x, tl.trans(x))
    acc = tl.where((rows[:, None] > rows[None, :]) & (rows[None, :] < T), acc, 0.0)
    tile = tl.arange(0, BT)
    tl.store(w + (first * HV + h) * BT + rows[:, None] * (HV * BT) + tile[None, :], acc, mask=rows[:, None] < T)
"""
    )
    assert dict(found.computed)["HV"] == "ratio_HV * H"
    known: dict[str, object] = {"T": 16, "BT": 16, "BD": 16, "D": 16, "H": 2, **dict.fromkeys(found.free_sizes, 2)}
    complete(found, known)
    (spec,) = (spec for spec in found.tensors if spec.name == "w")
    elements = 1
    for extent, stride in zip(spec.shape, spec.strides, strict=True):
        elements += (evaluate(extent, known) - 1) * evaluate(stride, known)
    assert elements == 2 * 16 * 4 * 16  # of two batches, 16 rows of four heads


LADDER = FOLDED.replace("HV: tl.constexpr", "HV: tl.constexpr, s, NT").replace(
    "    z = tl.dot(x, y)\n", "    z = tl.dot(x, y) + tl.load(s + p * D + d * (NT * D), mask=d < D)[None, :]\n"
)


def test_a_ratio_outweighs_what_strides_make_likely():
    assert dict(contract(LADDER).computed)["NT"] == "cdiv(T, BT)"
    assert dict(contract(LADDER.replace("(HV // H)", "(NT // H)")).computed)["NT"] == "ratio_NT * H"


def test_tiles_of_one_length_do_not_say_that_there_is_one_of_them():
    found = contract(
        """
@triton.jit
def kernel(a, k, w, T, H, D: tl.constexpr, BT: tl.constexpr, BC: tl.constexpr, BD: tl.constexpr, NC: tl.constexpr):
    p = tl.program_id(0)
    n, rest = p // (NC * tl.cdiv(D, BD)), p % (NC * tl.cdiv(D, BD))
    m, c = rest // NC, rest % NC
    i, d = tl.arange(0, BC), m * BD + tl.arange(0, BD)
    acc = tl.zeros([BC, BD], dtype=tl.float32)
    for j in range(c + 1, NC):
        rows = n * BT + j * BC + i
        x = tl.load(a + (c * BC + i)[:, None] + rows[None, :] * (H * BT), mask=rows[None, :] < T, other=0.0)
        y = tl.load(k + rows[:, None] * D + d[None, :], mask=(rows[:, None] < T) & (d[None, :] < D), other=0.0)
        acc += tl.dot(x, y)
    rows = n * BT + c * BC + i
    tl.store(w + rows[:, None] * D + d[None, :], acc, mask=(rows[:, None] < T) & (d[None, :] < D))
"""
    )
    assert found.computed == (("BT", "NC * BC"),)


GROUPS = """
@triton.jit
def kernel(q, k, o, sq, sqh, sqm, sk, skh, skm, so, soh, som, H, N, BM: tl.constexpr, BN: tl.constexpr,
           BD: tl.constexpr, G: tl.constexpr):
    p, b, g = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    z, h = b // H, b % H
    rows, d = p * BM + tl.arange(0, BM), tl.arange(0, BD)
    x = tl.load(q + z * sq + (h * G + g) * sqh + rows[:, None] * sqm + d[None, :], mask=rows[:, None] < N, other=0.0)
    acc = tl.zeros([BM, BD], dtype=tl.float32)
    for i in range(0, N, BN):
        keys = i + tl.arange(0, BN)
        y = tl.load(k + z * sk + h * skh + keys[:, None] * skm + d[None, :], mask=keys[:, None] < N, other=0.0)
        acc += tl.dot(tl.dot(x, tl.trans(y)).to(y.dtype), y)
    tl.store(o + z * so + (h * G + g) * soh + rows[:, None] * som + d[None, :], acc, mask=rows[:, None] < N)
"""


def test_a_stride_that_is_also_taken_several_times_is_the_launchs_to_choose():
    # Nothing here calls the kernel: that they are strides shows in how heads are counted alone.
    found = contract(GROUPS)
    kinds = {spec.name: spec.kind for spec in found.scalars}
    assert {kinds[name] for name in ("sqh", "soh")} == {"stride"}
    assert kinds["G"] == "size"
    assert dict(found.computed) == {"grid_2": "G"}


def test_a_factor_that_is_a_stride_of_its_own_counts_what_lies_side_by_side():
    found = contract(GROUPS.replace("h * skh", "h * G"))
    assert {spec.name: spec.kind for spec in found.scalars}["sqh"] == "size"


EDGES = """
@triton.jit
def kernel(q, k, o, starts, ends, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rows, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    first, last = FIRST, LAST
    x = tl.load(q + rows[:, None] * D + d[None, :])
    acc = tl.zeros([BM, D], dtype=tl.float32)
    for i in range(0, tl.cdiv(last - first, BN)):
        keys = i * BN + tl.arange(0, BN)
        y = tl.load(k + (first + keys)[:, None] * D + d[None, :], mask=(first + keys)[:, None] < last, other=0.0)
        acc += tl.dot(tl.dot(x, tl.trans(y)).to(y.dtype), y)
    tl.store(o + rows[:, None] * D + d[None, :], acc)
"""


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("tl.min(tl.load(starts + rows), 0)", "N"),
        ("0", "tl.minimum(tl.max(tl.load(ends + rows), 0), N)"),
        ("tl.maximum(tl.min(tl.load(starts + rows), 0), 0)", "tl.minimum(tl.max(tl.load(ends + rows), 0), N)"),
    ],
)
def test_of_tiles_between_the_least_and_the_largest_of_some_elements_no_launch_is_known(first, last):
    with pytest.raises(Decline, match=r"TLX606.*elements may be that") as refusal:
        contract(EDGES.replace("FIRST", first).replace("LAST", last))
    assert refusal.value.diagnostic.code == "TLX606"


def test_sums_that_no_address_is_made_of_are_no_matter():
    assert contract(EDGES.replace("FIRST", "0").replace("LAST", "N").replace("o + ", "o + 0 * tl.max(rows, 0) + "))
