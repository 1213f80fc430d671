"""The child's side on the CPU: torch computes, a counter tells the time, and what is wrong is never timed."""

from __future__ import annotations

import functools
import itertools
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.verify.samples import CONTRACT
from tlxify.bench.roofline import Ceilings
from tlxify.bench.work import Work
from tlxify.contract import LaunchConfig
from tlxify.verify.cases import Case

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
CASE = Case("x", 0, (("M", 32), ("N", 16), ("K", 24), ("ACTIVATION", "")))
SMALL = replace(
    CONTRACT,
    configs=tuple(
        LaunchConfig((("BLOCK_M", 16), ("BLOCK_N", 16), ("BLOCK_K", 16)), num_warps=warps) for warps in (4, 8)
    ),
)


class Device:
    """Time passes only when a kernel says so; `astray` is that of other streams."""

    now, astray, waited, maps = 0.0, 0.0, 0.0, 0

    def mark(self):
        return self.now

    def between(self, start, end):
        return end - start

    def hold(self, milliseconds):
        return milliseconds

    def host(self):
        return self.waited

    def settle(self):
        self.waited, self.astray = self.waited + self.astray, 0.0

    def mapped(self):
        return self.maps


class Product:
    """A kernel that multiplies, taking its time by the number of warps; `spoil` changes the result."""

    def __init__(self, device, cost, spoil=lambda c: c, fails=()):
        self.device, self.cost, self.spoil, self.fails = device, cost, spoil, fails
        self.inputs, self.rings = set(), None

    def resolve(self, **launch):
        """The rings of a launcher that has room for three stages, two if the first CTA is to have company."""
        return SimpleNamespace(plan=self.rings)

    def __getitem__(self, grid):
        assert grid == (2,)

        def launch(a_ptr, b_ptr, c_ptr, *_, num_warps, **__):
            if num_warps in self.fails:
                raise RuntimeError("out of resource")
            self.device.now += self.cost[num_warps]
            self.inputs.add(a_ptr.data_ptr())
            c_ptr.copy_(self.spoil(a_ptr.float() @ b_ptr.float()))

        return launch


@pytest.fixture
def session(monkeypatch):
    from tlxify.bench import session as module

    monkeypatch.setattr(module, "sets_for", lambda sizes: 3)
    monkeypatch.setattr(module, "cached", lambda sizes, sets: sets > 3)
    monkeypatch.setattr(module, "arguments_of", functools.partial(module.arguments_of, device="cpu"))
    monkeypatch.setattr(module, "counted", itertools.cycle([{"fast": 0}, {"fast": 9}]).__next__)
    monkeypatch.setattr(module, "_alive", lambda: True)
    monkeypatch.setattr(module, "settle", lambda: None)

    def make(source, bound, device, contract=SMALL, **options):
        loaded = SimpleNamespace(source=source, bound=bound, conversion=SimpleNamespace(contract=contract))
        settings = {"rounds": 5, "pinned": False, "reference": None, **options}
        return module._Session(loaded, device, Ceilings(800.0, 4000.0), settings)

    return make


def row(session, source=None, bound=None, **options):
    device = Device()
    source = source or Product(device, {4: 2.0, 8: 3.0})
    bound = bound or Product(device, {4: 4.0, 8: 1.0})
    source.device = bound.device = device
    return session(source, bound, device, **options).row("x", CASE, Work(8e9, 1e3, "fp16")), source


def test_each_contender_gets_the_config_that_is_fastest_for_it(session):
    found, source = row(session)
    assert found.failure == ""
    assert (found.ms["source"].median, found.ms["converted"].median) == (2.0, 1.0)
    assert found.speedup["source"].median == 2.0
    assert "num_warps=4" in found.configs["source"]
    assert "num_warps=8" in found.configs["converted"]
    assert (found.path, found.error) == ("specialized", 0.0)
    assert found.floor == pytest.approx(0.01)
    assert len(source.inputs) == 3, "inputs rotate"


