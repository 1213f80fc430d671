"""The launcher on a Hopper: which kernel ran is read from the launcher's own record, and every answer is checked.

    python -m pytest tests/tlx/launch/test_gpu.py

Needs torch, a Hopper GPU and this repository; the kernels are those of kernels.py and gemm.py.
"""

import pytest
import triton

import tlx
from tests.tlx.launch import gemm, kernels
from tests.tlx.launch.fakes import TILES, grid_of

pytestmark = [pytest.mark.gpu, pytest.mark.torch]
torch = pytest.importorskip("torch")

NAME = f"{kernels.__name__}.matmul"
CONFIGS = [
    triton.Config(TILES, num_warps=8, num_stages=3),
    triton.Config({**TILES, "BLOCK_N": 256}, num_warps=8, num_stages=3),
    triton.Config(TILES, num_warps=4, num_stages=3),
]
TUNED = triton.autotune(CONFIGS, key=["M", "N", "K"])


def problem(M=512, N=384, K=256, *, transpose=False, dtype=None, device="cuda"):
    """Operands of a product; `transpose` lays B out as the transpose of a weight."""
    torch.manual_seed(0)
    dtype = dtype or torch.float16
    a = torch.randn(M, K, device=device, dtype=dtype)
    b = torch.randn(N, K, device=device, dtype=dtype).T if transpose else torch.randn(K, N, device=device, dtype=dtype)
    return a, b, torch.full((M, N), float("nan"), device=device, dtype=torch.float16)


def launch(kernel, a, b, c, *, grid=grid_of, **options):
    (M, K), N = a.shape, b.shape[1]
    return kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), **options)


def ran(kernel, action):
    """Which path `action` took, once."""
    before = tlx.stats().get(NAME)
    action()
    torch.cuda.synchronize()
    after = tlx.stats()[NAME]
    fast = after.fast - (before.fast if before else 0)
    assert after.launches - (before.launches if before else 0) == 1
    return "specialized" if fast else "original"


def right(a, b, c):
    torch.cuda.synchronize()
    reference = a.double() @ b.double()
    error = (c.double() - reference).abs().max().item()
    assert error <= 0.02 + 2e-3 * reference.abs().max().item(), f"off by {error}"


def check(kernel, a, b, c, path, **options):
    assert ran(kernel, lambda: launch(kernel, a, b, c, **options)) == path, tlx.stats()[NAME]
    right(a, b, c)


def test_either_major_of_b_is_fast():
    for transpose in (False, True):
        for dtype in (torch.float16, torch.bfloat16):
            a, b, c = problem(1000, 520, 264, transpose=transpose, dtype=dtype)
            check(gemm.bind(), a, b, c, "specialized", **TILES, num_warps=8)


def test_every_kind_of_plan_runs():
    for block_m, warps, stages in ((128, 8, 2), (128, 8, 9), (128, 4, 3), (128, 4, 9), (64, 8, 3), (64, 4, 3)):
        tiles = {**TILES, "BLOCK_M": block_m}
        check(gemm.bind(), *problem(1000, 520, 264), "specialized", **tiles, num_warps=warps, num_stages=stages)


def test_what_the_guard_refuses_runs_as_it_was():
    kernel = gemm.bind()
    a, b, c = problem(K=250)
    check(kernel, a, b, c, "original", **TILES)
    a, b, c = problem()
    check(kernel, torch.randn(512, 512, device="cuda", dtype=torch.float16)[:, ::2], b, c, "original", **TILES)
    storage = torch.randn(512 * 256 + 1, device="cuda", dtype=torch.float16)
    check(kernel, storage[1:].view(512, 256), b, c, "original", **TILES)
    a, b, c = problem(K=0)
    launch(kernel, a, b, c, **TILES)
    assert c.eq(0).all()
    assert set(tlx.stats()[NAME].fallbacks) >= {"unaligned-stride", "no-unit-stride", "unaligned-base", "empty"}


def test_an_empty_result_launches_nothing():
    a, b, c = problem(M=512)
    launch(gemm.bind(), a, b, c, grid=(0,), **TILES)
    torch.cuda.synchronize()
    assert c.isnan().all()


