"""The pytest fixture fails with what is found, and hypothesis shrinks a failure to something readable."""

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

import tlx
from tlx.sim.testing import ScheduleError, Simulate, launches, schedules

from ..kernels.gemm_ws import gemm_ws
from .bugs.test_missing_empty_wait import kernel as missing_empty_wait
from .launch import descriptor, padded
from .test_explore import adders

pytest_plugins = "pytester"

#: a TLX repository in one file
SUITE = """
    import numpy as np
    import triton.language as tl
    import tlx
    from triton.tools.tensor_descriptor import TensorDescriptor


    @tlx.jit
    def total(x_desc, out, TILES, STAGES: tl.constexpr):
        ring = tlx.local_alloc((16, 16), tl.float16, STAGES)
        full = tlx.alloc_barriers(STAGES)
        empty = tlx.alloc_barriers(STAGES)
        with tlx.async_tasks():
            with tlx.async_task("default"):
                for k in range(TILES):
                    slot, phase = tlx.get_bufidx_phase(k, STAGES)
                    WAIT
                    tlx.barrier_expect_bytes(full[slot], 512)
                    tlx.async_descriptor_load(x_desc, ring[slot], [k * 16, 0], full[slot])
            with tlx.async_task(num_warps=4):
                acc = tl.zeros((16, 16), tl.float32)
                for k in range(TILES):
                    slot, phase = tlx.get_bufidx_phase(k, STAGES)
                    tlx.barrier_wait(full[slot], phase)
                    acc += tlx.local_load(ring[slot]).to(tl.float32)
                    tlx.fence("async_shared")
                    tlx.barrier_arrive(empty[slot])
                at = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
                tl.store(out + at, acc)


    def test_total(tlx_sim):
        x, out = np.ones((80, 16), np.float16), np.zeros((16, 16), np.float32)
        base = tlx.sim.tensor(x)
        report = tlx_sim(total, (1,), (TensorDescriptor(base, [80, 16], [16, 1], [16, 16]), out, 5, 2))
        assert report.events == 5
        assert (out == 5).all()
"""


@pytest.mark.parametrize("right", [True, False])
def test_the_fixture_in_a_repository_of_its_own(pytester, right):
    pytester.makepyfile(SUITE.replace("WAIT", "tlx.barrier_wait(empty[slot], phase ^ 1)" if right else "pass"))
    done = pytester.runpytest_subprocess("-p", "tlx_pytest", "-p", "no:cacheprovider", "--tlx-timeline", "pictures")
    done.assert_outcomes(passed=int(right), failed=int(not right))
    pictures = pytester.path / "pictures"
    if right:
        assert not pictures.exists()
    else:
        done.stdout.fnmatch_lines(["*race: TMA load of ring?0? is not ordered*", "*fix: *"])
        assert 'class="flag' in (pictures / "test_total.html").read_text()


def test_the_plugin_imports_nothing_heavy(pytester):
    pytester.makepyfile(
        """
        import sys
        def test_nothing(pytestconfig):
            assert pytestconfig.getini("tlx_seeds") == "4"
            assert not {"triton", "numpy", "tlx", "torch"} & set(sys.modules)
        """
    )
    pytester.runpytest_subprocess("-p", "tlx_pytest", "-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_results_that_depend_on_the_schedule():
    x = np.zeros((8, 16), np.float32)
    args = (descriptor(x, [4, 16]), np.zeros(16, np.float32))
    with pytest.raises(ScheduleError, match="are not those under 'late'"):
        Simulate(seeds=8)(adders, (1,), args)
    Simulate(seeds=8)(adders, (1,), args, exact=False)


def test_every_schedule_starts_from_the_same_contents():
    x, out = np.zeros((8, 16), np.float32), np.full(16, 7.0, np.float32)
    Simulate()(adders, (1,), (descriptor(x, [4, 16]), out), exact=False)
    assert out[8] == 8.0  # added to once


def sum_of(kernel, launch):
    """The launch of one of the seeded bugs, with drawn stages and trip count."""
    k = launch.sizes["k"]
    x, out = np.ones((16 * max(k, 1), 16), np.float16), np.zeros((16, 16), np.float32)
    return tlx.sim.run(kernel, (1,), (descriptor(x, [16, 16]), out, k, launch.stages, 16, 16), schedule=launch.schedule)


class Counted:
    """A condition for hypothesis that counts how often it is asked."""

    def __init__(self, condition):
        self.condition = condition
        self.runs = 0

    def __call__(self, value):
        self.runs += 1
        return self.condition(value)


def smallest(strategy, condition, seed_of_search):
    """What hypothesis shrinks a failure to."""
    seen = []

    @seed(seed_of_search)
    @settings(max_examples=500, database=None, deadline=None, phases=(Phase.generate, Phase.shrink))
    @given(strategy)
    def search(value):
        if condition(value):
            seen.append(value)
            raise AssertionError

    with pytest.raises(AssertionError):
        search()
    return seen[-1]


@pytest.mark.parametrize("seed_of_search", range(3))
def test_a_failure_shrinks_to_a_readable_minimum(seed_of_search):
    shows = Counted(lambda launch: "race" in sum_of(missing_empty_wait, launch).codes)
    least = smallest(launches(stages=(2, 4), k=(0, 40)), shows, seed_of_search)
    assert (least.schedule, least.stages, least.sizes) == ("late", 2, {"k": 3})  # one round more than there are slots
    assert shows.runs < 200


def test_schedules_shrink_to_those_with_names():
    assert smallest(schedules(), lambda schedule: True, 0) == "late"
    assert smallest(schedules(), lambda schedule: not isinstance(schedule, str), 0) == 0


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(launches(stages=(2, 4), m=(1, 40), n=(1, 20), k=(1, 90)))
def test_a_right_kernel_passes_all_that_is_drawn(launch):
    m, n, k = (launch.sizes[name] for name in "mnk")
    rng = np.random.default_rng(0)
    a, b, c = padded(rng, m, k), padded(rng, k, n), np.zeros((m, n), np.float16)
    args = (descriptor(a, [16, 16]), descriptor(b, [16, 16]), c, m, n, k, n, 1)
    constants = {"BLOCK_M": 32, "BLOCK_N": 16, "BLOCK_K": 16, "GROUP_M": 1, "ACTIVATION": "", "STAGES": launch.stages}
    grid = (-(-m // 32) * -(-n // 16),)
    Simulate()(gemm_ws, grid, args, constants, schedules=[launch.schedule])
    np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=2e-3, atol=4e-3)
