"""The fork's own tutorials, unmodified, through ``tlx.install()``: they import and compile to what they are meant to
be.
"""

from __future__ import annotations

import warnings

import pytest

pytest.importorskip("triton")

from triton.runtime import driver

import tlx
from benchmarks.tutorials.blackwell import LAUNCHES
from tests.tlx import fork
from tlx.lowering import versions

pytestmark = [pytest.mark.triton, pytest.mark.slow]


@pytest.fixture
def tutorial(tmp_path, monkeypatch):
    """Loads a tutorial under ``tlx.install()``, as if an sm_90 GPU were here."""
    monkeypatch.setattr(driver, "_active", fork.NoGpu(90), raising=False)
    monkeypatch.setattr(driver, "_default", fork.NoGpu(90), raising=False)

    def load(name):
        fork.source(name)  # skips before anything is changed
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*configurations are left out")
            warnings.filterwarnings("ignore", message=".*names no argument with gropup_c_ptrs")
            warnings.filterwarnings("ignore", message="warmup, rep, and use_cuda_graph", category=DeprecationWarning)
            return fork.load(name, tmp_path, monkeypatch)

    tlx.install()
    yield load
    tlx.uninstall()


def desc(*block, dtype="fp16"):
    return f"tensordesc<{dtype}[{','.join(map(str, block))}]>"