def test_triton_s_tuner_chooses():
    kernel = gemm.bind(TUNED)
    check(kernel, *problem(2048, 2048, 512), "specialized")
    assert kernel.best_config in [candidate.config for candidate in kernel.candidates]
    assert any(candidate.added for candidate in kernel.candidates)
    check(kernel, *problem(2048, 2048, 512), "specialized")


def test_a_ring_too_deep_for_the_chip_is_cut():
    # Nothing is said about the epilogue, so the first try is deeper than what the compiled kernel has room for.
    schedule = tlx.Schedule(split="BLOCK_M", persistent=True)
    config = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 32}
    check(gemm.bind(schedule=schedule), *problem(), "specialized", **config, num_warps=8, num_stages=9)
    assert any("cut to" in clamp for clamp in tlx.stats()[NAME].clamps)


def test_another_stream():
    kernel = gemm.bind()
    a, b, c = problem(4096, 4096, 512)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        # The launch must queue behind this, or it reads what is not there yet.
        torch.cuda._sleep(50_000_000)
        a.copy_(torch.ones_like(a))
        launch(kernel, a, b, c, **TILES, num_warps=8)
    torch.cuda.synchronize()
    right(a, b, c)


def test_graph_capture_replays_the_specialized_kernel():
    kernel = gemm.bind(TUNED)
    a, b, c = problem(1024, 1024, 512)
    check(kernel, a, b, c, "specialized")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch(kernel, a, b, c)
    a.copy_(torch.randn_like(a))
    c.fill_(float("nan"))
    graph.replay()
    right(a, b, c)
    assert tlx.stats()[NAME].fast >= 2


def test_capture_before_tuning_takes_the_original():
    source = triton.jit(kernels.matmul.fn)
    single = triton.autotune(CONFIGS[:1], key=["M"])
    kernel = tlx.specialized(
        single(source),
        gemm.matmul_ws,
        guard=kernels.guard,
        boxes=kernels.boxes,
        schedule=gemm.SCHEDULE,
        fingerprint=None,
    )
    a, b, c = problem()
    launch(kernel.original, a, b, c)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    before = tlx.stats()[NAME].fallbacks.get("capture", 0)
    with torch.cuda.graph(graph):
        launch(kernel, a, b, c)
    graph.replay()
    right(a, b, c)
    assert tlx.stats()[NAME].fallbacks["capture"] == before + 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_compiled_functions_launch_it():
    # Inductor cannot launch a kernel one of whose constexprs is left to its default, specialized or not.
    for decorate, tiles in ((lambda kernel: kernel, TILES), (TUNED, {})):
        kernel, options = gemm.bind(decorate), {**tiles, "ACTIVATION": ""}
        a, b, _ = problem(1024, 1024, 512)

        def product(a, b, kernel=kernel, options=options):
            c = torch.empty(a.shape[0], b.shape[1], device=a.device, dtype=torch.float16)
            launch(kernel, a, b, c, **options)
            return c * 2

        torch._dynamo.reset()
        right(a, b, torch.compile(product)(a, b) / 2)


def test_tensors_on_another_device_or_chip_are_left_to_the_original():
    if torch.cuda.device_count() < 2:
        return
    kernel = gemm.bind()
    a, b, c = problem(device="cuda:1")
    with torch.cuda.device(1):
        check(kernel, a, b, c, "specialized", **TILES)


@pytest.mark.parametrize(("K", "path"), [(256, "specialized"), (251, "original")])
@pytest.mark.parametrize("tuned", [False, True])
def test_the_short_way_computes_the_same(K, path, tuned):
    kernel = gemm.bind(TUNED if tuned else lambda kernel: kernel)
    options = {} if tuned else {**TILES, "num_warps": 8, "num_stages": 3}
    problems = [problem(M=512, K=K), problem(M=256, K=K)]
    for _ in range(5):
        for a, b, c in problems:
            c.fill_(float("nan"))
            check(kernel, a, b, c, path, **options)
            right(a, b, c)
    a, b, c = problems[0]
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch(kernel, a, b, c, **options)
    c.fill_(float("nan"))
    graph.replay()
    right(a, b, c)
