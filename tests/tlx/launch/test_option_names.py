"""Parameters called like options of the launch: Triton takes keywords for both, what comes by position for one."""

import pytest

import tlx
from benchmarks.modules import from_text
from tests.tlx.launch.device import Device, install
from tests.tlx.launch.fakes import Memory
from tlx.launch import chip
from tlx.lowering import versions
from tlxify import convert
from tlxify.source import SourceFile

pytestmark = pytest.mark.triton

SOURCE = """
import triton
import triton.language as tl


@triton.jit
def named_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, sa, sb, sc,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, num_warps: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rows[:, None] * sa + k, mask=(rows[:, None] < M) & (k < K), other=0.0)
        b = tl.load(b_ptr + k[:, None] * sb + cols, mask=(k[:, None] < K) & (cols < N), other=0.0)
        acc += tl.dot(a, b)
    acc *= num_warps
    tl.store(c_ptr + rows[:, None] * sc + cols, acc, mask=(rows[:, None] < M) & (cols < N))
"""
TILES = {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 32}


@pytest.fixture(scope="module")
def kernel():
    text = convert(SourceFile("named.py", SOURCE), profitable=False).module_text
    return from_text("named_like_options", text).named_kernel


@pytest.fixture
def device(monkeypatch, kernel):
    device = Device()
    # What was compiled in another test launches on the device of that test.
    kernel.converted.device_caches.clear()
    kernel.reset()
    install(monkeypatch.setattr, device)
    tlx.policy("always")
    yield device
    monkeypatch.undo()
    chip.forget()
    chip.processors.cache_clear()


def operands():
    a, b, c = (Memory(base) for base in (1 << 20, 1 << 24, 1 << 28))
    return (a, b, c, 256, 128, 64, 64, 128, 128)


def fast():
    return tlx.stats()["named_like_options.named_kernel"].fast


@pytest.mark.skipif(not versions.ARGUMENTS_ONE_BY_ONE, reason="this Triton's launcher is left to itself")
@pytest.mark.parametrize("launches", [1, 4], ids=["at first", "again and again"])
def test_passed_by_position_it_is_a_number_and_the_plan_has_the_default(device, kernel, launches):
    before = fast()
    for _ in range(launches):
        kernel[(2, 2)](*operands(), *TILES.values(), 8)
    assert fast() == before + launches
    assert len(device.calls) == launches


def test_passed_by_name_it_is_the_option_as_well(hopper, kernel):
    given = {**dict(zip(kernel.arg_names, operands(), strict=False)), **TILES, "num_warps": 8}
    found = kernel.resolve(grid=(2, 2), **given)
    assert found.path == "specialized", found.text
    assert found.kwargs["num_warps"] == 8
    assert found.plan.consumers * found.plan.consumer_warps == 8
    assert "num_warps" not in found.options
