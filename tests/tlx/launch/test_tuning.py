"""Configs: what each comes to, which are added, and that Triton's own tuner does the choosing."""

import pytest
import triton

import tlx.launch as launch
from tests.tlx.launch import kernels
from tests.tlx.launch.fakes import BF16, TILES, DType, Memory, grid_of, operands
from tlx.launch import chip
from tlx.launch.guard import Fallback, copied_rows, tma_view
from tlx.launch.tuning import candidates, plan_ring

FP8 = DType("float8_e4m3fn", 1)
SCHEDULE = launch.Schedule(split="BLOCK_M", output=("BLOCK_M", "BLOCK_N"))


def views(M=512, N=512, K=256):
    return {
        "a_desc": tma_view("a", Memory(1 << 20), (M, K), (K, 1)),
        "b_desc": tma_view("b", Memory(1 << 24), (K, N), (N, 1)),
    }


def plan(num_warps=8, num_stages=3, schedule=SCHEDULE, boxes=kernels.boxes, **tiles):
    return plan_ring(schedule, boxes, views(), {**TILES, **tiles}, num_warps, num_stages)


@pytest.mark.parametrize(
    ("num_warps", "rows", "expected"),
    [
        (1, 64, (1, 4, 216, 128)),
        (4, 128, (1, 4, 216, 128)),
        (8, 128, (2, 4, 232, None)),
        (8, 256, (2, 4, 232, None)),
        (8, 64, (1, 8, 232, None)),
        (16, 256, (2, 4, 232, None)),
    ],
)
def test_warps_of_the_source_become_consumer_groups(num_warps, rows, expected):
    found = plan(num_warps, 2, BLOCK_M=rows, BLOCK_K=32)
    assert (found.consumers, found.consumer_warps, found.consumer_registers, found.maxnreg) == expected


@pytest.mark.parametrize(
    ("num_warps", "tiles", "registers"),
    [
        (8, {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64}, 232),
        (8, {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 128}, 224),  # 16 copies of each thread
        (4, {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 64}, 216),
        (4, {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64}, 232),  # without copies 104: the producer would have 24
    ],
)
def test_threads_that_copy_keep_registers_for_addresses(num_warps, tiles, registers):
    def boxes(BLOCK_M, BLOCK_N, BLOCK_K, **_):
        return {"a_ring": launch.Box((BLOCK_M, BLOCK_K), copied=True), "b_desc": launch.Box((BLOCK_K, BLOCK_N))}

    copied = {"a_ring": copied_rows("a", Memory(1 << 20), unit=1, steps=(256,)), "b_desc": views()["b_desc"]}
    schedule = launch.Schedule(output=("BLOCK_M", "BLOCK_N"))
    found = plan_ring(schedule, boxes, copied, {**TILES, **tiles}, num_warps, 3)
    assert found.consumer_registers == registers
    asked = plan_ring(schedule, boxes, copied, {**TILES, **tiles, "CONSUMER_REGISTERS": 160}, num_warps, 3)
    assert asked.consumer_registers == 160


def test_a_wide_wgmma_is_not_paired():
    # 256 columns take more registers than the 128 per thread that two CTAs on an SM would leave at launch.
    found = plan(4, 2, BLOCK_M=64, BLOCK_N=256)
    assert (found.consumers, found.consumer_warps, found.consumer_registers) == (1, 4, 232)
    assert (found.maxnreg, found.resident) == (None, 1)


def test_what_one_group_s_registers_cannot_hold_is_shared_by_two():
    # 128 rows of 256 columns are 256 accumulators in each of 128 threads; so are four results of 64 columns.
    found = plan(4, 2, BLOCK_N=256)
    assert (found.consumers, found.consumer_warps, found.consumer_registers) == (2, 4, 232)
    four = launch.Schedule(split="BLOCK_M", output=("BLOCK_M", "BLOCK_N"), products=(("BLOCK_M", "BLOCK_N"),) * 4)
    found = plan(4, 2, four, BLOCK_M=128, BLOCK_N=64, BLOCK_K=32)
    assert (found.consumers, found.consumer_warps, found.consumer_registers) == (2, 4, 232)
    found = plan(4, 2, four, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32)
    assert (found.consumers, found.consumer_warps, found.consumer_registers) == (1, 4, 216)


