"""The GEMM tutorials for Blackwell. Two of them leave proxy fences to the compiler, so these count."""

import numpy as np
import pytest
import triton.language as tl

import tlx

from ..launch import SCHEDULES, descriptor
from .test_hopper_gemm import check, operands
from .wheel import load, needs_wheel

pytestmark = needs_wheel


def simulate(file, kernel, grid, args, schedule, constants):
    return tlx.sim.run(getattr(load(file), kernel), grid, args, constants, schedule=schedule, fences="compiled")


def gemm_ws(
    m, n, k, schedule, *, ctas=1, groups=1, split=1, subtile=2, interleave=False, warp=False, rows=(True, True)
):  # fmt: skip
    """Runs the kernel; returns the report, its result and the right one."""
    a, b, wanted = operands(m, n, k, *rows)
    c, workspace = (np.full((s * m, n), np.nan, np.float16) for s in (1, split))
    tall, wide = 32 // groups, 32 // ctas
    out = [tall, 32 // subtile]
    args = (
        descriptor(a, [tall, 16] if rows[0] else [16, tall]),
        descriptor(b, [16, wide] if rows[1] else [wide, 16]),
        descriptor(c, out),
        descriptor(workspace, out),
        m, n, k,
    )  # fmt: skip
    constants = {
        "BLOCK_SIZE_M": 32, "BLOCK_SIZE_N": 32, "BLOCK_SIZE_K": 16, "GROUP_SIZE_M": 2, "NUM_SMEM_BUFFERS": 3,
        "NUM_TMEM_BUFFERS": 2, "NUM_MMA_GROUPS": groups, "EPILOGUE_SUBTILE": subtile, "NUM_CTAS": ctas,
        "SPLIT_K": split, "INTERLEAVE_EPILOGUE": interleave, "NUM_SMS": 2, "A_ROW_MAJOR": rows[0],
        "B_ROW_MAJOR": rows[1], "USE_WARP_BARRIER": warp, "ctas_per_cga": (ctas, 1, 1),
    }  # fmt: skip
    kernel = "matmul_kernel_tma_ws_blackwell"
    report = simulate("blackwell_gemm_ws.py", kernel, (2,), args, schedule, constants)
    result = c if split == 1 else workspace.reshape(split, m, n).astype(np.float32).sum(0)
    return report, result, wanted


VARIANTS = {
    "plain": {},
    "two groups": {"groups": 2},
    "interleaved": {"groups": 2, "interleave": True},
    "split K": {"split": 2},
    "warp barriers": {"warp": True},
    "column-major": {"rows": (False, False)},
    "column-major, two groups": {"rows": (False, False), "groups": 2},
    "two CTAs": {"ctas": 2},
    "two CTAs, two groups": {"ctas": 2, "groups": 2},
}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_gemm_ws(schedule, variant):
    check(*gemm_ws(96, 64, 16 * 7, schedule, **VARIANTS[variant]), 2e-2)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("subtile", [False, True])
@pytest.mark.parametrize("warp", [False, True])
def test_gemm_clc(schedule, subtile, warp):
    m, n, k = 96, 64, 16 * 5
    a, b, wanted = operands(m, n, k)
    c = np.full((m, n), np.nan, np.float16)
    args = (descriptor(a, [32, 16]), descriptor(b, [16, 32]), descriptor(c, [32, 16 if subtile else 32]), m, n, k)
    constants = {
        "BLOCK_SIZE_M": 32, "BLOCK_SIZE_N": 32, "BLOCK_SIZE_K": 16, "GROUP_SIZE_M": 2, "NUM_SMEM_BUFFERS": 3,
        "NUM_TMEM_BUFFERS": 2, "NUM_SMS": 4, "NUM_CLC_STAGES": 1, "EPILOGUE_SUBTILE": subtile,
        "USE_WARP_BARRIER": warp,
    }  # fmt: skip
    file, kernel = "blackwell_gemm_clc.py", "matmul_kernel_tma_ws_blackwell_clc"
    check(simulate(file, kernel, (6,), args, schedule, constants), c, wanted)


def pipelined(schedule):
    m, n, k = 64, 48, 16 * 5
    a, b, wanted = operands(m, n, k)
    c = np.full((m, n), np.nan, np.float16)
    args = (a, b, c, m, n, k, a.strides[0] // 2, 1, b.strides[0] // 2, 1, n, 1)
    constants = {
        "BLOCK_SIZE_M": 32, "BLOCK_SIZE_N": 16, "BLOCK_SIZE_K": 16, "GROUP_SIZE_M": 2, "NUM_STAGES": 3,
    }  # fmt: skip
    file, kernel = "blackwell_gemm_pipelined.py", "matmul_kernel_tma_pipelined_blackwell"
    return simulate(file, kernel, (6,), args, schedule, constants), c, wanted


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_gemm_pipelined(schedule):
    """It ends while its TMA store may still read shared memory, which is the one thing wrong with it."""
    report, c, wanted = pipelined(schedule)
    assert [(f.code, "async_descriptor_store" in f.site.text) for f in report.findings] == [("leftover-state", True)]
    np.testing.assert_allclose(c, wanted, rtol=2e-3, atol=4e-3)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_gemm_2cta(schedule):
    m, n, k = 64, 64, 16 * 4
    a, b, wanted = operands(m, n, k)
    c = np.full((m, n), np.nan, np.float16)
    args = (a, k, 1, b, n, 1, c, n, 1)
    constants = {
        "BLOCK_M": 16, "BLOCK_N": 32, "BLOCK_K": 16, "OUT_DTYPE": tl.float32, "M": m, "N": n, "K": k,
        "ctas_per_cga": (4, 2, 1),
    }  # fmt: skip
    check(simulate("blackwell_gemm_2cta.py", "tcgen5_dot_kernel2cta_tma", (4, 2), args, schedule, constants), c, wanted)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("ctas", [1, 2])
def test_grouped_gemm(schedule, ctas):
    shapes = [(64, 32, 48), (32, 64, 16), (96, 32, 64)]
    problems = [operands(*shape, seed=i) for i, shape in enumerate(shapes)]
    results = [np.full(shape[:2], np.nan, np.float16) for shape in shapes]
    tensors = [[tlx.sim.tensor(x) for x in (a, b, c)] for (a, b, _), c in zip(problems, results, strict=True)]
    pointers = [np.array([group[i].data_ptr() for group in tensors], np.int64) for i in range(3)]
    leading = np.array([[x.stride(0) for x in group] for group in tensors], np.int32)
    constants = {
        "NUM_SM": 2, "BLOCK_SIZE_M": 32, "BLOCK_SIZE_N": 32, "BLOCK_SIZE_K": 16, "NUM_SMEM_BUFFERS": 3,
        "NUM_TMEM_BUFFERS": 2, "EPILOGUE_SUBTILE": 2, "FP8": False, "NUM_CTAS": ctas, "ctas_per_cga": (ctas, 1, 1),
    }  # fmt: skip
    args = (*pointers, np.array(shapes, np.int32), leading, len(shapes))
    report = simulate("blackwell-grouped-gemm_test.py", "grouped_matmul_tlx_kernel", (2,), args, schedule, constants)
    for (_, _, wanted), c in zip(problems, results, strict=True):
        check(report, c, wanted)
