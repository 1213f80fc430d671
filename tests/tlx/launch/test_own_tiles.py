"""Configs with tiles that the source does not list: tried where the user's grid follows them, and nowhere else."""

import pytest
import triton

import tlx
import tlx.launch as launch
from tests.tlx.launch.fakes import TILES, grid_of, operands
from tests.tlx.launch.test_tuning import fastest

pytestmark = pytest.mark.triton
WIDE = {**TILES, "BLOCK_N": 256, "num_warps": 8, "num_stages": 4}


def programs(M, N, BLOCK_M, BLOCK_N, **_):
    return (triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N),)


SCHEDULE = launch.Schedule(
    persistent=True,
    grid_rank=1,
    split="BLOCK_M",
    output=("BLOCK_M", "BLOCK_N"),
    configs=[WIDE],
    programs=programs,
)


def bound(bench, config=None, **changes):
    """A source of one config, whose conversion is fastest under tiles that it does not list."""
    config = config or triton.Config(TILES, num_warps=8, num_stages=3)
    tuned = triton.autotune([config], key=changes.pop("key", ["M"]), do_bench=fastest(bench.log))
    return bench.bind(tuned, **{"schedule": SCHEDULE, **changes})


def test_tiles_of_ours_win_where_the_grid_follows_them(bench):
    kernel = bound(bench)
    for _ in range(3):
        kernel[grid_of](*operands())
    assert bench.log[-1].kernel == "specialized"
    assert (bench.log[-1].arguments["BLOCK_N"], bench.log[-1].arguments["GRID_0"]) == (256, 8)


def ignores(meta):
    """Right for the tiles that the source lists, whatever it is asked for."""
    return (triton.cdiv(meta["M"], 128) * triton.cdiv(meta["N"], 128),)


def covers_more(meta):
    """Follows the tiles, but counts something else than the plan takes it to count."""
    return (2 * triton.cdiv(meta["M"], meta["BLOCK_M"]) * triton.cdiv(meta["N"], meta["BLOCK_N"]),)


@pytest.mark.parametrize("grid", [ignores, covers_more])
def test_a_grid_that_does_not_follow_keeps_the_source_s_tiles(bench, grid):
    kernel = bound(bench)
    for _ in range(3):
        kernel[grid](*operands())
    assert {entry.kernel for entry in bench.log} == {"specialized"}
    assert {entry.arguments["BLOCK_N"] for entry in bench.log} == {128}


def test_a_grid_that_stops_to_follow_is_the_original_s(bench):
    """The tuner's key does not tell the launches apart: its choice would be taken over."""
    kernel = bound(bench)
    kernel[grid_of](*operands())
    assert bench.log[-1].arguments["BLOCK_N"] == 256
    for _ in range(3):
        kernel[ignores](*operands())
        assert bench.log[-1].kernel == "original"
        assert bench.log[-1].arguments["BLOCK_N"] == 128
    assert "grid-follows" in tlx.stats()[next(name for name in tlx.stats() if name.endswith("matmul"))].fallbacks


def test_it_is_seen_on_the_short_way_too(bench):
    from tlx.launch.routes import Route

    asked = []
    kernel = bound(bench)
    for _ in range(3):
        kernel[grid_of](*operands())
    (ready,) = [ready for ready in _prepared(kernel) if ready.follows is not None]

    class Express:
        def launch(self, grid, extents):
            asked.append(extents)

    route = Route(Express(), None, None, ready.meta, ready.layout.tensors, follows=ready.follows)
    args = operands()
    route.launch(grid_of, args, {})
    assert asked == [(8,)]
    for grid in (ignores, (8,)):
        with pytest.raises(launch.Fallback, match="grid-follows"):
            route.launch(grid, args, {})
    assert asked == [(8,)]


def _prepared(kernel):
    """The launches that were made ready under any decision."""
    dispatcher = kernel._dispatcher
    return [ready for slot in dispatcher._cache._slots.values() for ready in slot.entry.launches.values()]


def test_a_fixed_grid_keeps_the_source_s_tiles(bench):
    kernel = bound(bench)
    kernel[(16,)](*operands())
    assert {entry.arguments["BLOCK_N"] for entry in bench.log} == {128}


def test_where_bits_are_wanted_the_tiles_are_the_source_s(bench, monkeypatch):
    from tlx.launch.proofs import Proof

    monkeypatch.setattr("tlx.launch.chooser.proof_of", lambda *_: Proof(({},)))
    tlx.policy("bitwise")
    kernel = bound(bench)
    kernel[grid_of](*operands())
    assert {(entry.kernel, entry.arguments["BLOCK_N"]) for entry in bench.log} == {("specialized", 128)}