def gemm(bm, bn, *, groups=2, subtile=1, **more):
    constants = {"BM": bm, "BN": bn, "BK": 64, "GROUP_SIZE_M": 8, "NUM_STAGES": 3, "NUM_MMA_WARPS": 8}
    constants |= {"NUM_MMA_GROUPS": groups, **more}
    rows = bm // groups
    signature = {"a_desc": desc(rows, 64), "b_desc": desc(64, bn), "c_desc": desc(rows, bn // subtile)}
    return {**signature, "M": "i32", "N": "i32", "K": "i32"}, constants


def column_major(case):
    signature, constants = case
    (rows, depth), (_, columns) = (64, 64), (64, constants["BN"])
    signature = {**signature, "a_desc": desc(depth, rows), "b_desc": desc(columns, depth)}
    return signature, {**constants, "A_ROW_MAJOR": False, "B_ROW_MAJOR": False}


def attention(**more):
    signature = {"sm_scale": "fp32", "M": "*fp32", "Z": "i32", "H": "i32", "N_CTX": "i32"}
    signature |= {"desc_q": desc(64, 128), "desc_o": desc(64, 128), "desc_k": desc(128, 128), "desc_v": desc(128, 128)}
    constants = {"HEAD_DIM": 128, "BLOCK_M": 128, "BLOCK_N": 128, "FP8_OUTPUT": False, "NUM_MMA_WARPS": 8}
    return signature, {**constants, "NUM_MMA_GROUPS": 2, **more}


STRIDES = dict.fromkeys("stride_am stride_bk stride_cm".split(), "i32")
ONES = dict.fromkeys("stride_ak stride_bn stride_cn".split(), 1)
POINTERS = dict.fromkeys("a_ptr b_ptr c_ptr".split(), "*fp16")
SKINNY = {"SPLIT_K": 1, "BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_SIZE_M": 8, "NUM_STAGES": 3}
WS = {"EPILOGUE_SUBTILE": False, "NUM_CTAS": 1, "NUM_SMS": 132}
PERSISTENT = {"NUM_SMS": 132, "EPILOGUE_SUBTILE": 2}

#: id → tutorial, kernel, (signature, constants), default warps
HOPPER = {
    "gemm_ws": ("hopper_gemm_ws", "matmul_kernel_tlx_ws", gemm(128, 256, **WS), 4),
    "gemm_ws subtiled, warp barriers": (
        "hopper_gemm_ws",
        "matmul_kernel_tlx_ws",
        gemm(128, 256, subtile=2, **(WS | {"EPILOGUE_SUBTILE": True, "USE_WARP_BARRIER": True})),
        4,
    ),
    "gemm_ws column-major": ("hopper_gemm_ws", "matmul_kernel_tlx_ws", column_major(gemm(128, 256, **WS)), 4),
    "skinny cp.async": (
        "hopper_gemm_ws",
        "_skinny_matmul_kernel",
        ({**POINTERS, **STRIDES, "stride_ck": "i32", "M": "i32", "N": "i32", "K_LEN": "i32"}, {**ONES, **SKINNY}),
        4,
    ),
    "skinny TMA": (
        "hopper_gemm_ws",
        "_skinny_tma_kernel",
        (
            {
                "a_desc": desc(128, 64),
                "b_desc": desc(64, 128),
                "c_ptr": "*fp16",
                **dict.fromkeys("M N K_LEN stride_ck stride_cm K_START".split(), "i32"),
            },
            {**SKINNY, "stride_cn": 1},
        ),
        4,
    ),
    "gemm_pipelined": (
        "hopper_gemm_pipelined",
        "matmul_kernel_pipelined_hopper",
        (
            {**POINTERS, **STRIDES, "M": "i32", "N": "i32", "K": "i32"},
            {
                **ONES,
                "BLOCK_SIZE_M": 128,
                "BLOCK_SIZE_N": 256,
                "BLOCK_SIZE_K": 64,
                "GROUP_SIZE_M": 8,
                "NUM_STAGES": 3,
            },
        ),
        8,
    ),
    "persistent cooperative": (
        "hopper-persistent-gemm-ws-cooperative",
        "matmul_kernel_tlx_ws_persistent",
        gemm(128, 256, subtile=2, **PERSISTENT),
        4,
    ),
    "persistent pingpong": (
        "hopper-persistent-gemm-ws-pingpong",
        "matmul_kernel_tlx_ws_persistent",
        (
            {**gemm(128, 128, groups=1)[0], "c_desc": desc(128, 64)},
            gemm(128, 128, **PERSISTENT, USE_NAMED_BARRIER=True)[1],
        ),
        4,
    ),
    "fa_ws": ("hopper_fa_ws", "_attn_fwd_ws", attention(NUM_BUFFERS=2), 4),
    "fa_ws_pipelined": ("hopper_fa_ws_pipelined", "_attn_fwd_ws_pipelined", attention(NUM_BUFFERS=2), 4),
    "fa pingpong": (
        "hopper_fa_ws_pipelined_pingpong",
        "_attn_fwd_ws_pipelined_pingpong",
        attention(NUM_BUFFERS=2),
        4,
    ),
    "fa pingpong persistent": (
        "hopper_fa_ws_pipelined_pingpong_persistent",
        "_attn_fwd_ws_pipelined_pingpong_persistent",
        attention(NUM_BUFFERS_Q=1, NUM_BUFFERS_KV=2),
        4,
    ),
}

#: bytes of stack. fbtriton 3.7.4 needs 8, 8 and 24 (40 with the assembler of Triton 3.9), and 32 for the last.
SPILLED = {"fa_ws_pipelined": 8, "fa pingpong": 8, "fa pingpong persistent": 40, "blackwell_fa_ws": 8}


@pytest.mark.skipif(not versions.CLUSTERS, reason=versions.too_old("a cluster"))
def test_hopper_in_pairs(tutorial):
    module = tutorial("hopper_gemm_ws")
    signature, constants = gemm(128, 256, **(WS | {"NUM_CTAS": 2}))
    signature["b_desc"] = desc(64, 128)
    compiled = tlx.compile(
        module.matmul_kernel_tlx_ws, signature, constants, num_stages=1, options={"num_ctas": 2}, divisible_by_16="MNK"
    )
    assert compiled.facts.stack == 0
    # Each CTA loads its half of B for both.
    assert "multicast::cluster" in compiled.asm["ptx"]
    assert compiled.asm["ptx"].count("mapa.shared::cluster") >= 1


@pytest.mark.parametrize("case", HOPPER)
def test_hopper(case, tutorial):
    name, kernel, (signature, constants), warps = HOPPER[case]
    module = tutorial(name)
    # What Triton's launcher would find out about matrices of 4096 x 4096.
    aligned = [name for name, ty in signature.items() if ty[0] == "*" or ty == "i32"]
    compiled = tlx.compile(
        getattr(module, kernel), signature, constants, num_warps=warps, num_stages=1, divisible_by_16=aligned
    )
    facts = compiled.facts
    assert facts.stack <= SPILLED.get(case, 0), facts.log
    assert facts.counts["HGMMA"] > 0
    assert facts.dot_loop_conversions == ()


#: those that need no cluster
BLACKWELL = {launch["case"]: launch for launch in LAUNCHES if launch["target"] == 100}


@pytest.mark.skipif(not versions.CLC, reason=versions.too_old("cluster launch control", versions.CLC_SINCE))
@pytest.mark.parametrize("case", BLACKWELL)
def test_blackwell(case, tutorial, monkeypatch):
    monkeypatch.setattr(driver, "_active", fork.NoGpu(100))
    launch = BLACKWELL[case]
    module = tutorial(launch["file"].removesuffix(".py"))
    compiled = tlx.compile(
        getattr(module, launch["kernel"]),
        launch["signature"],
        launch["constexprs"],
        num_stages=1,
        divisible_by_16=launch["divisible"],
        target="sm_100",
    )
    assert "tcgen05.mma" in compiled.asm["ptx"]
    assert compiled.facts.stack <= SPILLED.get(case, 0), compiled.facts.log