def test_groups_that_take_tiles_in_turn_hold_whole_ones():
    alternating = launch.Schedule(alternating=True, output=("BLOCK_M", "BLOCK_N"))
    for num_warps, rows in ((4, 64), (8, 128)):
        found = plan(num_warps, 2, alternating, BLOCK_M=rows, BLOCK_N=128)
        assert (found.consumers, found.consumer_warps, found.consumer_registers, found.maxnreg) == (2, 4, 232, None)
        assert found.boxes["a_desc"].shape[0] * found.boxes["a_desc"].count == rows
    with pytest.raises(Fallback, match="256 registers") as refusal:
        plan(8, 2, alternating, BLOCK_M=128, BLOCK_N=256)
    assert refusal.value.code == "registers"


def test_two_tiles_are_finished_side_by_side():
    alternating = launch.Schedule(alternating=True, output=("BLOCK_M", "BLOCK_N"))
    one, two = (
        plan(8, 99, schedule, BLOCK_M=128, BLOCK_N=128, BLOCK_K=32).deepest for schedule in (SCHEDULE, alternating)
    )
    assert two < one


def test_an_accumulator_that_goes_through_a_branch_gets_twice_its_registers():
    crowded = launch.Schedule(split="BLOCK_M", output=("BLOCK_M", "BLOCK_N"), crowded=True)
    for rows, expected in ((128, (2, 4, 232)), (64, (1, 4, 232))):
        found = plan(4, 2, crowded, BLOCK_M=rows, BLOCK_N=128, BLOCK_K=32)
        assert (found.consumers, found.consumer_warps, found.consumer_registers) == expected


def test_sums_of_8_bit_products_side_by_side_get_their_registers():
    tile = ("BLOCK_M", "BLOCK_N")
    pair = launch.Schedule(output=tile, products=(tile, tile))
    eight_bits = {name: tma_view(name, Memory(1 << 20, dtype=FP8), (512, 512), (512, 1)) for name in views()}
    for schedule, warps in ((pair, 8), (launch.Schedule(output=tile), 4)):
        found = plan_ring(schedule, kernels.boxes, eight_bits, {**TILES, "BLOCK_M": 64, "BLOCK_K": 32}, 4, 2)
        assert (found.consumers, found.consumer_warps) == (1, warps)
    assert plan(4, 2, pair, BLOCK_M=64, BLOCK_K=32).consumer_warps == 4


def test_rows_that_no_wgmma_has_are_the_original_s():
    with pytest.raises(Fallback, match="a dot of 32 rows") as caught:
        plan(8, 2, launch.Schedule(output=("BLOCK_M", "BLOCK_N")), BLOCK_M=32)
    assert caught.value.code == "rows"


@pytest.mark.parametrize(
    ("rows", "columns", "expected"),
    [
        # rows x columns / 128 accumulators a thread, and columns / 2 + 26 registers for one wgmma.
        (64, 64, (104, 64, 4)),
        (64, 32, (104, 64, 4)),
        (128, 64, (216, 128, 2)),
        (64, 128, (216, 128, 2)),
        (256, 64, (216, 128, 2)),
        (256, 128, (232, None, 1)),
    ],
)
def test_the_smaller_the_tile_the_more_ctas_share_an_sm(rows, columns, expected):
    found = plan(4, 2, BLOCK_M=rows, BLOCK_N=columns, BLOCK_K=32)
    assert (found.consumer_registers, found.maxnreg, found.resident) == expected


def test_shared_memory_limits_how_many_share_an_sm():
    # 6 stages of 16 KiB and 4 KiB for the epilogue: two fit the SM's 228 KiB, not four.
    found = plan(4, 6, BLOCK_M=64, BLOCK_N=64, BLOCK_K=64)
    assert (found.consumer_registers, found.stages, found.resident) == (104, 6, 2)


