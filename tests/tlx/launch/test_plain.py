"""Conversions that are plain Triton with descriptors: warps and stages are the config's, there are no rings."""

import pytest
import triton

import tlx.launch as launch
from tests.tlx.launch import kernels
from tests.tlx.launch.fakes import TILES, Memory, grid_of, operands

pytestmark = pytest.mark.triton


def plain(
    a_desc, b_desc, c_ptr, M, N, K, stride_cm, stride_cn, BLOCK_M, BLOCK_N, BLOCK_K, ACTIVATION,
    A_TRANSPOSED, B_TRANSPOSED,
):  # fmt: skip
    """The parameters of the converted kernel; a recording stands in for its body."""


def boxes(BLOCK_M, BLOCK_N, BLOCK_K, **_):
    return {"a_desc": launch.Box((BLOCK_M, BLOCK_K)), "b_desc": launch.Box((BLOCK_K, BLOCK_N))}


def bound(bench, decorate=lambda kernel: kernel, **changes):
    settings = {"converted": plain, "boxes": boxes, "schedule": launch.Schedule(plain=True), **changes}
    return bench.bind(decorate, **settings)


def test_the_config_s_warps_and_stages_reach_the_kernel(bench):
    kernel = bound(bench)
    assert kernel[grid_of](*operands(), **TILES, num_warps=8, num_stages=5, maxnreg=128) == "specialized"
    (entry,) = bench.log
    assert entry.options == {"num_warps": 8, "num_stages": 5, "maxnreg": 128}
    assert entry.grid == (16,)
    assert entry.arguments["a_desc"].block_shape == [128, 64]
    assert not {"STAGES", "CONSUMERS", "GRID_0"} & entry.arguments.keys()


def test_what_a_call_leaves_out_is_triton_s_default(bench):
    kernel = bound(bench)
    kernel[grid_of](*operands(), **TILES)
    assert bench.log[-1].options == {"num_warps": 4, "num_stages": 3}


def test_a_column_major_operand_is_read_as_it_lies(bench):
    kernel = bound(bench)
    a, b, c, M, N, K, *strides = operands()
    strides[2:4] = 1, K
    kernel[grid_of](a, b, c, M, N, K, *strides, **TILES)
    assert bench.log[-1].arguments["B_TRANSPOSED"] is True
    assert bench.log[-1].arguments["b_desc"].block_shape == [128, 64]


def test_tiles_of_few_rows_are_no_matter(bench):
    kernel = bound(bench)
    for rows in (16, 32, 64):
        assert kernel[grid_of](*operands(), **{**TILES, "BLOCK_M": rows}) == "specialized"


def test_boxes_that_the_tma_cannot_load_are_the_original_s(bench):
    kernel = bound(bench)
    assert kernel[grid_of](*operands(), **{**TILES, "BLOCK_M": 512}) == "original"
    assert kernel[grid_of](*operands(), **{**TILES, "BLOCK_K": 4}) == "original"


def test_memory_that_the_tma_cannot_read_is_the_original_s(bench):
    kernel = bound(bench)
    odd = operands()
    odd[0] = Memory(odd[0].address + 2)
    assert kernel[grid_of](*odd, **TILES) == "original"
    same = operands()
    same[2] = same[0]
    assert kernel[grid_of](*same, **TILES) == "original", "what is stored there is read through a descriptor"


def test_configs_are_tuned_as_they_are(bench):
    configs = [triton.Config(TILES, num_warps=warps, num_stages=stages) for warps, stages in ((4, 3), (8, 2))]

    def measure(call, quantiles):
        call()
        return [abs(bench.log[-1].options["num_warps"] - 8) + 1.0] * len(quantiles)

    kernel = bound(bench, triton.autotune(configs, key=["M"], do_bench=measure))
    kernel[grid_of](*operands())
    tried = [(entry.options["num_warps"], entry.options["num_stages"]) for entry in bench.log]
    assert set(tried) == {(4, 3), (8, 2)}, "no depth is added"
    assert tried[-1] == (8, 2)


def test_fewer_stages_where_the_compiler_finds_no_room(bench):
    kernel = bound(bench)
    ran = bench.converted.run

    def limited(*args, num_stages, **options):
        if num_stages > 3:
            raise triton.runtime.errors.OutOfResources(300_000, 232_448, "shared memory")
        return ran(*args, num_stages=num_stages, **options)

    bench.converted.run = limited
    assert kernel[grid_of](*operands(), **TILES, num_stages=5) == "specialized"
    assert bench.log[-1].options["num_stages"] == 3


def test_the_table_of_stable_is_not_about_it(bench):
    """64 x 64 x 32 is slower with roles, which this has not."""
    kernel = bound(bench)
    small = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}
    assert kernel[grid_of](*operands(), **small, num_warps=4) == "specialized"
    specialized = bench.bind()
    assert specialized[grid_of](*operands(), **small, num_warps=4) == "original"


def test_parameters_may_be_called_like_those_of_rings(bench):
    def staged(a_desc, b_desc, c_ptr, M, N, K, stride_cm, stride_cn, BLOCK_M, BLOCK_N, BLOCK_K, ACTIVATION, STAGES):
        """A user's own STAGES."""

    def guard(**given):
        found = dict(kernels.guard(**given))
        return {**{name: found[name] for name in ("a_desc", "b_desc")}, "STAGES": 7}

    kernel = bound(bench, converted=staged, guard=guard)
    kernel[grid_of](*operands(), **TILES)
    assert bench.log[-1].arguments["STAGES"] == 7
