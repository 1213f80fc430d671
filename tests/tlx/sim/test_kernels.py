"""Hand-written kernels are clean and right on every schedule, ragged or not, for every trip count around the ring."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tlx

from ..kernels.attention_ws import attention_ws
from ..kernels.gemm_default_consumers import gemm_default_consumers
from ..kernels.gemm_persistent import gemm_persistent
from ..kernels.gemm_ws import gemm_ws
from .launch import SCHEDULES, descriptor, padded

BLOCK = {"BLOCK_M": 32, "BLOCK_N": 16, "BLOCK_K": 16, "GROUP_M": 2}


def cdiv(a, b):
    return -(-a // b)


def expected(a, b, k):
    product = a[:, :k].astype(np.float32) @ b[:k].astype(np.float32)
    return np.where(product >= 0, product, np.float32(0.01) * product)


def run_gemm_ws(m, n, k, stages, schedule, seed=0):
    """Returns the report, the result, and what it should be. K = 0 runs the kernel on operands it never touches."""
    rng = np.random.default_rng(seed)
    a, b = padded(rng, m, max(k, 1)), padded(rng, max(k, 1), n)
    c = np.full((m, n), np.nan, np.float16)
    args = (descriptor(a, [16, 16]), descriptor(b, [16, 16]), c, m, n, k, n, 1)
    grid = (cdiv(m, 32) * cdiv(n, 16),)
    constants = {**BLOCK, "ACTIVATION": "leaky_relu", "STAGES": stages}
    report = tlx.sim.run(gemm_ws, grid, args, constants, schedule=schedule)
    return report, c, expected(a, b, k)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("k_tiles", [0, 1, 2, 3, 4, 7])
def test_every_trip_count(schedule, k_tiles):
    report, c, wanted = run_gemm_ws(32, 16, 16 * k_tiles, 3, schedule)
    report.raise_for_findings()
    np.testing.assert_allclose(c, wanted, rtol=2e-3, atol=2e-3)
    assert report.events == 5 * k_tiles  # three loads and a dot of each consumer


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_ragged_sizes(schedule):
    report, c, wanted = run_gemm_ws(70, 40, 57, 2, schedule)
    report.raise_for_findings()
    np.testing.assert_allclose(c, wanted, rtol=2e-3, atol=2e-3)
    assert report.programs == 9


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**16),
    stages=st.integers(2, 4),
    m=st.integers(1, 40),
    n=st.integers(1, 20),
    k=st.integers(1, 90),
)
def test_any_schedule_and_size(seed, stages, m, n, k):
    report, c, wanted = run_gemm_ws(m, n, k, stages, seed, seed)
    report.raise_for_findings()
    np.testing.assert_allclose(c, wanted, rtol=2e-3, atol=4e-3)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_dot_in_flight_needs_two_stages(schedule):
    """A consumer frees a slot one step late, so with a single slot the producer waits for it forever."""
    report, _, _ = run_gemm_ws(32, 16, 32, 1, schedule)
    assert report.codes == {"deadlock"}


@pytest.mark.parametrize("schedule", ["late", "eager", 5])
@pytest.mark.parametrize("tma_store", [False, True])
@pytest.mark.parametrize("consumers", [1, 2])
@pytest.mark.parametrize(("a_is_km", "b_is_nk"), [(False, False), (True, False), (False, True), (True, True)])
def test_persistent(schedule, tma_store, consumers, a_is_km, b_is_nk):
    rng = np.random.default_rng(1)
    m, n, k, rows = 70, 40, 50, 32 // consumers
    a = padded(rng, k, m) if a_is_km else padded(rng, m, k)
    b = padded(rng, n, k) if b_is_nk else padded(rng, k, n)
    c = np.full((m, n), np.nan, np.float16)
    args = (
        descriptor(a, [16, rows] if a_is_km else [rows, 16]),
        descriptor(b, [16, 16]),
        descriptor(c, [rows, 16]),
        c, m, n, k, n, 1,
    )  # fmt: skip
    constants = dict(
        **BLOCK, PROGRAMS=3, A_IS_KM=a_is_km, B_IS_NK=b_is_nk, CONSUMERS=consumers, CONSUMER_WARPS=4,
        CONSUMER_REGISTERS=232, TMA_STORE=tma_store, STAGES=3,
    )  # fmt: skip
    tlx.sim.run(gemm_persistent, (3,), args, constants, schedule=schedule).raise_for_findings()
    wanted = (a.T if a_is_km else a).astype(np.float32) @ (b.T if b_is_nk else b).astype(np.float32)
    np.testing.assert_allclose(c, wanted, rtol=2e-3, atol=4e-3)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_consumers_on_the_default_warps(schedule):
    rng = np.random.default_rng(2)
    a, b, c = padded(rng, 64, 50), padded(rng, 50, 32), np.zeros((64, 32), np.float16)
    args = (descriptor(a, [16, 16]), descriptor(b, [16, 16]), c, 64, 32, 50, 32, 1)
    constants = {**BLOCK, "CONSUMERS": 2, "PRODUCER_REGISTERS": 40, "STAGES": 3}
    tlx.sim.run(gemm_default_consumers, (4,), args, constants, schedule=schedule).raise_for_findings()
    np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=2e-3, atol=4e-3)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_attention(schedule):
    rng = np.random.default_rng(3)
    q, k, v, out = (padded(rng, 2 * 64, 16) for _ in range(4))
    tiles = [descriptor(x, [16, 16]) for x in (q, k, v, out)]
    scale = 0.3
    constants = {"BLOCK_M": 32, "BLOCK_N": 16, "HEAD": 16, "GROUPS": 2, "STAGES": 2}
    report = tlx.sim.run(attention_ws, (2, 2), (*tiles, scale * np.log2(np.e), 64), constants, schedule=schedule)
    report.raise_for_findings()
    for head in (slice(0, 64), slice(64, 128)):
        scores = np.exp(scale * (q[head].astype(np.float32) @ k[head].astype(np.float32).T))
        wanted = scores / scores.sum(1, keepdims=True) @ v[head].astype(np.float32)
        np.testing.assert_allclose(out[head], wanted, rtol=5e-3, atol=2e-3)
