"""What is measured: tutorial, one of its own configurations, operand layouts, problems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Case:
    """One kernel of one tutorial under one configuration of its own autotuner."""

    name: str
    #: file name in the folder of tutorials
    file: str
    #: host function that is called with tensors
    host: str
    #: the module's global that holds the autotuned kernel
    kernel: str
    #: "gemm": M, N, K; "attention": batch, heads, context, head size
    kind: str
    #: what the configuration's keywords (and num_warps) must be; exactly one configuration must match
    config: Mapping[str, Any]
    problems: tuple[tuple[int, ...], ...]
    #: operands of a gemm that are stored column by column, out of "A" and "B"
    column_major: str = ""
    #: whether it is run on a GPU too; the others only add to the comparison of machine code
    timed: bool = True


SQUARE = ((4096, 4096, 4096), (8192, 8192, 8192), (8192, 8192, 512))
#: few rows: the products that make the tutorial take its kernels for skinny operands
SKINNY = ((128, 8192, 8192), (64, 4096, 8192), (128, 4096, 4096))
#: from K > 8192 on it takes the one without descriptors
SKINNY_DEEP = ((128, 8192, 16384), (64, 4096, 16384), (128, 4096, 12288))
ATTENTION = ((4, 32, 1024, 128), (4, 32, 2048, 128), (4, 32, 4096, 128))


def _gemm_ws() -> list[Case]:
    def case(bm: int, bn: int, stages: int, subtile: bool, warp_barrier: bool, **more: Any) -> Case:
        config = {"BM": bm, "BN": bn, "NUM_STAGES": stages, "EPILOGUE_SUBTILE": subtile, "GROUP_SIZE_M": 8}
        config |= {"USE_WARP_BARRIER": warp_barrier, "NUM_CTAS": 1}
        marks = ("-subtile" if subtile else "") + ("-warpbar" if warp_barrier else "")
        order = f"-col{more['column_major']}" if more.get("column_major") else ""
        name = f"gemm_ws-{bm}x{bn}-s{stages}{marks}{order}"
        return Case(name, "hopper_gemm_ws.py", "matmul", "matmul_kernel_tlx_ws", "gemm", config, SQUARE, **more)

    return [
        case(128, 256, 3, False, False),
        case(128, 256, 4, True, False),
        case(128, 256, 3, False, True),
        case(256, 128, 4, True, False),
        case(128, 128, 4, True, True),
        case(128, 256, 4, True, False, column_major="A"),
        case(128, 256, 4, True, False, column_major="B"),
        case(128, 256, 4, True, False, column_major="AB"),
        # What the tutorial's tuner would also try.
        case(256, 128, 3, False, False, timed=False),
        case(256, 256, 2, True, False, timed=False),
        case(128, 128, 2, False, False, timed=False),
    ]


def _skinny() -> list[Case]:
    def case(kind: str, bm: int, bn: int, bk: int, stages: int, warps: int, timed: bool = True) -> Case:
        config = {"BLOCK_M": bm, "BLOCK_N": bn, "BLOCK_K": bk, "NUM_STAGES": stages, "GROUP_SIZE_M": 8}
        kernel, problems = ("_skinny_tma_kernel", SKINNY) if kind == "tma" else ("_skinny_matmul_kernel", SKINNY_DEEP)
        name = f"skinny_{kind}-{bm}x{bn}x{bk}-s{stages}-w{warps}"
        options = {**config, "num_warps": warps}
        return Case(name, "hopper_gemm_ws.py", "matmul", kernel, "gemm", options, problems, timed=timed)

    return [
        case("tma", 128, 128, 64, 4, 4),
        case("tma", 64, 128, 128, 2, 4),
        case("tma", 128, 256, 64, 3, 8),
        case("tma", 64, 64, 64, 3, 8, timed=False),
        case("cp_async", 128, 128, 64, 4, 4),
        case("cp_async", 64, 128, 64, 4, 4),
        case("cp_async", 128, 256, 64, 3, 8),
        case("cp_async", 64, 256, 128, 2, 8, timed=False),
    ]


def _persistent() -> list[Case]:
    host, kernel = "matmul_tlx_ws_persistent", "matmul_kernel_tlx_ws_persistent"
    cooperative = [
        Case(
            f"cooperative-{bm}x{bn}-s{stages}",
            "hopper-persistent-gemm-ws-cooperative.py",
            host,
            kernel,
            "gemm",
            {"BM": bm, "BN": bn, "NUM_STAGES": stages},
            SQUARE,
        )
        for bm, bn in ((128, 256), (256, 128))
        for stages in (3, 4)
    ]
    pingpong = [
        Case(
            f"pingpong-{'named' if named else 'mbarrier'}",
            "hopper-persistent-gemm-ws-pingpong.py",
            host,
            kernel,
            "gemm",
            {"USE_NAMED_BARRIER": named},
            SQUARE,
        )
        for named in (True, False)
    ]
    return cooperative + pingpong


def _attention() -> list[Case]:
    def case(stem: str, kernel: str, groups: int) -> Case:
        name = f"{stem}-g{groups}"
        file = f"hopper_{stem}.py"
        return Case(name, file, "attention", kernel, "attention", {"NUM_MMA_GROUPS": groups}, ATTENTION)

    return [
        case("fa_ws", "_attn_fwd_ws", 1),
        case("fa_ws", "_attn_fwd_ws", 2),
        case("fa_ws_pipelined", "_attn_fwd_ws_pipelined", 1),
        case("fa_ws_pipelined", "_attn_fwd_ws_pipelined", 2),
        case("fa_ws_pipelined_pingpong", "_attn_fwd_ws_pipelined_pingpong", 2),
        case("fa_ws_pipelined_pingpong_persistent", "_attn_fwd_ws_pipelined_pingpong_persistent", 2),
    ]


PIPELINED = Case(
    "gemm_pipelined",
    "hopper_gemm_pipelined.py",
    "matmul",
    "matmul_kernel_pipelined_hopper",
    "gemm",
    {"BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 256},
    SQUARE,
)

CASES: tuple[Case, ...] = (*_gemm_ws(), *_skinny(), PIPELINED, *_persistent(), *_attention())


def by_name(name: str) -> Case:
    """The case of that name.

    Raises:
        KeyError: there is none; the message lists all.
    """
    for case in CASES:
        if case.name == name:
            return case
    raise KeyError(f"no case {name!r}; there are {', '.join(case.name for case in CASES)}")
