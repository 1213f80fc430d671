"""Row sums of crowded loops are brought up to date before the next product."""

from __future__ import annotations

import pytest

pytest.importorskip("triton")

import triton.language as tl

import tlx
from tlx.lowering.early import moved

pytestmark = pytest.mark.triton


@tlx.jit
def attend(q, k, v, out, n, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    rows, columns, depth = tl.arange(0, M)[:, None], tl.arange(0, N), tl.arange(0, D)[None, :]
    k_tile, v_tile = tlx.local_alloc((N, D), tl.float16, 1), tlx.local_alloc((N, D), tl.float16, 1)
    query = tl.load(q + rows * D + depth)
    acc = tl.zeros((M, D), tl.float32)
    total = tl.zeros((M,), tl.float32)
    for i in range(n):
        at = (i * N + columns)[:, None] * D + depth
        tlx.local_store(k_tile[0], tl.load(k + at))
        tlx.local_store(v_tile[0], tl.load(v + at))
        scores = tlx.async_dot_wait(0, tlx.async_dot(query, tlx.local_trans(k_tile[0])))
        p = tl.exp2(scores)
        factor = tl.exp2(-tl.max(scores, 1))
        sums = tl.sum(p, 1)
        acc = tlx.async_dot_wait(0, tlx.async_dot(p.to(tl.float16), v_tile[0], acc * factor[:, None]))
        total = total * factor + sums
    tl.store(out + rows * D + depth, acc / total[:, None])


def order(compiled):
    """What the loop does, in order: products, and additions to the row sums."""
    found = []
    for line in compiled.asm["ttgir"].partition("scf.for")[2].splitlines():
        if "ttng.warp_group_dot " in line:
            found.append("product")
        elif "arith.addf" in line and "#ttg.slice" in line:
            found.append("update")
    return found


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [(128, ["product", "update", "product"]), (64, ["product", "product", "update"])],
    ids=["crowded", "registers left"],
)
def test_when_sums_are_updated(rows, wanted):
    signature = {"q": "*fp16", "k": "*fp16", "v": "*fp16", "out": "*fp32", "n": "i32"}
    constants = {"M": rows, "N": 128, "D": 128}
    assert order(tlx.compile(attend, signature, constants, divisible_by_16=["q", "k", "v", "out"])) == wanted


HEAD = 'module attributes {"ttg.num-warps" = 4 : i32} {'
ROWS = "tensor<128xf32, #rows>"
PRODUCT = "%{0} = ttng.warp_group_dot %q, %t, %z : !a * !b -> tensor<128x128xf32, #mma>"
LOOP = f"""\
{HEAD}
  %0 = scf.for %i = %lo to %hi step %one iter_args(%l = %n) -> ({ROWS})  : i32 {{
    {PRODUCT.format("a")}
    %s = "tt.reduce"(%a) <{{axis = 1 : i32}}> ({{
    ^bb0(%x: f32, %y: f32):
      %xy = arith.addf %x, %y : f32
      tt.reduce.return %xy : f32
    }}) : (tensor<128x128xf32, #mma>) -> {ROWS}
    %f = math.exp2 %s : {ROWS}
    "use"(%f) : ({ROWS}) -> ()
    {PRODUCT.format("b")}
    %l1 = arith.mulf %l, %f : {ROWS}
    %l2 = arith.addf %l1, %s : {ROWS}
    scf.yield %l2 : {ROWS}
  }}
}}"""


def codes(text):
    return [line.split()[0] for line in text.splitlines()]


def test_the_text():
    assert (
        codes(moved(LOOP))[2:14] == '%a %s ^bb0(%x: %xy tt.reduce.return }) %f %l1 %l2 "use"(%f) %b scf.yield'.split()
    )
    assert moved(moved(LOOP)) == moved(LOOP)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(HEAD, HEAD.replace("4 :", "8 :"), id="twice the threads"),
        pytest.param(PRODUCT.format("b"), "%b = math.exp2 %a : tensor<128x128xf32, #mma>", id="one product"),
        pytest.param("arith.mulf %l, %f", "arith.mulf %n, %b", id="needs the product"),
        pytest.param("arith.mulf %l, %f", "math.fma %l, %f, %f", id="no small operation"),
    ],
)
def test_what_stays(before, after):
    assert LOOP.count(before) == 1
    text = LOOP.replace(before, after)
    assert moved(text) == text


def test_what_would_keep_more_alive_stays():
    text = LOOP.replace("arith.mulf %l, %f", "arith.mulf %n, %n").replace("arith.addf %l1, %s", "arith.addf %l1, %l")
    assert "\n".join(codes(moved(text))).index("%b") < "\n".join(codes(moved(text))).index("%l1")
