"""What loops carry only to narrow it, they carry narrow."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("triton")

import triton.language as tl

import tlx
from tests.tlx.behaviour import products
from tlx.lowering.narrowing import carried, narrowed, split

pytestmark = pytest.mark.triton


def carries(compiled):
    """Element types of the blocks that the first loop carries."""
    line = next(line for line in compiled.asm["ttgir"].splitlines() if "scf.for" in line)
    return re.findall(r"tensor<(?:\d+x)+(\w+)", line.partition("-> (")[2])


@tlx.jit
def rounds(x, out, n, NARROW: tl.constexpr, LAST: tl.constexpr, READ: tl.constexpr):
    at = tl.arange(0, 128)
    total = tl.zeros((128,), tl.float32)
    p = tl.load(x + at)
    for i in range(n):
        total += p.to(NARROW).to(tl.float32)
        if READ == "in the loop":
            total += p
        p = tl.exp2(tl.load(x + i * 128 + at))
    if READ == "after the loop":
        total += p
    if LAST is not None:
        total += p.to(LAST).to(tl.float32)
    tl.store(out + at, total)


@pytest.mark.parametrize(
    ("narrow", "last", "read", "kinds"),
    [
        pytest.param(tl.float16, tl.float16, "", ["f32", "f16"], id="converted after the loop as well"),
        pytest.param(tl.bfloat16, None, "", ["f32", "bf16"], id="not needed after the loop"),
        pytest.param(tl.float8e5, None, "", ["f32", "f8E5M2"], id="8 bits"),
        pytest.param(tl.float16, tl.bfloat16, "", ["f32", "f32"], id="converted otherwise after the loop"),
        pytest.param(tl.float16, None, "in the loop", ["f32", "f32"], id="read in the loop"),
        pytest.param(tl.float16, None, "after the loop", ["f32", "f32"], id="read after the loop"),
        pytest.param(tl.float64, None, "", ["f32", "f32"], id="widened"),
    ],
)
def test_what_a_loop_carries(narrow, last, read, kinds):
    signature = {"x": "*fp32", "out": "*fp32", "n": "i32"}
    compiled = tlx.compile(rounds, signature, {"NARROW": narrow, "LAST": last, "READ": read})
    assert carries(compiled) == kinds
    # Conversions that convert nothing are gone.
    assert not re.search(r"ttg\.convert_layout %\S+ : (tensor<\S+ #\w+>) -> \1", compiled.asm["ttgir"])


def test_the_operand_of_a_product():
    case = products.CASES["kept"]
    compiled = tlx.compile(case.kernel, case.signature, case.constants, num_warps=case.warps)
    assert carries(compiled) == ["f32", "f16"]


LOOPS = """\
  %0 = scf.for %i = %lo to %hi step %one iter_args(%a = %wide) -> (tensor<64xf32, #b>)  : i32 {
    %1:2 = scf.for %j = %lo to %hi step %one iter_args(%c = %wide, %k = %n) -> (tensor<64xf32, #b>, i32)  : i32 {
      %2 = arith.truncf %c : tensor<64xf32, #b> to tensor<64xf16, #b> loc(#loc1)
      "use"(%2) : (tensor<64xf16, #b>) -> () loc(#loc1)
      %3 = math.exp2 %c0 : tensor<64xf32, #b> loc(#loc1)
      scf.yield %3, %k : tensor<64xf32, #b>, i32 loc(#loc2)
    } loc(#loc3)
    %4 = math.exp2 %a : tensor<64xf32, #b> loc(#loc1)
    scf.yield %4 : tensor<64xf32, #b> loc(#loc2)
  } loc(#loc3)
"""

NARROWED = """\
  %0 = scf.for %i = %lo to %hi step %one iter_args(%a = %wide) -> (tensor<64xf32, #b>)  : i32 {
%tlx_start_0 = arith.truncf %wide : tensor<64xf32, #b> to tensor<64xf16, #b> loc(#loc1)
    %1:2 = scf.for %j = %lo to %hi step %one iter_args(%c = %tlx_start_0, %k = %n) -> (tensor<64xf16, #b>, i32)  : i32 {
%2 = ttg.convert_layout %c : tensor<64xf16, #b> -> tensor<64xf16, #b> loc(#loc1)
      "use"(%2) : (tensor<64xf16, #b>) -> () loc(#loc1)
      %3 = math.exp2 %c0 : tensor<64xf32, #b> loc(#loc1)
%tlx_again_0 = arith.truncf %3 : tensor<64xf32, #b> to tensor<64xf16, #b> loc(#loc1)
scf.yield %tlx_again_0, %k : tensor<64xf16, #b>, i32 loc(#loc2)
    } loc(#loc3)
    %4 = math.exp2 %a : tensor<64xf32, #b> loc(#loc1)
    scf.yield %4 : tensor<64xf32, #b> loc(#loc2)
  } loc(#loc3)
"""


def test_the_text():
    (found,) = carried(LOOPS)
    assert (found.index, found.conversion.code, len(found.readers)) == (0, "arith.truncf", 1)
    assert narrowed(LOOPS) == NARROWED.rstrip("\n")
    assert narrowed(NARROWED) == NARROWED.rstrip("\n"), "once is enough"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("%3 = math.exp2 %c0 :", "%3 = ttng.warp_group_dot %x, %y, %c0 :"),
        ("scf.yield %4 :", '"use"(%1#0) : (tensor<64xf32, #b>) -> ()\n    scf.yield %4 :'),
        ("scf.yield %4 :", '"use"(%1) : (tensor<64xf32, #b>) -> ()\n    scf.yield %4 :'),
        ("math.exp2 %c0", "math.exp2 %c"),
        ("to tensor<64xf16, #b>", "to tensor<64xf64, #b>"),
    ],
    ids=["in flight", "read after the loop", "read with its neighbours", "read in the loop", "widened"],
)
def test_what_stays_wide(before, after):
    assert LOOPS.count(before) == 1
    assert list(carried(LOOPS.replace(before, after))) == []


def test_types_are_told_apart_at_their_own_commas():
    types = "tensor<4xf32, #ttg.slice<{dim = 1, parent = #b}>>, i32, !ttg.memdesc<1xi64, #s, #smem>"
    assert split(types) == [
        "tensor<4xf32, #ttg.slice<{dim = 1, parent = #b}>>",
        "i32",
        "!ttg.memdesc<1xi64, #s, #smem>",
    ]