class Tiled(Product):
    """A kernel whose result says which tiles it had, as one does that writes whole tiles past the end of its rows."""

    def __init__(self, cost):
        super().__init__(None, {4: 0.0, 8: 0.0})
        self.by_tile, self.seen = cost, []

    def __getitem__(self, grid):
        launch = super().__getitem__((2,))

        def tiled(a_ptr, b_ptr, c_ptr, *rest, **options):
            tile = (*rest, options.get("BLOCK_M"))[TILE - 3 :][0]
            self.seen.append(tile)
            self.device.now += self.by_tile[tile]
            launch(a_ptr, b_ptr, c_ptr, **options)
            c_ptr.add_(float(tile))

        return tiled


TILE = CONTRACT.parameters.index("BLOCK_M")
TWO_TILES = replace(
    CONTRACT,
    configs=tuple(LaunchConfig((("BLOCK_M", m), ("BLOCK_N", 16), ("BLOCK_K", 16)), num_warps=4) for m in (16, 32)),
)


def test_results_are_compared_under_the_same_tiles(session):
    source, bound = Tiled({16: 1.0, 32: 2.0}), Tiled({16: 4.0, 32: 3.0})
    found, _ = row(session, source, bound, contract=TWO_TILES)
    assert found.failure == ""
    assert "BLOCK_M=16" in found.configs["source"]
    assert "BLOCK_M=32" in found.configs["converted"]
    assert found.error == 0.0


def test_tiles_that_say_how_large_a_tensor_is_keep_those_of_the_case(session):
    a, *others = TWO_TILES.tensors
    scales = replace(a, name="a_scales_ptr", shape=("cdiv(M, BLOCK_M)",), strides=("1",))
    contract = replace(TWO_TILES, tensors=(a, *others, scales))
    source, bound = Tiled({16: 2.0, 32: 1.0}), Tiled({16: 2.0, 32: 1.0})
    found, _ = row(session, source, bound, contract=contract)
    assert found.failure == ""
    assert set(source.seen) == set(bound.seen) == {16}


def test_the_conversion_is_tried_with_the_depths_that_its_tuner_would_get(session):
    class Deep(Product):
        rings = SimpleNamespace(stages=3, deepest=6, deepest_paired=0)

        def __getitem__(self, grid):
            launch = super().__getitem__(grid)

            def deeper(*args, num_stages, **options):
                self.device.now -= 0.125 * num_stages
                launch(*args, num_stages=num_stages, **options)

            return deeper

    bound = Deep(None, {4: 4.0, 8: 2.0})
    bound.rings = Deep.rings
    found, _ = row(session, bound=bound)
    assert found.failure == ""
    assert found.ms["converted"].median == 2.0 - 0.125 * 6
    assert found.configs["converted"].endswith("num_warps=8, num_stages=6")
    assert found.configs["source"].endswith("num_stages=3")


def test_a_source_that_is_faster_under_tiles_of_ours_is_timed_so_besides(session):
    device = Device()
    source = Product(device, {4: 2.0, 8: 3.0})
    ours = replace(SMALL, added=1)
    found, _ = row(session, source=source, contract=ours)
    assert set(found.ms) == {"source", "converted"}
    assert found.ms["source"].median == 2.0
    found, _ = row(session, source=Product(device, {4: 2.0, 8: 1.5}), contract=ours)
    assert (found.ms["source"].median, found.ms["retiled"].median) == (2.0, 1.5)
    assert found.speedup["retiled"].median == 1.5
    found, _ = row(session, source=Product(device, {8: 1.5}, fails=(4,)), contract=ours)
    assert "runs with no config" in found.failure, "what only tiles of ours can run is not the user's"


def test_a_pinned_config_is_the_only_one(session):
    found, _ = row(session, pinned=True)
    assert (found.ms["source"].median, found.ms["converted"].median) == (2.0, 4.0)


