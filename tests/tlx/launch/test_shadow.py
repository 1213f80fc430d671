"""Shadow mode: both kernels run, the user's results stay, and disagreements are counted, told and written down."""

import json
import random
import sys

import pytest
import triton

import tlx.launch as launch
from tests.tlx.launch import kernels
from tests.tlx.launch.fakes import TILES, Launch, Recording, grid_of
from tlx.launch import chip, shadow
from tlx.launch.agreement import FLOOR_ULPS, MANTISSA, disagreement
from tlx.launch.replay import Unreplayable, arguments_of, main, replayed

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.triton]
NAME = f"{kernels.__name__}.matmul"
SMALL = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}


class Adding(Recording):
    """A converted kernel that adds `step` to what it writes."""

    step = 1.0

    def run(self, *args, grid, warmup, **options):
        result = super().run(*args, grid=grid, warmup=warmup, **options)
        self.log[-1].arguments["c_ptr"].add_(self.step)
        return result


@pytest.fixture
def adding(bench, monkeypatch):
    """Binds a source that adds one to its output to a conversion that adds `step`, every launch shadowed."""
    monkeypatch.setenv("TLXIFY_SHADOW", "1")

    def bind(decorate=lambda kernel: kernel, step=1.0, **changes):
        monkeypatch.setattr("tests.tlx.launch.fakes.Recording", Adding)
        kernel = bench.bind(decorate, **changes)
        names = bench.source.arg_names
        bench.converted.step = step

        def original(*args, grid, warmup, **kwargs):
            named = {**dict(zip(names, args, strict=False)), **kwargs}
            bench.log.append(Launch("original", named, grid, {}))
            named["c_ptr"].add_(1.0)
            return "original"

        bench.source.run = original
        return kernel

    return bind


def half(*shape, value=0.0):
    return torch.full(shape, value, dtype=torch.float16)


def arguments(a, b, c):
    (M, K), N = a.shape, b.shape[1]
    return (a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride())


def launched(kernel, c=None, K=256, **options):
    c = half(512, 512, value=3.0) if c is None else c
    kernel[grid_of](*arguments(half(512, K), half(K, 512), c), **{**TILES, **options})
    return c


def counted():
    snapshot = launch.stats()[NAME]
    return snapshot.launches, snapshot.shadowed, snapshot.disagreements


def test_both_kernels_start_from_the_same_values_and_the_user_gets_the_conversion(bench, adding):
    kernel = adding(step=1.5)
    c = launched(kernel)
    assert bench.ran == ["specialized", "original"]
    assert c.unique().tolist() == [4.5]
    assert bench.log[0].arguments["c_ptr"] is c
    twin = bench.log[1].arguments["c_ptr"]
    assert (twin.unique().tolist(), twin.stride()) == ([4.0], c.stride())
    assert bench.log[1].arguments["a_ptr"].data_ptr() == bench.log[0].arguments["a_desc"].base.data_ptr()
    assert counted() == (1, 1, 1)


def test_agreement_is_counted_and_nothing_is_said(adding, caplog):
    kernel = adding()
    for _ in range(3):
        launched(kernel)
    assert counted() == (3, 3, 0)
    assert caplog.text == ""


def test_without_the_switch_nothing_stands_in_the_way(bench, monkeypatch):
    def never(*args, **kwargs):
        raise AssertionError("a shadow was made")

    monkeypatch.setattr(shadow.Shadowed, "__init__", never)
    for switch in ("", "0"):
        monkeypatch.setenv("TLXIFY_SHADOW", switch)
        kernel = bench.bind()
        launched(kernel)
        (slot,) = kernel._dispatcher._cache._slots.values()
        assert slot.entry.routes == {}
    assert bench.ran == ["specialized"] * 2


