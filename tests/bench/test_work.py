"""Operations and bytes of corpus kernels, counted by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tlxify.bench.itemsize import itemsize
from tlxify.bench.roofline import Ceilings
from tlxify.bench.shapes import Unknown, filling, named, parse, title
from tlxify.bench.sizes import sizes_of
from tlxify.bench.work import Work, work_of
from tlxify.pipeline import analyze
from tlxify.source import SourceFile

CORPUS = Path(__file__).parents[2] / "corpus"


def analysed(path):
    found = analyze(SourceFile.read(CORPUS / path))[0]
    assert found.contract is not None
    return found


def work(path, **sizes):
    found = analysed(path)
    case = named(found.contract, sizes)
    numbers = sizes_of(found.contract, case)
    return work_of(found.contract, found.facts, numbers), numbers


def test_a_product_counts_no_padding():
    found, _ = work("gemm/matmul.py", M=1000, N=500, K=300)
    assert found.flops == pytest.approx(2 * 1000 * 500 * 300)
    assert found.bytes == 2 * (1000 * 300 + 300 * 500 + 1000 * 500)
    assert found.dtype == "fp16"


def test_programs_that_share_the_tiles_out_count_each_once():
    found, _ = work("gemm/persistent.py", M=1024, N=2048, K=512)
    assert found.flops == pytest.approx(2 * 1024 * 2048 * 512)


def test_attention_counts_both_products_and_the_causal_half():
    full, numbers = work("attention/forward.py", Q_LEN=2048, K_LEN=2048, HEAD_DIM=128)
    heads = numbers.grid[1]
    assert full.flops == pytest.approx(4 * heads * 2048 * 2048 * 128)
    causal, numbers = work("attention/causal.py", N_CTX=2048, HEAD_DIM=128)
    exact = 4 * numbers.grid[1] * 128 * sum((pid + 1) * 128 * 128 for pid in range(2048 // 128))
    assert causal.flops == pytest.approx(exact)


def test_a_loop_with_a_start_that_is_not_known_counts_as_the_contract_does():
    found, numbers = work("attention/backward_kv.py", T=2048)
    depth = numbers.tensors[0].shape[-1]
    assert found.flops == pytest.approx(4 * 2 * numbers.grid[1] * 2048 * 2048 * depth)


def test_without_any_count_the_bytes_remain():
    found = analysed("gemm/matmul.py")
    numbers = sizes_of(found.contract, named(found.contract, {}))
    (loop,), (dot,) = found.facts.loops, found.facts.dots
    nested = replace(loop, span=replace(loop.span, line=loop.span.line + 1), stop=None)
    facts = replace(found.facts, loops=(loop, nested), dots=(replace(dot, loops=(loop.span, nested.span)),))
    assert work_of(found.contract, facts, numbers).flops is None
    assert work_of(found.contract, facts, numbers).bytes > 0


def test_the_floor_is_the_slower_of_two():
    ceilings = Ceilings(tflops=800.0, gbps=4000.0)
    assert ceilings.floor(Work(8e11, 4e6, "bf16")) == pytest.approx(1000.0)
    assert ceilings.floor(Work(8e11, 4e6, "fp8e4nv")) == pytest.approx(500.0)
    assert ceilings.floor(Work(8e11, 4e6, "fp32")) == pytest.approx(2000.0)
    assert ceilings.floor(Work(None, 4e9, "bf16")) == pytest.approx(1000.0)


@pytest.mark.parametrize(
    ("dtype", "size"), [("fp16", 2), ("bf16", 2), ("fp8e4nv", 1), ("fp8e5", 1), ("i64", 8), ("u8", 1), ("i1", 1)]
)
def test_sizes_of_elements(dtype, size):
    assert itemsize(dtype) == size


def test_unknown_types_are_refused():
    with pytest.raises(ValueError, match="float16"):
        itemsize("float16")


def test_shapes_fill_the_chip_and_have_stable_names():
    contract = analysed("gemm/matmul.py").contract
    cases = filling(contract)
    assert all(sizes_of(contract, case).grid[0] >= 132 for case in cases)
    assert title(contract, cases[0]) == "M=4096, N=8192, K=4096, ACTIVATION=''; fp16"
    assert len({title(contract, case) for case in cases}) == len(cases)


def test_sizes_that_a_kernel_lacks_are_refused():
    contract = analysed("gemm/matmul.py").contract
    assert parse("M=4096, K=512") == {"M": 4096, "K": 512}
    with pytest.raises(Unknown, match="NAME=NUMBER"):
        parse("M=x")
    with pytest.raises(Unknown, match="has no size Q; it has M, N, K"):
        named(contract, {"Q": 3})
