"""Reading compiled kernels: loops of machine code, ptxas remarks, conversions in the IR."""

from __future__ import annotations

import pytest

pytest.importorskip("triton")

import triton
import triton.language as tl

import tlx
from tlx.lowering import flights, inspect, sass

pytestmark = pytest.mark.triton


def listing(*instructions):
    return "\n".join(f"        /*{16 * n:04x}*/   {text} ;   /* 0x0 */" for n, text in enumerate(instructions))


#: a k-loop whose spin-wait lies out of line behind it, in an outer loop over tiles, beside a second loop
NEST = listing(
    "MOV R1, c[0x0][0x28]",  # 000
    "IADD3 R0, R0, 0x1, RZ",  # 010  tile loop
    "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R2",  # 020  k-loop
    "@!P0 BRA 0x0b0",  # 030
    "HGMMA.64x256x16.F32 R24, gdesc[UR8], R24",  # 040
    "@P1 BRA 0x020",  # 050
    "STG.E [R2], R4",  # 060
    "@P2 BRA 0x010",  # 070
    "UTMALDG.2D [UR16], [UR20]",  # 080
    "@P3 BRA 0x080",  # 090
    "EXIT",  # 0a0
    "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R2",  # 0b0
    "@!P0 BRA 0x0b0",  # 0c0
    "BRA 0x040",  # 0d0
    "BRA 0x0e0",  # 0e0
)


def test_instructions():
    code = sass.parse(NEST)
    assert [i.opcode for i in code[:3]] == ["MOV", "IADD3", "SYNCS"]
    assert code[3].guarded
    assert code[3].target == 0xB0
    assert not code[13].guarded
    assert code[4].target is None


def test_the_innermost_loop_has_its_out_of_line_part():
    (body,) = sass.innermost_with(sass.parse(NEST), "HGMMA")
    assert [i.address for i in body] == [0x20, 0x30, 0x40, 0x50, 0xB0, 0xC0, 0xD0]
    (loads,) = sass.innermost_with(sass.parse(NEST), "UTMALDG")
    assert [i.address for i in loads] == [0x80, 0x90]


def test_a_peeled_product_does_not_make_the_outer_loop_hot():
    peeled = NEST.replace("IADD3 R0, R0, 0x1, RZ", "HGMMA.64x256x16.F32 R24, gdesc[UR8], R24")
    (body,) = sass.innermost_with(sass.parse(peeled), "HGMMA")
    assert body[0].address == 0x20


def test_straight_code_has_no_loop():
    assert sass.loops(sass.parse(listing("MOV R1, R2", "HGMMA.64x8x16 R0, R1", "EXIT"))) == []


def test_an_opcode_outside_loops_is_not_found():
    assert sass.innermost_with(sass.parse(NEST), "EXIT") == []
    (outer,) = sass.innermost_with(sass.parse(NEST), "STG")
    assert len(outer) == 10


# ruff: noqa: E501
TTGIR = """
  scf.for %i = %a to %b step %c : i32 {
    %x = ttg.convert_layout %w : tensor<64x64xf16, #blocked> -> tensor<64x64xf16, #blocked1>
    %r = scf.for %k = %a to %b step %c iter_args(%acc = %z) -> (tensor<64x64xf32, #mma>) : i32 {
      %d = ttng.warp_group_dot %p, %q, %acc {isAsync = true} : !ttg.memdesc<64x64xf16> -> tensor<64x64xf32, #mma>
      %o = ttg.convert_layout %t : tensor<64x64xf16, #mma> -> tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
      scf.if %cond {
        %y = ttg.convert_layout %d : tensor<64x64xf32, #mma> -> tensor<64x64xf32, #blocked>
      } else {
        %u = ttg.convert_layout %t : tensor<64x64xf16, #mma1> -> tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
      }
    }
    %e = ttng.warp_group_dot %p, %q, %r {isAsync = true} : !ttg.memdesc<64x64xf16> -> tensor<64x64xf32, #mma>
    %v = ttg.convert_layout %e : tensor<64x64xf32, #mma> -> tensor<64x64xf32, #blocked>
  }
"""