def test_a_disagreement_is_told_once_for_each_description_with_a_record(adding, caplog, monkeypatch, tmp_path):
    monkeypatch.setenv("TLXIFY_SHADOW_DIR", str(tmp_path / "records"))
    kernel = adding(step=1.5)
    for K in (256, 256, 128, 256):
        launched(kernel, K=K)
    assert counted() == (4, 4, 4)
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 2
    assert "c_ptr[0, 0] is 4.5 instead of 4" in caplog.text
    assert caplog.text.count("python -m tlx.launch.replay ") == 2
    records = [json.loads(path.read_text()) for path in (tmp_path / "records").iterdir()]
    record = next(record for record in records if record["arguments"]["K"] == 256)
    assert record["kernel"] == "matmul"
    assert record["grid"] == [16]
    assert record["options"] == {}
    assert record["arguments"]["BLOCK_M"] == 128
    assert record["arguments"]["a_ptr"]["strides"] == [256, 1]
    made = arguments_of(record, "cpu")
    assert made["b_ptr"].shape == (256, 512)
    assert made["b_ptr"].isfinite().all()
    assert made["c_ptr"].data_ptr() % 16 == record["arguments"]["c_ptr"]["alignment"]


def test_shared_memory_is_shared_in_the_copy_and_in_the_record(adding, monkeypatch, tmp_path):
    monkeypatch.setenv("TLXIFY_SHADOW_DIR", str(tmp_path))
    kernel = adding(step=2.0)
    whole = half(1024, 512)
    launched(kernel, whole[512:])
    assert counted() == (1, 1, 1)
    record = json.loads(next(tmp_path.iterdir()).read_text())
    told = record["arguments"]["c_ptr"]
    assert (told["offset"], told["storage_bytes"]) == (512 * 512, 1024 * 512 * 2)
    made = arguments_of(record, "cpu")["c_ptr"]
    assert (made.untyped_storage().nbytes() >= told["storage_bytes"], made.stride()) == (True, (512, 1))


def test_a_write_beside_the_output_is_seen(bench, adding):
    class Beside(Adding):
        def run(self, *args, **kwargs):
            result = super().run(*args, **kwargs)
            c = self.log[-1].arguments["c_ptr"]
            torch.as_strided(c, (1,), (1,), 0).fill_(7.0)
            return result

    kernel = adding()
    bench.converted.__class__ = Beside
    launched(kernel, half(1024, 512)[512:])
    assert counted() == (1, 1, 1)


@pytest.mark.parametrize("reason", ["capture", "limit", "foreign"])
def test_launches_that_have_no_shadow(bench, adding, monkeypatch, reason):
    if reason == "capture":
        monkeypatch.setattr(chip, "capturing", lambda: True)
    if reason == "limit":
        monkeypatch.setenv("TLXIFY_SHADOW_LIMIT", "1000")
    kernel = adding(step=2.0)
    options = {"ACTIVATION": (1, 2)} if reason == "foreign" else {}
    launched(kernel, **options)
    assert bench.ran == ["specialized"]
    assert counted() == (1, 0, 0)


def test_a_launch_in_which_a_tuner_measures_is_not_compared(bench, adding):
    def measure(call, quantiles):
        call()
        return [1.0] * 3

    configs = [triton.Config(TILES, num_warps=8), triton.Config({**TILES, "BLOCK_K": 32}, num_warps=8)]
    kernel = adding(triton.autotune(configs, key=["M"], do_bench=measure))
    for _ in range(2):
        kernel[grid_of](*arguments(half(512, 256), half(256, 512), half(512, 512)))
    assert counted() == (2, 1, 0)


def test_what_fails_in_the_shadow_does_not_reach_the_user(bench, adding, caplog):
    kernel = adding()

    def broken(*args, **kwargs):
        raise OSError("no such luck")

    bench.source.run = broken
    assert launched(kernel).unique().tolist() == [4.0]
    assert counted() == (1, 0, 0)
    assert "the shadow of a launch failed: OSError: no such luck" in caplog.text