def test_a_config_is_not_chosen_by_how_fast_the_host_launches_it(session, monkeypatch):
    """Kernels of 5 and 8 microseconds behind a host that takes 30 to 60: what launches first is not faster."""

    class Queued(Device):
        def hold(self, milliseconds):
            self.now = max(self.now, self.waited) + milliseconds
            return milliseconds

        def mark(self):
            self.now = max(self.now, self.waited)
            return self.now

        def between(self, start, end):
            self.waited = max(self.waited, end)
            return end - start

    class Short(Product):
        def __getitem__(self, grid):
            launch = super().__getitem__(grid)

            def short(*args, num_warps, **options):
                device = self.device
                device.waited += 0.06 if num_warps == 4 else 0.03
                device.now = max(device.now, device.waited)
                launch(*args, num_warps=num_warps, **options)

            return short

    monkeypatch.setitem(globals(), "Device", Queued)
    found, _ = row(session, bound=Short(None, {4: 0.005, 8: 0.008}))
    assert found.failure == ""
    assert "num_warps=4" in found.configs["converted"]
    assert found.ms["converted"].median == pytest.approx(0.005)


@pytest.mark.parametrize("side", [16, 256, 1024, 8192])
def test_inputs_exceed_the_cache_twice_over_however_small_they_are(monkeypatch, side):
    from tlxify.bench import tensors
    from tlxify.bench.sizes import sizes_of

    cache = 50 << 20
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: SimpleNamespace(L2_cache_size=cache))
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (64 << 30, 0))
    case = replace(CASE, values=(("M", side), ("N", side), ("K", side), ("ACTIVATION", "")))
    sets, each = tensors.sets_for(sizes_of(SMALL, case)), 3 * 2 * side * side
    assert sets >= 2
    assert sets * each > 2 * cache or sets == tensors.MOST
    assert tensors.cached(sizes_of(SMALL, case), sets) == (sets * each <= cache)
    assert tensors.cached(sizes_of(SMALL, case), sets) == (side == 16)


def test_inputs_that_fit_the_cache_are_a_doubt(session, monkeypatch):
    from tlxify.bench import session as module

    assert row(session)[0].doubts == ()
    monkeypatch.setattr(module, "sets_for", lambda sizes: 4)
    found, _ = row(session)
    assert found.doubts == ("4 sets of inputs fit the L2 together: launches may have found theirs in it",)


def test_a_wrong_result_is_not_timed(session):
    found, _ = row(session, bound=Product(None, {4: 1.0, 8: 1.0}, spoil=lambda c: c * 1.1))
    assert "c_ptr differs from the source by 0.1" in found.failure
    assert not found.ms


class Astray(Product):
    """Right, and done at once by the clock of its stream: it works on another one."""

    def __getitem__(self, grid):
        launch = super().__getitem__(grid)

        def elsewhere(*args, **options):
            before = self.device.now
            launch(*args, **options)
            self.device.astray += self.device.now - before
            self.device.now = before

        return elsewhere


class Mapping(Product):
    """Right, and allocates what it needs in every launch."""

    def __getitem__(self, grid):
        launch = super().__getitem__(grid)

        def allocating(*args, **options):
            self.device.maps += 1
            launch(*args, **options)

        return allocating


def test_a_conversion_on_another_stream_has_no_time(session):
    found, _ = row(session, bound=Astray(None, {4: 4.0, 8: 1.0}))
    assert "converted keeps the device busy for" in found.failure
    assert not found.ms
    found, _ = row(session, source=Astray(None, {4: 4.0, 8: 1.0}))
    assert "source keeps the device busy for" in found.failure


def test_allocation_on_one_side_is_seen(session):
    found, _ = row(session, source=Mapping(None, {4: 4.0, 8: 2.0}))
    assert "source asks the driver for memory" in found.failure
    found, _ = row(session, bound=Mapping(None, {4: 4.0, 8: 2.0}))
    assert "converted asks the driver for memory" in found.failure


