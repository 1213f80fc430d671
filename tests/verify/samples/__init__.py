"""Conversions written by hand, with their contracts: what verification is tested on."""

from __future__ import annotations

from pathlib import Path

from tlxify.contract import ConstexprSpec, Contract, LaunchConfig, ScalarSpec, TensorSpec
from tlxify.conversion import Conversion


def _config(m: int, n: int, k: int, stages: int, warps: int) -> LaunchConfig:
    return LaunchConfig((("BLOCK_M", m), ("BLOCK_N", n), ("BLOCK_K", k)), num_warps=warps, num_stages=stages)


CONTRACT = Contract(
    kernel="gemm",
    parameters=(
        *("a_ptr", "b_ptr", "c_ptr", "M", "N", "K", "stride_am", "stride_ak", "stride_bk", "stride_bn", "stride_cm"),
        *("stride_cn", "BLOCK_M", "BLOCK_N", "BLOCK_K", "ACTIVATION"),
    ),
    tensors=(
        TensorSpec("a_ptr", ("M", "K"), ("stride_am", "stride_ak"), True, False, "operands"),
        TensorSpec("b_ptr", ("K", "N"), ("stride_bk", "stride_bn"), True, False, "operands"),
        TensorSpec("c_ptr", ("M", "N"), ("stride_cm", "stride_cn"), False, True, "result"),
    ),
    scalars=(
        *(ScalarSpec(name, "size") for name in ("M", "N", "K")),
        *(
            ScalarSpec(name, "stride")
            for name in ("stride_am", "stride_ak", "stride_bk", "stride_bn", "stride_cm", "stride_cn")
        ),
    ),
    constexprs=(
        *(ConstexprSpec(name, "tile", ()) for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K")),
        ConstexprSpec("ACTIVATION", "option", ("", "relu")),
    ),
    configs=(_config(128, 64, 64, 3, 8), _config(64, 64, 32, 4, 4)),
    configs_known=True,
    grid=("cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N)",),
    contracted=("K", "BLOCK_K"),
    tiled=(("M", "BLOCK_M"), ("N", "BLOCK_N")),
)
TEXT = (Path(__file__).parent / "gemm_module.py").read_text(encoding="utf-8")


def conversion(text: str = TEXT, contract: Contract = CONTRACT) -> Conversion:
    """The sample, or a changed text in its place."""
    return Conversion("gemm", contract, text, "gemm_module.py")