def test_without_a_split_axis_there_is_one_group():
    found = plan(8, 2, schedule=launch.Schedule())
    assert (found.consumers, found.consumer_warps) == (1, 8)


def test_too_few_rows_for_a_group():
    with pytest.raises(Fallback, match="rows") as caught:
        plan(4, BLOCK_M=32)
    assert caught.value.code == "rows"


def test_depth_is_cut_to_what_fits_and_never_below_two():
    # 128 x 256 x 64 in 16 bits: 48 KiB a stage and 32 KiB for the epilogue leave room for four stages of 227 KiB.
    assert plan(8, 9, BLOCK_N=256).stages == 4
    assert plan(8, 1).stages == 2
    with pytest.raises(Fallback) as caught:
        plan(8, 2, BLOCK_M=256, BLOCK_N=256, BLOCK_K=128)
    assert caught.value.code == "shared-memory"


def test_the_budget_holds_for_every_depth_and_is_used_up():
    for BLOCK_N in (32, 64, 128, 256):
        for BLOCK_K in (32, 64, 128):
            found = plan(8, 99, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K)
            stage = 2 * BLOCK_K * (128 + BLOCK_N) + 16
            assert found.stages * stage + 128 * BLOCK_N <= 232_448
            assert (found.stages + 1) * stage + 128 * BLOCK_N + 128 > 232_448


@pytest.mark.parametrize(
    "shape", [(512, 64), (96, 64), (128, 4), (128,)], ids=["too long", "no power of two", "too narrow", "rank"]
)
def test_boxes_that_the_tma_cannot_load(shape):
    def boxes(**meta):
        return {**kernels.boxes(**meta), "b_desc": launch.Box(shape)}

    with pytest.raises(Fallback) as caught:
        plan(boxes=boxes)
    assert caught.value.code == "box"


def offered(source, schedule=SCHEDULE, follows=True):
    return candidates(
        schedule, kernels.boxes, views(), lambda config: dict(config.kwargs), source, grid_follows=follows
    )


def test_deeper_rings_are_added_and_marked():
    source = [triton.Config(TILES, num_warps=8, num_stages=3)]
    found = offered(source)
    assert found[0].config is source[0]
    assert [(candidate.added, candidate.config.num_stages) for candidate in found] == [(False, 3), (True, 6)]


def test_configs_that_come_to_the_same_are_tried_once():
    source = [triton.Config(TILES, num_warps=8, num_stages=stages) for stages in (1, 2, 6, 7, 9)]
    assert [candidate.config.num_stages for candidate in offered(source)] == [1, 6]


def test_four_warps_also_try_the_depth_at_which_two_ctas_share_an_sm():
    found = offered([triton.Config(TILES, num_warps=4, num_stages=4)])
    plans = [plan(4, candidate.config.num_stages) for candidate in found]
    assert [(candidate.config.num_stages, ring.resident) for candidate, ring in zip(found, plans, strict=True)] == [
        (4, 1),
        (6, 1),
        (3, 2),
    ]


def test_other_tiles_need_a_grid_that_follows_them():
    ours = {**TILES, "BLOCK_N": 256, "num_warps": 8, "num_stages": 3}
    same = {**TILES, "num_warps": 8, "num_stages": 5}
    schedule = launch.Schedule(split="BLOCK_M", output=("BLOCK_M", "BLOCK_N"), configs=[ours, same])
    source = [triton.Config(TILES, num_warps=8, num_stages=3)]
    widths = [
        {candidate.config.kwargs["BLOCK_N"] for candidate in offered(source, schedule, follows)}
        for follows in (True, False)
    ]
    assert widths == [{128, 256}, {128}]
    assert 5 in [candidate.config.num_stages for candidate in offered(source, schedule, False)]


def test_no_config_left_says_why():
    with pytest.raises(Fallback) as caught:
        offered([triton.Config({**TILES, "BLOCK_M": 32}, num_warps=4)])
    assert caught.value.code == "rows"


CONFIGS = [
    triton.Config(TILES, num_warps=8, num_stages=3),
    triton.Config({**TILES, "BLOCK_N": 256}, num_warps=8, num_stages=3),
]