def test_a_time_below_the_floor_is_in_doubt(session):
    found, _ = row(session, bound=Product(None, {4: 4.0, 8: 0.002}))
    assert (found.failure, found.floor) == ("", pytest.approx(0.01))
    assert "converted takes 0.002 ms, but the ceilings of this machine allow no less than 0.01 ms" in found.doubts[0]


def test_a_row_that_is_never_written_is_seen(session):
    class Lazy(Product):
        def __getitem__(self, grid):
            def launch(a_ptr, b_ptr, c_ptr, *_, **__):
                self.device.now += 1.0

            return launch

    found, _ = row(session, bound=Lazy(None, {}))
    assert "differs" in found.failure, "the output still holds poison"


def test_configs_that_fail_are_passed_over_unless_all_do(session):
    found, _ = row(session, bound=Product(None, {4: 4.0, 8: 1.0}, fails=(8,)))
    assert found.ms["converted"].median == 4.0
    found, _ = row(session, source=Product(None, {}, fails=(4, 8)))
    assert "source runs with no config: RuntimeError: out of resource" in found.failure


def test_a_launch_that_hangs_ends_the_process(session, monkeypatch):
    from tlxify.bench import session as module
    from tlxify.verify.device import Hung

    def settle():
        raise Hung("no result within 6 seconds")

    monkeypatch.setattr(module, "settle", settle)
    with pytest.raises(module.Lost, match="the source broke the device: no result within 6 seconds"):
        row(session)


def test_warming_launches_every_config_of_both(session, monkeypatch):
    device = Device()
    source, bound = Product(device, {4: 1.0, 8: 1.0}, fails=(4,)), Product(device, {4: 1.0, 8: 1.0})
    session(source, bound, device).compile(CASE)
    assert device.now == 6.0


def test_a_reference_is_called_with_what_it_names(session, tmp_path, monkeypatch):
    (tmp_path / "ours_for_reference.py").write_text(
        "def product(a_ptr, b_ptr, M):\n    assert M == 32\n    return a_ptr\n"
    )
    monkeypatch.chdir(tmp_path)
    found, _ = row(session, reference="ours_for_reference:product")
    assert found.failure == "", "and its time is not judged"
    assert set(found.ms) == {"source", "converted", "reference"}
    assert "reference takes 0 ms" in found.doubts[0], "but told to be none"


