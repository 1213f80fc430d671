"""The GEMM tutorials for Hopper: right on every schedule, with nothing to find."""

import numpy as np
import pytest

import tlx

from ..launch import SCHEDULES, descriptor, padded
from .wheel import load, needs_wheel

pytestmark = needs_wheel


def cdiv(a, b):
    return -(-a // b)


def operands(m, n, k, a_rows=True, b_rows=True, seed=0):
    """A and B as they lie in memory, and their product."""
    rng = np.random.default_rng(seed)
    a = padded(rng, m, k) if a_rows else padded(rng, k, m)
    b = padded(rng, k, n) if b_rows else padded(rng, n, k)
    wanted = (a if a_rows else a.T).astype(np.float32) @ (b if b_rows else b.T).astype(np.float32)
    return a, b, wanted


def gemm_ws(
    m, n, k, schedule, programs=4, stages=3, group=8, ctas=1, subtile=False, warp=False, a_rows=True, b_rows=True
):
    """Runs the kernel; returns the report, its result and the right one."""
    a, b, wanted = operands(m, n, k, a_rows, b_rows)
    c = np.full((m, n), np.nan, np.float16)
    rows, columns = 16, 32 // ctas
    args = (
        descriptor(a, [rows, 16] if a_rows else [16, rows]),
        descriptor(b, [16, columns] if b_rows else [columns, 16]),
        descriptor(c, [rows, 16] if subtile else [rows, 32]),
        m, n, k,
    )  # fmt: skip
    constants = {
        "BM": 32, "BN": 32, "BK": 16, "GROUP_SIZE_M": group, "NUM_STAGES": stages, "NUM_MMA_WARPS": 8,
        "NUM_MMA_GROUPS": 2, "EPILOGUE_SUBTILE": subtile, "NUM_CTAS": ctas, "NUM_SMS": programs,
        "USE_WARP_BARRIER": warp, "A_ROW_MAJOR": a_rows, "B_ROW_MAJOR": b_rows, "num_warps": 4,
        "ctas_per_cga": (ctas, 1, 1),
    }  # fmt: skip
    kernel = load("hopper_gemm_ws.py").matmul_kernel_tlx_ws
    report = tlx.sim.run(kernel, (min(programs, cdiv(m, 32) * cdiv(n, 32)),), args, constants, schedule=schedule)
    return report, c, wanted


def check(report, c, wanted, tolerance=4e-3):
    report.raise_for_findings()
    np.testing.assert_allclose(c, wanted, rtol=2e-3, atol=tolerance)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("subtile", [False, True])
@pytest.mark.parametrize("warp", [False, True])
def test_gemm_ws(schedule, subtile, warp):
    check(*gemm_ws(96, 64, 16 * 7, schedule, programs=4, subtile=subtile, warp=warp))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("a_rows", "b_rows"), [(False, True), (True, False), (False, False)])
def test_gemm_ws_column_major(schedule, a_rows, b_rows):
    check(*gemm_ws(64, 64, 16 * 5, schedule, a_rows=a_rows, b_rows=b_rows))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("b_rows", [True, False])