def fastest(log, width=256, stages=4):
    """A benchmark that times a launch by what was launched last: the chosen width and depth are fastest."""

    def measure(call, quantiles):
        call()
        arguments = log[-1].arguments
        time = abs(arguments["BLOCK_N"] - width) + abs(arguments.get("STAGES", 0) - stages) + 1
        return [time] * len(quantiles)

    return measure


def test_triton_s_tuner_picks_among_source_and_added_configs(bench):
    kernel = bench.bind(triton.autotune(CONFIGS, key=["M"], do_bench=fastest(bench.log)))
    args = operands()
    kernel[grid_of](*args)
    tried = {(entry.arguments["BLOCK_N"], entry.arguments["STAGES"]) for entry in bench.log}
    assert tried == {(128, 3), (128, 6), (256, 3), (256, 4)}
    assert kernel.best_config.kwargs["BLOCK_N"] == 256
    assert [candidate.added for candidate in kernel.candidates] == [False, False, True, True]
    bench.log.clear()
    kernel[grid_of](*args)
    (entry,) = bench.log
    assert (entry.arguments["BLOCK_N"], entry.arguments["STAGES"], entry.grid) == (256, 4, (8,))


def test_the_source_s_key_decides_when_to_tune_again(bench):
    kernel = bench.bind(triton.autotune(CONFIGS, key=["M"], do_bench=fastest(bench.log)))
    counts = []
    for M, N in ((512, 512), (512, 1024), (1024, 512)):
        bench.log.clear()
        kernel[grid_of](*operands(M=M, N=N))
        counts.append(len(bench.log))
    assert counts == [5, 1, 5]


def test_pruning_sees_the_source_s_names(bench):
    seen = []

    def prune(configs, named, **kwargs):
        seen.append((named["M"], [config.num_stages for config in configs]))
        return [config for config in configs if config.kwargs["BLOCK_N"] == 128]

    pruned = {"early_config_prune": prune}
    tuned = triton.autotune(CONFIGS, key=["M"], do_bench=fastest(bench.log, 128, 3), prune_configs_by=pruned)
    bench.bind(tuned)[grid_of](*operands())
    assert seen == [(512, [3, 3, 6, 4])]


def test_hooks_see_the_source_s_names(bench):
    seen = []

    def hook(named, reset_only=False):
        seen.append((named["c_ptr"].data_ptr(), reset_only))

    kernel = bench.bind(triton.autotune(CONFIGS, key=["M"], do_bench=fastest(bench.log), pre_hook=hook))
    args = operands()
    kernel[grid_of](*args)
    assert seen == [(args[2].data_ptr(), False)] * 4 + [(args[2].data_ptr(), True)]


def test_reset_and_restore_wrap_each_trial(bench):
    history = []

    class Output(Memory):
        def zero_(self):
            history.append("zero")

        def clone(self):
            history.append("save")
            return self

        def copy_(self, other):
            history.append("restore")

    tuned = triton.autotune(
        CONFIGS, key=["M"], do_bench=fastest(bench.log), reset_to_zero=["c_ptr"], restore_value=["c_ptr"]
    )
    kernel = bench.bind(tuned)
    args = operands()
    args[2] = Output(args[2].address)
    kernel[grid_of](*args)
    # Four trials (the source's configs and deeper ones), then the output is cleared for the launch that counts.
    assert history == ["zero", "save", "restore"] * 4 + ["zero"]


def test_the_hook_of_the_chosen_config_runs_at_every_launch(bench):
    hooked = []
    config = triton.Config(TILES, num_warps=8, num_stages=6, pre_hook=lambda named: hooked.append(named["M"]))
    kernel = bench.bind(triton.autotune([config], key=["M"], do_bench=fastest(bench.log)))
    for _ in range(3):
        kernel[grid_of](*operands())
    assert hooked == [512] * 3