def test_where_the_policy_wants_the_original_the_conversion_is_the_shadow(bench, adding):
    kernel = adding(step=1.5)
    for _ in range(3):
        c = launched(kernel, **SMALL, num_warps=4)
        assert c.unique().tolist() == [4.0]
    # The first launch finds out what the policy wants.
    assert bench.ran == ["original", "specialized"] * 3
    assert counted() == (3, 3, 3)
    assert launch.stats()[NAME].fallbacks == {"policy": 3}


def test_the_share_of_the_launches(bench, adding, monkeypatch):
    monkeypatch.setenv("TLXIFY_SHADOW", "0.25")
    monkeypatch.setattr(shadow.random, "Random", lambda: random.Random(1))
    kernel = adding()
    for _ in range(200):
        launched(kernel, half(64, 64), K=64)
    launches, shadowed, _ = counted()
    assert launches == 200
    assert 30 <= shadowed <= 70


@pytest.mark.parametrize("value", ["half", "-0.1", "1.5"])
def test_a_share_that_is_none_is_an_error(bench, monkeypatch, value):
    monkeypatch.setenv("TLXIFY_SHADOW", value)
    with pytest.raises(ValueError, match="TLXIFY_SHADOW"):
        launched(bench.bind())


class TestReplay:
    @pytest.fixture
    def record(self, adding, monkeypatch, tmp_path):
        """The record of a disagreement, and the kernel that made it."""
        monkeypatch.setenv("TLXIFY_SHADOW_DIR", str(tmp_path))
        kernel = adding(step=1.5)
        launched(kernel)
        return json.loads(next(tmp_path.iterdir()).read_text()), kernel

    def test_the_launch_is_made_again(self, bench, record):
        told, kernel = record
        found = replayed(told, kernel, arguments_of(told, "cpu"))
        assert found.startswith("c_ptr[")
        bench.converted.step = 1.0
        assert replayed(told, kernel, arguments_of(told, "cpu")) is None

    def test_what_the_guard_refuses_cannot_be(self, record):
        told, kernel = record
        arguments = arguments_of(told, "cpu")
        arguments["c_ptr"] = arguments["a_ptr"]
        with pytest.raises(Unreplayable, match="overlap"):
            replayed(told, kernel, arguments)

    def test_small_integers_come_back_and_large_ones_are_missed(self, record):
        told, _ = record
        index = {
            "shape": [3],
            "strides": [1],
            "offset": 0,
            "storage": 9,
            "storage_bytes": 24,
            "alignment": 0,
            "dtype": "i64",
        }
        told["arguments"]["index"] = {**index, "values": [2, 0, 1]}
        assert arguments_of(told, "cpu")["index"].tolist() == [2, 0, 1]
        told["arguments"]["index"] = index
        with pytest.raises(Unreplayable, match="may be indices"):
            arguments_of(told, "cpu")

    @pytest.mark.parametrize(
        ("changes", "words"), [({"format": 0}, "format 0"), ({"file": "gone.py"}, "no module"), ({}, "not bound")]
    )
    def test_the_command_says_what_it_lacks(self, record, tmp_path, monkeypatch, capsys, changes, words):
        # The command imports the kernel's module anew, which is right for a process of its own only.
        monkeypatch.setitem(sys.modules, kernels.__name__, kernels)
        path = tmp_path / "record.json"
        path.write_text(json.dumps({**record[0], **changes}))
        assert main([str(path)]) == 2
        assert words in capsys.readouterr().err