def test_a_reference_that_cannot_be_timed_costs_no_other_figure(session, tmp_path, monkeypatch):
    (tmp_path / "allocating_reference.py").write_text(
        "DEVICES = []\n\ndef product(a_ptr):\n    DEVICES[0].maps += 1\n    return a_ptr.clone()\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    import allocating_reference

    class Known(Device):
        def __init__(self):
            allocating_reference.DEVICES[:] = [self]

    monkeypatch.setitem(globals(), "Device", Known)
    found, _ = row(session, reference="allocating_reference:product")
    assert found.failure == ""
    assert (set(found.ms), found.speedup["source"].median) == ({"source", "converted"}, 2.0)
    assert found.doubts == (
        "not timed: reference asks the driver for memory, or gives it back, while it is timed: let it allocate before",
    )


def test_arguments_lie_where_the_case_says():
    from tlxify.bench.sizes import sizes_of
    from tlxify.bench.tensors import arguments_of, difference

    case = replace(CASE, layouts=(("a_ptr", "columns"), ("b_ptr", "odd")))
    arguments = arguments_of(sizes_of(SMALL, case), 0, "cpu")
    a, b = arguments.tensors["a_ptr"], arguments.tensors["b_ptr"]
    assert (tuple(a.shape), a.stride()) == ((32, 24), (1, 32))
    assert (a.data_ptr() % 16, b.data_ptr() % 16) == (0, 2)
    assert difference(b, b.clone()) == 0.0
    broken = b.clone()
    broken[0, 0] = float("nan")
    assert difference(broken, b) == float("inf")


def test_a_parameter_called_num_warps_is_no_option():
    from tlxify.verify.device import call_of

    named = {"x": 1, "num_warps": 8, "BLOCK": 64}
    assert call_of(("x", "num_warps", "BLOCK"), named, {"num_warps": 4, "num_stages": 3}) == (
        (1, 8, 64),
        {"num_stages": 3},
    )
    assert call_of(("x", "given_by_default", "BLOCK"), {"x": 1, "BLOCK": 64}, {}) == ((1,), {"BLOCK": 64})


def test_saved_contents_come_back(tmp_path):
    from tlxify.bench.sizes import sizes_of
    from tlxify.bench.tensors import arguments_of
    from tlxify.capture.inside.saved import Savings

    kept = torch.randn(24, 32).half().T
    files = Savings(tmp_path, "1-2").save(3, {"a_ptr": kept, "M": 32})
    assert files == {"a_ptr": "1-2-3-a_ptr.bin"}
    sizes = sizes_of(SMALL, CASE)
    contents = {"a_ptr": str(tmp_path / files["a_ptr"])}
    assert torch.equal(arguments_of(sizes, 0, "cpu", contents).tensors["a_ptr"], kept)
    with pytest.raises(ValueError, match="bytes"):
        arguments_of(sizes, 0, "cpu", {"b_ptr": contents["a_ptr"]})


def test_rows_are_written_one_by_one_with_facts_about_the_machine(monkeypatch, tmp_path):
    import json

    from tlxify.bench import session as module
    from tlxify.verdict import Rung
    from tlxify.verify.child import Job

    device = Device()
    kernels = {
        "source": Product(device, {4: 2.0, 8: 3.0}),
        "bound": Product(device, {4: 1.0, 8: 1.5}),
    }
    loaded = SimpleNamespace(**kernels, conversion=SimpleNamespace(contract=SMALL))
    monkeypatch.setattr(module, "load", lambda conversion: loaded)
    monkeypatch.setattr(module, "CudaClock", lambda torch: device)
    monkeypatch.setattr(module, "ceilings", lambda torch, clock: Ceilings(700.0, 4100.0))
    monkeypatch.setattr(module, "sets_for", lambda sizes: 2)
    monkeypatch.setattr(module, "cached", lambda sizes, sets: False)
    monkeypatch.setattr(module, "arguments_of", functools.partial(module.arguments_of, device="cpu"))
    monkeypatch.setattr(module, "_alive", lambda: True)
    monkeypatch.setattr(module, "settle", lambda: None)
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.get_device_name", lambda: "H200")
    broken = replace(CASE, values=CASE.values[:1])
    works = [Work(8e9, 1e3, "fp16")] * 2
    rows = tmp_path / "rows.jsonl"
    kernel = {"conversion": None, "cases": [("broken", broken), ("good", CASE)], "works": works}
    kernel |= {"pinned": False, "contents": {}}
    another = {**kernel, "cases": [("again", CASE)], "works": works[:1]}
    options = {"kernels": [kernel, another], "rows": str(rows), "rounds": 3, "reference": None}
    job = Job("x", None, Rung.RAN, options)
    said = []
    figures, findings = module.measure(job, said.append)
    assert (figures["device"], figures["ceilings"]) == ("H200", {"tflops": 700.0, "gbps": 4100.0})
    assert findings == []
    lines = [json.loads(line) for line in rows.read_text().splitlines()]
    assert lines.pop(0) == {"about": figures}  # before any launch: the child may not live to the end
    assert [line.get("began") for line in lines] == ["broken", None, "good", None, "again", None]
    assert "nothing says what `N` is" in lines[1]["failure"]
    assert lines[3]["failure"] == ""
    assert lines[3]["ms"]["converted"]["median"] == 1.0
    assert said == ["ceilings", "1/3 broken", "2/3 good", "3/3 again"]