@pytest.mark.parametrize("warp", [False, True])
def test_gemm_ws_on_two_ctas(schedule, b_rows, warp):
    """Pairs of tiles in one column of tiles: what the kernel is right for."""
    check(*gemm_ws(64, 64, 16 * 7, schedule, programs=4, ctas=2, b_rows=b_rows, warp=warp))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_two_ctas_on_different_columns(schedule):
    """A defect of the tutorial: with GROUP_SIZE_M = 1 the halves of B that a pair shares belong to different tiles."""
    report, c, wanted = gemm_ws(64, 64, 16 * 7, schedule, programs=4, ctas=2, group=1)
    assert report.codes == frozenset()
    assert not np.allclose(c, wanted, rtol=2e-3, atol=4e-3)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_two_ctas_with_an_odd_number_of_tiles(schedule):
    """A defect of the tutorial: the CTA with one tile more waits for its peer forever."""
    report, _, _ = gemm_ws(32 * 3, 32, 16 * 4, schedule, programs=2, ctas=2)
    assert "deadlock" in report.codes


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("split", [1, 2])
def test_skinny(schedule, split):
    m, n, k = 40, 48, 16 * 8
    a, b, wanted = operands(m, n, k)
    c = np.full((split, m, n), np.nan, np.float16)
    constants = {"SPLIT_K": split, "BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 16, "GROUP_SIZE_M": 4, "NUM_STAGES": 3}
    strides = (a.strides[0] // 2, 1, b.strides[0] // 2, 1, m * n, n, 1)
    report = tlx.sim.run(
        load("hopper_gemm_ws.py")._skinny_matmul_kernel, (cdiv(m, 16) * cdiv(n, 16), split),
        (a, b, c, m, n, k // split, *strides), constants, schedule=schedule,
    )  # fmt: skip
    check(report, c.astype(np.float32).sum(0), wanted, 2e-2)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("split", [1, 2])
def test_skinny_tma(schedule, split):
    m, n, k = 40, 48, 16 * 8
    a, b, wanted = operands(m, n, k)
    c = np.full((split, m, n), np.nan, np.float16)
    constants = {"SPLIT_K": split, "BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 16, "GROUP_SIZE_M": 4, "NUM_STAGES": 3}
    args = (descriptor(a, [16, 16]), descriptor(b, [16, 16]), c, m, n, k // split, m * n, n, 1, 0)
    kernel = load("hopper_gemm_ws.py")._skinny_tma_kernel
    report = tlx.sim.run(kernel, (cdiv(m, 16) * cdiv(n, 16), split), args, constants, schedule=schedule)
    check(report, c.astype(np.float32).sum(0), wanted, 2e-2)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_pipelined(schedule):
    m, n, k = 40, 48, 75
    a, b, wanted = operands(m, n, k)
    c = np.full((m, n), np.nan, np.float16)
    constants = {
        "BLOCK_SIZE_M": 16,
        "BLOCK_SIZE_N": 16,
        "BLOCK_SIZE_K": 16,
        "GROUP_SIZE_M": 2,
        "NUM_STAGES": 3,
        "num_warps": 8,
    }
    args = (a, b, c, m, n, k, a.strides[0] // 2, 1, b.strides[0] // 2, 1, n, 1)
    kernel = load("hopper_gemm_pipelined.py").matmul_kernel_pipelined_hopper
    check(tlx.sim.run(kernel, (9,), args, constants, schedule=schedule), c, wanted)


def persistent(file, m, n, k, schedule, rows, **more):
    a, b, wanted = operands(m, n, k)
    c = np.full((m, n), np.nan, np.float16)
    args = (descriptor(a, [rows, 16]), descriptor(b, [16, 32]), descriptor(c, [rows, 16]), m, n, k)
    constants = dict(
        NUM_SMS=2, BM=32, BN=32, BK=16, GROUP_SIZE_M=2, NUM_MMA_WARPS=8, NUM_MMA_GROUPS=2, EPILOGUE_SUBTILE=2,
        num_warps=4, **more,
    )  # fmt: skip
    report = tlx.sim.run(load(file).matmul_kernel_tlx_ws_persistent, (2,), args, constants, schedule=schedule)
    return report, c, wanted


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_persistent_cooperative(schedule):
    check(*persistent("hopper-persistent-gemm-ws-cooperative.py", 70, 72, 16 * 7, schedule, 16, NUM_STAGES=3))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("named", [False, True])
def test_persistent_pingpong(schedule, named):
    file = "hopper-persistent-gemm-ws-pingpong.py"
    check(*persistent(file, 70, 72, 16 * 5, schedule, 32, NUM_STAGES=4, USE_NAMED_BARRIER=named))
