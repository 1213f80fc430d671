"""Shadows and policies on a real GPU: results stay the user's, disagreements are seen, the stopwatch decides."""

from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.gpu, pytest.mark.torch]

import triton  # noqa: E402

import tlx  # noqa: E402
from tests.tlx.launch import gemm, kernels  # noqa: E402
from tests.tlx.launch.fakes import TILES, grid_of  # noqa: E402
from tlx.launch.policy import CHOSEN  # noqa: E402
from tlx.launch.replay import arguments_of, replayed  # noqa: E402

NAME = f"{kernels.__name__}.matmul"
CONFIG = {**TILES, "num_warps": 8, "num_stages": 3}


@pytest.fixture(autouse=True)
def environment(monkeypatch, tmp_path):
    for name in ("TLXIFY", "TLXIFY_DISABLE", "TLXIFY_POLICY", "TLXIFY_SHADOW"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TLXIFY_SHADOW_DIR", str(tmp_path))
    yield
    CHOSEN.clear()


def problem(M=512, N=512, K=256):
    a, b = (torch.randn(shape, device="cuda", dtype=torch.float16) for shape in ((M, K), (K, N)))
    return a, b, torch.full((M, N), float("nan"), device="cuda", dtype=torch.float16)


def launch(kernel, a, b, c, **options):
    (M, K), N = a.shape, b.shape[1]
    kernel[grid_of](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), **{**CONFIG, **options})


def skipping_the_last_row(**arguments):
    """A guard that tells the conversion of one row less than there is."""
    return {**kernels.guard(**arguments), "M": arguments["M"] - 1}


def test_both_run_and_agree(monkeypatch):
    monkeypatch.setenv("TLXIFY_SHADOW", "1")
    kernel = gemm.bind()
    for M in (512, 500, 512):
        a, b, c = problem(M)
        launch(kernel, a, b, c)
        torch.testing.assert_close(c, a @ b, rtol=2e-2, atol=2e-1)
    found = tlx.stats()[NAME]
    assert (found.fast, found.shadowed, found.disagreements) == (3, 3, 0)


def test_a_lost_row_is_seen_recorded_and_seen_again(monkeypatch, tmp_path):
    monkeypatch.setenv("TLXIFY_SHADOW", "1")
    kernel = gemm.bind(guard=skipping_the_last_row)
    launch(kernel, *problem())
    found = tlx.stats()[NAME]
    assert (found.shadowed, found.disagreements) == (1, 1)
    record = json.loads(next(tmp_path.glob("*.json")).read_text())
    assert record["disagreement"].startswith("c_ptr[511, ")
    assert replayed(record, kernel, arguments_of(record, "cuda")).startswith("c_ptr[511, ")
    sound = gemm.bind()
    assert replayed(record, sound, arguments_of(record, "cuda")) is None


def test_a_graph_is_captured_without_a_shadow(monkeypatch):
    monkeypatch.setenv("TLXIFY_SHADOW", "1")
    kernel = gemm.bind()
    a, b, c = problem()
    launch(kernel, a, b, c)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch(kernel, a, b, c)
    c.fill_(float("nan"))
    graph.replay()
    torch.testing.assert_close(c, a @ b, rtol=2e-2, atol=2e-1)
    assert tlx.stats()[NAME].shadowed == 1


@pytest.mark.parametrize("tuned", [False, True])
def test_fast_times_each_shape_once(monkeypatch, tuned):
    monkeypatch.setenv("TLXIFY_POLICY", "fast")
    configs = [triton.Config(TILES, num_warps=8), triton.Config({**TILES, "BLOCK_K": 32}, num_warps=8)]
    kernel = gemm.bind(triton.autotune(configs, key=["M"]) if tuned else lambda kernel: kernel)
    options = {} if tuned else CONFIG
    for M in (1024, 2048, 1024):
        for _ in range(2):
            a, b, c = problem(M, 1024, 512)
            kernel[grid_of](a, b, c, M, 1024, 512, *a.stride(), *b.stride(), *c.stride(), **options)
            torch.testing.assert_close(c, a @ b, rtol=2e-2, atol=2e-1)
    timings = kernel._dispatcher.chooser.timings
    assert len(timings) == 2
    found = tlx.stats()[NAME]
    kept = sum(refusal is not None for refusal in timings.values())
    assert set(found.fallbacks) <= {"policy"}
    assert (found.fast == 0) == (kept == 2)