def test_conversions_in_the_dot_loop():
    found = inspect.dot_loop_conversions(TTGIR)
    # Not those of the outer loop, nor the one that only renames registers.
    assert [line.split(" ")[0] for line in found] == ["%y", "%u"]
    assert inspect.dot_loop_conversions(TTGIR.replace("warp_group_dot", "other")) == ()


def test_conversions_that_a_kernel_asks_for_or_that_cost_nothing():
    loading = TTGIR.replace("      scf.if %cond {", "      %g = tt.load %addresses\n      scf.if %cond {")
    assert inspect.dot_loop_conversions(loading) == ()
    between = loading.replace("#blocked>", "#mma1>")
    assert [line.split(" ")[0] for line in inspect.dot_loop_conversions(between)] == ["%y"]
    assert inspect.dot_loop_conversions(TTGIR.replace("64x64", "64x1")) == ()


@triton.jit
def plain_matmul(a, b, c, K, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, 64):
        depth = k + tl.arange(0, 64)
        left = tl.load(a + rows[:, None] * K + depth[None, :])
        right = tl.load(b + depth[:, None] * BLOCK + rows[None, :])
        acc = tl.dot(left, right, acc)
    tl.store(c + rows[:, None] * BLOCK + rows[None, :], acc)


def test_facts_of_a_plain_kernel():
    signature = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "K": "i32"}
    compiled = tlx.compile(plain_matmul, signature, {"BLOCK": 128}, divisible_by_16=["a", "b", "c", "K"], num_warps=8)
    facts = compiled.facts
    assert set(compiled.asm) >= {"ttgir", "llir", "ptx", "cubin"}
    assert facts.num_warps == 8
    assert facts.counts["UTMALDG"] == facts.counts["USETMAXREG"] == 0
    assert len(facts.dot_loops) == 1
    assert facts.dot_loops[0]["HGMMA"] == 4
    assert facts.shared == compiled.shared > 0


@tlx.jit
def spills(a, out, BLOCK: tl.constexpr):
    values = tl.load(a + tl.arange(0, BLOCK))
    total = tl.zeros((BLOCK,), tl.float32)
    for step in range(4):
        total = total * values + tl.sum(total + step)
    tl.store(out + tl.arange(0, BLOCK), total)


def test_spills_are_seen():
    facts = tlx.compile(spills, {"a": "*fp32", "out": "*fp32"}, {"BLOCK": 16384}).facts
    assert facts.spills
    assert facts.spill_stores > 0
    assert facts.counts["STL"] > 0


@tlx.jit
def reads_in_flight(a, out):
    tile = tlx.local_alloc((64, 64), tl.float16, 2)
    acc = tl.zeros((64, 64), tl.float32)
    for _ in range(8):
        acc = tlx.async_dot(tile[0], tile[1], acc)
        acc = acc * 2.0
    acc = tlx.async_dot_wait(0, acc)
    offsets = tl.arange(0, 64)
    tl.store(out + offsets[:, None] * 64 + offsets[None, :], acc)


def test_a_result_read_too_early_is_seen(monkeypatch):
    # The language refuses such a kernel; the assembler's remark is looked at for what the language cannot see.
    monkeypatch.setattr(flights, "check", lambda text: None)
    facts = tlx.compile(reads_in_flight, {"a": "*fp16", "out": "*fp32"}).facts
    assert facts.injected_waits
    assert not facts.budget_ignored


def test_serialized_products_are_seen():
    signature = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "K": "i32"}
    facts = tlx.compile(plain_matmul, signature, {"BLOCK": 128}, options={"maxnreg": 96}).facts
    assert facts.serialized
    assert 7511 in facts.notes