class TestAgreement:
    def test_the_floors_are_the_verifier_s(self):
        from tlxify.verify import compare, dtypes

        assert FLOOR_ULPS == compare.FLOOR_ULPS
        assert {name: found.mantissa for name, found in dtypes.FORMATS.items()} == MANTISSA

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
    def test_one_unit_in_the_last_place_passes_and_a_lost_summand_does_not(self, dtype):
        source = torch.randn(64, 64, generator=torch.Generator().manual_seed(0)).to(dtype)
        converted = source.clone()
        converted[3, 5] = torch.nextafter(source[3, 5].float(), torch.tensor(9.0)).to(dtype)
        assert disagreement("c", converted, source) is None
        converted[7, 9] += 0.125
        assert disagreement("c", converted, source).startswith("c[7, 9] is ")

    def test_nan_and_infinity_have_their_places(self):
        source = torch.tensor([1.0, float("nan"), float("inf")])
        assert disagreement("c", source.clone(), source) is None
        for index, value in ((0, float("nan")), (1, 1.0), (2, -float("inf"))):
            other = source.clone()
            other[index] = value
            assert disagreement("c", other, source) is not None

    def test_nan_with_another_payload_is_the_same(self):
        source = torch.tensor([0x7FC00000, 0], dtype=torch.int32)
        converted = torch.tensor([0x7FC00001, 0], dtype=torch.int32)
        assert disagreement("c", converted.view(torch.float32), source.view(torch.float32)) is None
        assert disagreement("c", converted, source) is not None

    def test_parameters_of_a_model_leave_no_graph(self):
        weight = torch.nn.Parameter(torch.randn(8, 8, generator=torch.Generator().manual_seed(0)))
        other = weight.detach().clone()
        other[2, 2] += 1
        assert disagreement("w", weight, other).startswith("w[2, 2]")
        assert weight.grad_fn is None

    def test_integers_have_no_excuse(self):
        source = torch.arange(100)
        converted = source.clone()
        converted[42] += 1
        assert disagreement("i", converted, source) == "i[42] is 43 instead of 42"


class TestFast:
    """The policy `fast`, with a stopwatch of known answers."""

    @pytest.fixture
    def timed(self, monkeypatch):
        times = {"turns": [], "answer": ([2.0, 2.0], [1.0, 1.0])}

        def stopwatch(runs):
            for run in runs:
                run()
            times["turns"].append(len(runs))
            return times["answer"]

        monkeypatch.setattr("tlx.launch.timing.stopwatch", stopwatch)
        monkeypatch.setenv("TLXIFY_POLICY", "fast")
        return times

    def test_the_faster_kernel_runs_and_each_shape_is_timed_once(self, bench, adding, timed, monkeypatch):
        monkeypatch.delenv("TLXIFY_SHADOW")
        kernel = adding()
        c = launched(kernel)
        assert bench.ran == ["original", "specialized", "specialized"]
        # Timing runs on copies.
        assert c.unique().tolist() == [4.0]
        bench.log.clear()
        timed["answer"] = ([1.0, 1.0], [2.0, 2.0])
        for _ in range(2):
            launched(kernel)
        assert bench.ran == ["specialized"] * 2
        bench.log.clear()
        tensors = [half(512, 128), half(128, 512), half(512, 512)]
        for _ in range(3):
            kernel[grid_of](*arguments(*tensors), **TILES)
        assert bench.ran == ["original", "specialized", "original", "original", "original"]
        assert len(timed["turns"]) == 2
        assert launch.stats()[NAME].fallbacks == {"policy": 3}

    def test_nothing_is_measured_under_capture(self, bench, adding, timed, monkeypatch):
        monkeypatch.delenv("TLXIFY_SHADOW")
        monkeypatch.setattr(chip, "capturing", lambda: True)
        kernel = adding()
        c = half(512, 512)
        launched(kernel, c)
        assert bench.ran == ["specialized"]
        assert timed["turns"] == []

    def test_shadow_and_stopwatch_go_together(self, bench, adding, timed):
        kernel = adding()
        tensors = [half(512, 256), half(256, 512), half(512, 512)]
        for _ in range(3):
            kernel[grid_of](*arguments(*tensors), **TILES)
        assert len(timed["turns"]) == 1
        assert tensors[2].unique().tolist() == [3.0]
        assert counted() == (3, 2, 0)
