"""What the lowering does so that registers last, seen in the machine code."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("triton")

import triton.language as tl

import tlx
from tests.tlx.kernels.attention_ws import attention_ws
from tlx.lowering import sass

pytestmark = pytest.mark.triton


def test_addresses_of_a_tile_that_stays_leave_room_for_others():
    block = "tensordesc<fp16[128,128]>"
    signature = {"q_desc": block, "k_desc": block, "v_desc": block, "out_desc": block, "qk_scale": "fp32"}
    constants = {"BLOCK_M": 128, "BLOCK_N": 128, "HEAD": 128, "GROUPS": 1, "STAGES": 2}
    compiled = tlx.compile(attention_ws, {**signature, "N_CTX": "i32"}, constants)
    (loop,) = sass.innermost_with(sass.parse(sass.disassemble(compiled.asm["cubin"])), "HGMMA")
    opcodes = [instruction.opcode for instruction in loop]
    # 128 rows of scores and of output do not fit one warp group's registers.
    assert "LDL" in opcodes
    # But what is the same in all threads is in none of them.
    assert "R2UR" not in opcodes


@tlx.jit
def total(out, COLUMNS: tl.constexpr):
    scores = tlx.local_alloc((128, COLUMNS), tl.float32, 1, tlx.storage_kind.tmem)
    tl.store(out + tl.arange(0, 128), tl.sum(tlx.local_load(scores[0]), 1))


def test_sums_of_long_rows_are_not_packed():
    text = tlx.compile(total, {"out": "*fp32"}, {"COLUMNS": 128}, target="sm_100").asm["llir"]
    # LLVM packs some of them again, but only such as already lie in pairs.
    assert len(re.findall(r"= fadd (contract )?float", text)) >= 64
    assert not re.findall(r"= f(sub|mul|neg)", text)


def test_other_sums_are_left_to_triton():
    text = tlx.compile(total, {"out": "*fp32"}, {"COLUMNS": 64}, target="sm_100").asm["ttgir"]
    assert re.search(r"arith\.addf %\S+, %\S+ : f32\s+tt\.reduce\.return", re.sub(r" loc\(.*\)", "", text))
