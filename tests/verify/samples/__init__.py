"""Conversions written by hand, with their contracts: what verification is tested on."""

from __future__ import annotations

from dataclasses import replace
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


#: Binds the hand-written kernel of the language's own tests to the sample's source, as a conversion would.
_BINDING = """

def _guard(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn, **_):
    a = tlx.tma_view("a_ptr", a_ptr, (M, K), (stride_am, stride_ak))
    b = tlx.tma_view("b_ptr", b_ptr, (K, N), (stride_bk, stride_bn))
    tlx.require(not (a.transposed or b.transposed), "major", "the kernel reads rows only")
    tlx.require_disjoint("c_ptr", c_ptr, (M, N), (stride_cm, stride_cn), reads=(a, b))
    return {"a_desc": a, "b_desc": b}


def _boxes(BLOCK_M, BLOCK_N, BLOCK_K, **_):
    return {"a_desc": tlx.Box((BLOCK_M // 2, BLOCK_K), 2), "b_desc": tlx.Box((BLOCK_K, BLOCK_N))}


gemm = tlx.specialized(
    gemm,
    gemm_ws,
    guard=_guard,
    boxes=_boxes,
    schedule=tlx.Schedule(split="BLOCK_M", output=("BLOCK_M", "BLOCK_N")),
    fingerprint=None,
)
"""


def hand_written(text: str | None = None) -> Conversion:
    """`tests/tlx/kernels/gemm_ws.py` (or a changed text of it) bound to a source that computes the same."""
    own = (Path(__file__).parents[2] / "tlx" / "kernels" / "gemm_ws.py") if text is None else None
    text = text if own is None else own.read_text(encoding="utf-8")
    source = TEXT[TEXT.index("@triton.jit\ndef gemm(") : TEXT.index("@tlx.jit")]
    source = source.replace("ACTIVATION: tl.constexpr", "GROUP_M: tl.constexpr, ACTIVATION: tl.constexpr")
    start = source.index("    pid_m = ")
    end = source.index("    offs_m = ")
    swizzle = "    pid_m, pid_n = tile_of_program(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, GROUP_M)\n"
    source = source[:start] + swizzle + source[end:]
    configs = tuple(
        LaunchConfig((*config.values, ("GROUP_M", 2)), 8, config.num_stages) for config in CONTRACT.configs[:1]
    )
    parameters = tuple(name for name in CONTRACT.parameters if name != "ACTIVATION")
    contract = replace(
        CONTRACT,
        parameters=(*parameters, "GROUP_M", "ACTIVATION"),
        constexprs=(
            *CONTRACT.constexprs[:3],
            ConstexprSpec("GROUP_M", "int", ()),
            ConstexprSpec("ACTIVATION", "option", ("",)),
        ),
        configs=configs,
    )
    return Conversion("gemm", contract, f"{text}\n\n{source}{_BINDING}", "gemm_ws.py")


def emitted() -> Conversion:
    """What the converter makes of the corpus GEMM."""
    from tlxify.pipeline import convert
    from tlxify.source import SourceFile

    path = Path(__file__).parents[3] / "corpus" / "gemm" / "matmul.py"
    found = convert(SourceFile("corpus/gemm/matmul.py", path.read_text(encoding="utf-8")))
    conversions = [kernel.conversion for kernel in found.kernels if kernel.conversion is not None]
    assert len(conversions) == 1, [kernel.diagnostics for kernel in found.kernels]
    return conversions[0]