def test_a_hook_of_a_config_is_not_guessed_at(bench):
    kernel = bound(bench, triton.Config(TILES, num_warps=8, num_stages=3, pre_hook=lambda named: None))
    kernel[grid_of](*operands())
    assert {entry.arguments["BLOCK_N"] for entry in bench.log} == {128}


def test_a_source_made_for_few_rows_gets_no_others(bench):
    kernel = bound(bench, triton.Config({**TILES, "BLOCK_M": 32}, num_warps=4))
    assert kernel[grid_of](*operands()) == "original"


def test_decorators_that_are_not_understood_get_none(bench, monkeypatch):
    monkeypatch.setattr("tlx.launch.stack.HANDING_ON", {"Cached"})

    class Cached:
        def __init__(self, fn):
            self.fn = fn

        def __getitem__(self, grid):
            return lambda *args, **kwargs: self.fn.run(*args, grid=grid, warmup=False, **kwargs)

    kernel = bench.bind(Cached, schedule=SCHEDULE)
    kernel[grid_of](*operands(), **TILES)
    assert {(entry.kernel, entry.arguments["BLOCK_N"]) for entry in bench.log} == {("specialized", 128)}


def test_programs_that_fail_leave_the_tiles_alone(bench):
    def broken(**_):
        raise KeyError("N")

    kernel = bound(bench, schedule=launch.Schedule(**{**_fields(SCHEDULE), "programs": broken}))
    kernel[grid_of](*operands())
    assert {(entry.kernel, entry.arguments["BLOCK_N"]) for entry in bench.log} == {("specialized", 128)}


def _fields(schedule):
    return {name: getattr(schedule, name) for name in launch.Schedule.__dataclass_fields__}


def test_axes_that_number_no_tiles_are_as_usual(bench):
    def split(meta):
        return (*grid_of(meta), 3)

    def by_tile(meta):
        return (*grid_of(meta), meta["BLOCK_N"] // 64)

    def programs_and_more(**meta):
        return (*programs(**meta), None)

    schedule = launch.Schedule(**{**_fields(SCHEDULE), "programs": programs_and_more, "grid_rank": 2})
    for grid, width in ((split, 256), (by_tile, 128)):
        bench.log.clear()
        kernel = bound(bench, schedule=schedule, converted=_two_axes)
        kernel[grid](*operands())
        assert bench.log[-1].arguments["BLOCK_N"] == width


def test_the_usual_grid_is_that_of_the_config_that_tiles_were_taken_from(bench):
    """One axis of the grid counts parts of the depth, of which configs make more or fewer."""
    parts = {1: triton.Config({**TILES, "BLOCK_K": 32}, num_warps=8), 2: triton.Config(TILES, num_warps=8)}

    def by_parts(meta):
        return (*grid_of(meta), meta["BLOCK_K"] // 32)

    def programs_and_parts(**meta):
        return (*programs(**meta), None)

    schedule = launch.Schedule(**{**_fields(SCHEDULE), "programs": programs_and_parts, "grid_rank": 2})
    tuned = triton.autotune([*parts.values()], key=["M"], do_bench=fastest(bench.log))
    kernel = bench.bind(tuned, schedule=schedule, converted=_two_axes)
    kernel[by_parts](*operands())
    assert (bench.log[-1].arguments["BLOCK_N"], bench.log[-1].arguments["GRID_1"]) == (256, 2)


def _two_axes(
    a_desc, b_desc, c_ptr, M, N, K, stride_cm, stride_cn, GRID_0, GRID_1, BLOCK_M, BLOCK_N, BLOCK_K, ACTIVATION,
    A_TRANSPOSED, B_TRANSPOSED, STAGES, CONSUMERS, CONSUMER_WARPS, CONSUMER_REGISTERS,
):  # fmt: skip
    """A converted kernel whose source has a grid of two axes."""


def test_verification_may_name_any_config(bench):
    kernel = bound(bench)
    config = triton.Config({**TILES, "BLOCK_N": 256}, num_warps=8, num_stages=4)
    dispatch = kernel.resolve(*operands(), grid=(8,), config=config)
    assert (dispatch.path, dispatch.kwargs["BLOCK_N"]) == ("specialized", 256)