def test_heuristics_reach_boxes_and_kernel(bench):
    decorate = triton.heuristics({"BLOCK_K": lambda named: 128 if named["K"] % 128 == 0 else 64})
    kernel = bench.bind(decorate)
    tiles = {"BLOCK_M": 128, "BLOCK_N": 128}
    kernel[grid_of](*operands(K=256), **tiles)
    kernel[grid_of](*operands(K=96), **tiles)
    assert [entry.arguments["a_desc"].block_shape[1] for entry in bench.log] == [128, 64]
    assert kernel.resolve(*operands(K=96), grid=grid_of, **tiles).kwargs["BLOCK_K"] == 64


def test_heuristics_inside_a_tuner(bench):
    configs = [triton.Config({"BLOCK_M": 128, "BLOCK_N": width}, num_warps=8, num_stages=3) for width in (128, 256)]

    def decorate(kernel):
        inner = triton.heuristics({"BLOCK_K": lambda named: 8192 // named["BLOCK_N"]})(kernel)
        return triton.autotune(configs, key=["M"], do_bench=fastest(bench.log))(inner)

    kernel = bench.bind(decorate)
    kernel[grid_of](*operands())
    assert {(entry.arguments["BLOCK_N"], entry.arguments["BLOCK_K"]) for entry in bench.log} == {(128, 64), (256, 32)}


def test_a_fixed_grid_keeps_to_the_source_s_tiles(bench):
    ours = {**TILES, "BLOCK_N": 64, "num_warps": 8, "num_stages": 3}
    schedule = launch.Schedule(split="BLOCK_M", persistent=True, configs=[ours])
    kernel = bench.bind(triton.autotune(CONFIGS[:1], key=["M"], do_bench=fastest(bench.log)), schedule=schedule)
    args = operands()
    kernel[(16,)](*args)
    assert {entry.arguments["BLOCK_N"] for entry in bench.log} == {128}
    bench.log.clear()
    kernel[grid_of](*args)
    assert {entry.arguments["BLOCK_N"] for entry in bench.log} == {64, 128}


def test_a_fallback_is_tuned_by_the_original(bench):
    kernel = bench.bind(triton.autotune(CONFIGS, key=["M"], do_bench=fastest(bench.log)))
    kernel[grid_of](*operands(K=0))
    assert set(bench.ran) == {"original"}
    assert kernel.best_config is kernel.original.best_config


def test_nothing_is_measured_under_graph_capture(bench, monkeypatch):
    kernel = bench.bind(triton.autotune(CONFIGS, key=["M"], do_bench=fastest(bench.log)))
    original = kernel.original
    original.cache.update({(512, "float16", "float16", "float16"): CONFIGS[0]})
    monkeypatch.setattr(chip, "capturing", lambda: True)
    kernel[grid_of](*operands())
    assert bench.ran == ["original"]
    monkeypatch.setattr(chip, "capturing", lambda: False)
    kernel[grid_of](*operands())
    bench.log.clear()
    monkeypatch.setattr(chip, "capturing", lambda: True)
    kernel[grid_of](*operands())
    assert bench.ran == ["specialized"]


def test_configs_without_resources_are_passed_over(bench):
    kernel = bench.bind(triton.autotune(CONFIGS, key=["M"], do_bench=fastest(bench.log)), limit=1)
    assert kernel[grid_of](*operands()) == "original"
    assert launch.stats()[f"{kernels.__name__}.matmul"].fallbacks == {"out-of-resources": 1}


def test_a_hook_that_fails_is_reported_by_the_original(bench):
    def prune(configs, named, **kwargs):
        raise LookupError("no config for this shape")

    kernel = bench.bind(triton.autotune(CONFIGS, key=["M"], prune_configs_by={"early_config_prune": prune}))
    with pytest.raises(LookupError, match="no config for this shape"):
        kernel[grid_of](*operands())


def test_warmup_compiles_every_config(bench):
    kernel = bench.bind(triton.autotune(CONFIGS, key=["M"], do_bench=fastest(bench.log)))
    # What is compiled will be launched with the source's arguments: the caller gets the original.
    assert kernel.warmup(*operands(), grid=grid_of) == ["warmup of the original"] * 2
    assert bench.ran == ["warmup"] * 4 + ["warmup of the original"] * 2


class Opaque:
    """A decorator of some library: passes launches on under a config only it knows."""

    def __init__(self, fn):
        self.fn = fn

    def __getitem__(self, grid):
        return lambda *args, **kwargs: self.fn[grid](*args, **TILES, **kwargs)


@pytest.fixture
def agreed(monkeypatch):
    monkeypatch.setattr("tlx.launch.stack.HANDING_ON", {"Opaque"})


def test_a_decorator_that_is_agreed_on_stays_on_the_original(bench, agreed):
    kernel = bench.bind(Opaque)
    assert kernel[grid_of](*operands()) == "original"
    assert kernel[grid_of](*operands(K=0)) == "original"
    assert set(launch.stats()[f"{kernels.__name__}.matmul"].fallbacks) == {"unknown-config", "empty"}


def test_the_plan_may_list_configs_for_it(bench, agreed):
    entry = {**TILES, "num_warps": 8, "num_stages": 3}
    schedule = launch.Schedule(split="BLOCK_M", persistent=True, configs=[entry])
    kernel = bench.bind(Opaque, schedule=schedule)
    assert kernel[grid_of](*operands(dtype=BF16)) == "specialized"
    assert [candidate.added for candidate in kernel.candidates] == [True]


class OpaqueTuner(triton.runtime.autotuner.Autotuner):
    """A tuner of some library, one of whose policies it is."""


class ItsPolicy(OpaqueTuner):
    pass


@pytest.mark.parametrize("hooked", [False, True])
@pytest.mark.parametrize("says", [False, True])
def test_what_such_a_tuner_sets_has_no_default(bench, monkeypatch, says, hooked):
    """Only a config of the plan that says all of it is launched, and none in place of one with a hook."""
    monkeypatch.setattr("tlx.launch.stack.HANDING_ON", {"OpaqueTuner"})
    hook = (lambda named: None) if hooked else None
    tuned = triton.Config({**TILES, "ACTIVATION": "twice"}, num_warps=8, pre_hook=hook)

    def decorate(kernel):
        return ItsPolicy(kernel, kernel.arg_names, [tuned], ["M"], None, None)

    entry = {**TILES, **({"ACTIVATION": "twice"} if says else {}), "num_warps": 8}
    schedule = launch.Schedule(split="BLOCK_M", persistent=True, configs=[entry])
    kernel = bench.bind(decorate, schedule=schedule)
    assert kernel[grid_of](*operands()) == ("specialized" if says and not hooked else "original")
    assert bench.log[0].arguments["ACTIVATION"] == "twice"


def test_heuristics_inside_of_such_a_decorator_are_asked(bench, agreed):
    kernel = bench.bind(lambda kernel: Opaque(triton.heuristics({"ACTIVATION": lambda named: named["K"]})(kernel)))
    assert kernel[grid_of](*operands(K=256), **TILES) == "specialized"
    assert bench.log[0].arguments["ACTIVATION"] == 256


class Doubled(Opaque):
    """Changes an argument, and does something after each launch."""

    after = 0

    def __getitem__(self, grid):
        def run(*args, **kwargs):
            result = self.fn[grid](*args, **{**kwargs, "ACTIVATION": "twice"})
            self.after += 1
            return result

        return run


@pytest.mark.parametrize("tuned", [False, True])
def test_a_decorator_that_nobody_knows_is_not_gone_past(bench, tuned):
    made = []

    def decorate(kernel):
        kernel = triton.autotune(CONFIGS[:1], key=["M"])(kernel) if tuned else kernel
        made.append(Doubled(kernel))
        return made[0]

    kernel = bench.bind(decorate)
    for _ in range(3):
        assert kernel[grid_of](*operands(), **({} if tuned else TILES)) == "original"
    assert {entry.arguments["ACTIVATION"] for entry in bench.log} == {"twice"}
    assert made[0].after == 3
    assert launch.stats()[f"{kernels.__name__}.matmul"].fallbacks == {"unknown-decorator": 3}
    assert kernel.resolve(*operands(), grid=grid_of, **TILES).code == "unknown-decorator"
