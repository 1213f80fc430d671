"""Launches of Meta's Blackwell tutorials, and of the Hopper one that needs a cluster: compiled only, on Triton 3.9.

    python -m benchmarks.tutorials.blackwell --out launches.json

The file has the form of what record.py writes, so build.py compiles it. No such GPU is at hand and the host code asks
for one, so the launches are written down here: configurations out of the tutorials' own tuners, sizes as of matrices of
4096 x 4096.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any


def desc(*block: int, dtype: str = "fp16") -> str:
    """The type of a descriptor."""
    return f"tensordesc<{dtype}[{', '.join(map(str, block))}]>"


def launch(
    case: str, file: str, kernel: str, signature: dict[str, str], constexprs: dict[str, Any], **more: Any
) -> dict[str, Any]:
    """One entry; pointers and sizes are multiples of 16. What the kernel gives defaults to may be left out."""
    return {
        "case": case,
        "file": f"{file}.py",
        "kernel": kernel,
        "signature": signature,
        "constexprs": constexprs,
        "divisible": [name for name, kind in signature.items() if kind[0] == "*" or kind == "i32"],
        "options": {"num_warps": 4, "num_stages": 1, **more.get("options", {})},
        "target": more.get("target", 100),
    }


SIZES = dict.fromkeys("MNK", "i32")
POINTERS = dict.fromkeys("a_ptr b_ptr c_ptr".split(), "*fp16")
STRIDES = dict.fromkeys("stride_am stride_bk stride_cm".split(), "i32")
ONES = dict.fromkeys("stride_ak stride_bn stride_cn".split(), 1)
GROUPED = dict.fromkeys("group_a_ptrs group_b_ptrs group_c_ptrs".split(), "*i64")
TILE = {"BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 256, "BLOCK_SIZE_K": 64}
RINGS = {"NUM_SMEM_BUFFERS": 3, "NUM_TMEM_BUFFERS": 2}

LAUNCHES = (
    launch(
        "blackwell_gemm_ws",
        "blackwell_gemm_ws",
        "matmul_kernel_tma_ws_blackwell",
        {
            "a_desc": desc(128, 64),
            "b_desc": desc(64, 256),
            "c_desc": desc(128, 64),
            "workspace_desc": desc(128, 64),
            **SIZES,
        },
        {
            **TILE,
            **RINGS,
            "GROUP_SIZE_M": 8,
            "NUM_MMA_GROUPS": 1,
            "EPILOGUE_SUBTILE": 4,
            "NUM_CTAS": 1,
            "SPLIT_K": 1,
            "INTERLEAVE_EPILOGUE": 0,
            "NUM_SMS": 148,
        },
    ),
    launch(
        "blackwell_gemm_pipelined",
        "blackwell_gemm_pipelined",
        "matmul_kernel_tma_pipelined_blackwell",
        {**POINTERS, **STRIDES, **SIZES},
        {**ONES, **TILE, "GROUP_SIZE_M": 8, "NUM_STAGES": 3},
    ),
    launch(
        "blackwell_gemm_clc",
        "blackwell_gemm_clc",
        "matmul_kernel_tma_ws_blackwell_clc",
        {"a_desc": desc(128, 64), "b_desc": desc(64, 256), "c_desc": desc(128, 128), **SIZES},
        {**TILE, **RINGS, "GROUP_SIZE_M": 8, "NUM_SMS": 148, "NUM_CLC_STAGES": 1, "EPILOGUE_SUBTILE": True},
    ),
    launch(
        "blackwell_grouped_gemm",
        "blackwell-grouped-gemm_test",
        "grouped_matmul_tlx_kernel",
        {**GROUPED, "group_gemm_sizes": "*i32", "g_lds": "*i32", "group_size": "i32"},
        {**TILE, **RINGS, "NUM_SM": 148, "EPILOGUE_SUBTILE": 4, "FP8": False, "NUM_CTAS": 1},
    ),
    launch(
        "blackwell_fa_ws",
        "blackwell_fa_ws",
        "_attn_fwd_ws",
        {
            "sm_scale": "fp32",
            "M": "*fp32",
            **dict.fromkeys("Z H N_CTX".split(), "i32"),
            **dict.fromkeys("desc_q desc_k desc_v desc_o".split(), desc(128, 128)),
        },
        {
            "HEAD_DIM": 128,
            "BLOCK_M": 256,
            "BLOCK_N": 128,
            "FP8_OUTPUT": False,
            "NUM_BUFFERS_KV": 3,
            "NUM_BUFFERS_QK": 1,
            "NUM_MMA_GROUPS": 2,
        },
    ),
    launch(
        "gemm_ws-128x256-s3-pair",
        "hopper_gemm_ws",
        "matmul_kernel_tlx_ws",
        {"a_desc": desc(64, 64), "b_desc": desc(64, 128), "c_desc": desc(64, 256), **SIZES},
        {
            "BM": 128,
            "BN": 256,
            "BK": 64,
            "GROUP_SIZE_M": 8,
            "NUM_STAGES": 3,
            "NUM_MMA_WARPS": 8,
            "NUM_MMA_GROUPS": 2,
            "EPILOGUE_SUBTILE": False,
            "NUM_CTAS": 2,
            "NUM_SMS": 132,
        },
        target=90,
        options={"ctas_per_cga": [2, 1, 1]},
    ),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.parse_args().out.write_text(json.dumps({"launches": LAUNCHES}, indent=1) + "\n")


if __name__ == "__main__":
    main()
