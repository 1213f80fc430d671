"""Which kernel the policy wants, where the guard would let both run."""

import importlib.util
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import triton

import tlx
import tlx.launch as launch
from tests.tlx.launch import gemm, kernels
from tests.tlx.launch.device import Device, install
from tests.tlx.launch.fakes import TILES, grid_of, operands
from tlx.launch import chip
from tlx.launch.policy import POLICIES, Facts, rows, table_refusal
from tlx.launch.proofs import proofs_beside
from tlx.lowering import versions

pytestmark = pytest.mark.triton
SMALL = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}


def facts(**changes):
    large = Facts(dots=1, operands=2, rows=128, columns=128, last_columns=128, stage_bytes=32768, stays=False)
    return replace(large, **changes)


def test_the_table_says_what_was_measured():
    for row in rows():
        low, high = row.speedup
        assert (row.runs == "original") == (high < 1)
        assert (row.runs == "conversion") == (low > 1)


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({}, False),
        ({"rows": 64, "columns": 64, "stage_bytes": 8192}, True),
        ({"rows": 64, "columns": 64, "stage_bytes": 16384}, False),
        ({"dots": 2, "operands": 3, "stays": True, "columns": 64, "last_columns": 64}, True),
        ({"dots": 2, "operands": 3, "stays": True, "last_columns": 64}, False),
        ({"dots": 2, "operands": 3, "stays": True, "last_columns": 128}, False),
        ({"dots": 2, "operands": 3, "stays": False, "last_columns": 64}, False),
        ({"dots": 2, "operands": 4, "stays": True, "last_columns": 64}, False),
    ],
)
def test_rows_decide_by_static_facts(changes, kept):
    refusal = table_refusal(facts(**changes))
    assert (refusal is not None) == kept
    assert refusal is None or refusal.code == "policy"


def test_stable_is_the_default_and_keeps_the_original_for_tiles_that_were_slower(bench):
    kernel = bench.bind()
    assert tlx.policy() == "stable"
    assert kernel[grid_of](*operands(), **TILES) == "specialized"
    for _ in range(3):
        assert kernel[grid_of](*operands(), **SMALL, num_warps=4) == "original"
    assert launch.stats()[f"{kernels.__name__}.matmul"].fallbacks == {"policy": 3}


def test_always_runs_the_conversion_wherever_the_guard_holds(bench, monkeypatch):
    monkeypatch.setenv("TLXIFY_POLICY", "always")
    assert bench.bind()[grid_of](*operands(), **SMALL, num_warps=4) == "specialized"


def test_a_tuner_passes_over_configs_that_the_table_leaves_to_the_original(bench):
    measured = []

    def measure(call, quantiles):
        call()
        measured.append(bench.log[-1].arguments["BLOCK_M"])
        return [1.0] * 3

    configs = [triton.Config(tiles, num_warps=4) for tiles in (SMALL, TILES)]
    kernel = bench.bind(triton.autotune(configs, key=["M"], do_bench=measure))
    assert kernel[grid_of](*operands()) == "specialized"
    assert set(measured) == {128}


def test_the_program_goes_before_the_environment(bench, monkeypatch):
    monkeypatch.setenv("TLXIFY_POLICY", "always")
    kernel = bench.bind()
    assert kernel[grid_of](*operands(), **SMALL, num_warps=4) == "specialized"
    assert tlx.policy("stable") == "stable"
    # The decision is taken anew.
    assert kernel[grid_of](*operands(), **SMALL, num_warps=4) == "original"


def test_an_unknown_policy_is_an_error_that_names_the_known(bench, monkeypatch):
    with pytest.raises(ValueError, match="known: stable, fast, bitwise, always"):
        tlx.policy("fastest")
    monkeypatch.setenv("TLXIFY_POLICY", "quick")
    with pytest.raises(ValueError, match="TLXIFY_POLICY: unknown policy 'quick'"):
        bench.bind()[grid_of](*operands(), **TILES)


def test_what_would_be_resolved_does_not_depend_on_the_policy(bench, monkeypatch):
    for name in POLICIES:
        monkeypatch.setenv("TLXIFY_POLICY", name)
        assert bench.bind().resolve(*operands(), grid=grid_of, **SMALL).path == "specialized"


@pytest.mark.skipif(not versions.ARGUMENTS_ONE_BY_ONE, reason="this Triton's launcher is left to itself")
class TestBitwise:
    """The policy `bitwise`, with a conversion in a module of its own, on a device that does nothing."""

    @pytest.fixture
    def module(self, tmp_path, monkeypatch):
        device = Device()
        install(monkeypatch.setattr, device)
        monkeypatch.setenv("TLXIFY_POLICY", "bitwise")
        path = tmp_path / "product_tlx.py"
        path.write_text(Path(gemm.__file__).read_text())
        spec = importlib.util.spec_from_file_location("product_tlx", path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "product_tlx", module)
        spec.loader.exec_module(module)
        yield module
        monkeypatch.undo()
        chip.forget()
        chip.processors.cache_clear()

    def record(self, module, **changes):
        entry = {
            "source": launch.fingerprint_of(kernels.matmul),
            "converted": launch.fingerprint_of(module.matmul_ws),
            "triton": triton.__version__,
            "configs": [{**TILES, "num_warps": 8}],
            **changes,
        }
        proofs = proofs_beside(Path(module.__file__))
        proofs.write_text(json.dumps({"format": 1, "kernels": {"matmul": entry}}))

    def path(self, module, **options):
        kernel = module.bind()
        kernel[grid_of](*operands(), **{**TILES, "num_warps": 8, "num_stages": 2, **options})
        snapshot = launch.stats()[f"{kernels.__name__}.matmul"]
        return "specialized" if snapshot.fast else snapshot.fallbacks

    def test_without_a_record_the_original_runs(self, module):
        assert self.path(module) == {"policy": 1}

    def test_a_recorded_config_runs_specialized(self, module):
        self.record(module)
        assert self.path(module) == "specialized"
        assert self.path(module, num_stages=3) == "specialized"

    @pytest.mark.parametrize("options", [{"BLOCK_K": 32}, {"num_warps": 4}])
    def test_another_config_does_not(self, module, options):
        self.record(module)
        assert self.path(module, **options) == {"policy": 1}

    @pytest.mark.parametrize(
        "changes", [{"source": "0" * 16}, {"converted": "0" * 16}, {"triton": "3.5.1"}, {"configs": []}]
    )
    def test_a_record_about_something_else_is_none(self, module, changes):
        self.record(module, **changes)
        assert self.path(module) == {"policy": 1}

    def test_a_broken_record_is_none_and_is_told(self, module, caplog):
        proofs_beside(Path(module.__file__)).write_text("{")
        assert self.path(module) == {"policy": 1}
        assert "says nothing about it" in caplog.text
