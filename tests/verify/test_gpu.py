"""The rung RAN on a real Hopper GPU; and, anywhere, that it says why it cannot be tried."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tlxify import convert
from tlxify.contract import LaunchConfig
from tlxify.source import SourceFile
from tlxify.verdict import Rung
from tlxify.verify import gpu, verify
from tlxify.verify.buffers import Inapplicable, make_arguments
from tlxify.verify.dispatch import small_tiles_allowed
from tlxify.verify.gpu import gpu_cases

from . import samples


def test_sizes_are_counted_in_the_configs_own_tiles():
    cases = gpu_cases(samples.CONTRACT)
    assert not any(case.tiles or case.zeroed for case in cases)
    by_name = {case.name: dict(case.values) for case in cases if case.config == 0}
    assert by_name["3 trips"] == {"M": 2 * 128 - 3, "N": 2 * 64 - 3, "K": 3 * 64, "ACTIVATION": ""}
    assert by_name["M = 0"]["M"] == 0
    assert by_name["full size"]["K"] == 16 * 64
    assert {case.config for case in cases} == {0, 1}


class Simulated:
    """Stands for a kernel on a GPU: launches go to the simulator, over torch tensors on the CPU."""

    def __init__(self, kernel, counts):
        self.kernel = kernel
        self.counts = counts

    def __getitem__(self, grid):
        import tlx.sim

        def launch(num_warps, num_stages, **arguments):
            arrays = {
                name: tlx.sim.tensor(value) if hasattr(value, "data_ptr") else value
                for name, value in arguments.items()
            }
            if not hasattr(self.kernel, "resolve"):
                tlx.sim.run(self.kernel, grid, (), arrays)
                return
            tiles = {name: arrays.pop(name) for name in list(arrays) if name.startswith("BLOCK")}
            chosen = {**tiles, "num_warps": num_warps, "num_stages": num_stages}
            with small_tiles_allowed():
                found = self.kernel.resolve(grid=grid, config=chosen, **arrays)
            if found.path == "specialized":
                self.counts["fast"] += 1
                tlx.sim.run(found.kernel, found.grid, (), dict(found.kwargs)).raise_for_findings()
            else:
                tlx.sim.run(self.kernel.original, grid, (), {**arrays, **tiles})

        return launch


@pytest.fixture
def on_the_cpu(monkeypatch):
    """The GPU session with the simulator in the place of the device."""
    torch = pytest.importorskip("torch")
    counts = {"fast": 0}
    monkeypatch.setattr(torch.Tensor, "cuda", lambda self: self)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(gpu, "_unusable", lambda: None)
    monkeypatch.setattr(gpu._Session, "_fast_launches", lambda self: counts["fast"])
    launch = gpu._Session._launch
    monkeypatch.setattr(gpu._Session, "_launch", lambda self, kernel, it: launch(self, Simulated(kernel, counts), it))
    monkeypatch.setattr(gpu, "TILES", 2)
    monkeypatch.setattr(gpu, "TRIPS", 4)
    small = LaunchConfig((("BLOCK_M", 32), ("BLOCK_N", 16), ("BLOCK_K", 16)), num_warps=8, num_stages=2)
    return replace(samples.CONTRACT, configs=(small,))


@pytest.mark.torch
def test_the_session_compares_repeats_and_records(on_the_cpu):
    figures, findings = gpu.run_on_gpu(samples.conversion(contract=on_the_cpu), repeats=3)
    assert findings == []
    assert "4 repeats: every repeat bit-identical" in figures["facts"]["stability"]
    assert "1 configs" in figures["facts"]["launches"]


#: Code → what to replace in the sample, from the back, and what by.
FAULTS = {
    "mismatch": ("acc = tl.maximum(acc, 0.0)", "acc = tl.maximum(acc, 0.1)"),
    "canary": ("columns[None, :] < N)", "columns[None, :] < N + 1)"),
    "dispatch": ("    tlx.require_disjoint(", '    tlx.require(False, "never", "no")\n    tlx.require_disjoint('),
}


@pytest.mark.torch
@pytest.mark.parametrize("code", FAULTS)
def test_the_session_finds_faults(on_the_cpu, code):
    old, new = FAULTS[code]
    head, found, tail = samples.TEXT.rpartition(old)
    assert found
    _, findings = gpu.run_on_gpu(samples.conversion(f"{head}{new}{tail}", on_the_cpu), repeats=2)
    assert {finding.code for finding in findings} == {code}


def test_the_session_needs_only_tlx_and_tlxify():
    script = """
import sys
for name in ("libcst", "click", "rich", "greenlet", "hypothesis", "ml_dtypes"):
    sys.modules[name] = None
import tlxify.verify.gpu
from tests.verify import samples
from tlxify.verify.buffers import Inapplicable, make_arguments
for case in tlxify.verify.gpu.gpu_cases(samples.CONTRACT)[:4]:
    make_arguments(samples.CONTRACT, case, 0)
"""
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.gpu
def test_a_sound_conversion_runs():
    verdict = verify(samples.conversion(), upto=Rung.RAN)
    assert verdict.rung == Rung.RAN, verdict
    assert {"launches", "numerics", "stability", "dispatch"} <= {item.code for item in verdict.evidence}


@pytest.mark.gpu
def test_a_wrong_kernel_is_a_mismatch_on_the_gpu():
    from tlxify.verify.child import Job, Limits, run_job

    head, marker, tail = samples.TEXT.rpartition("acc = tl.maximum(acc, 0.0)")
    assert marker
    conversion = replace(samples.conversion(), module_text=f"{head}acc = tl.maximum(acc, 0.1){tail}")
    outcome = run_job(Job("gpu", conversion, Rung.RAN, {}, Limits(300.0, None)), lambda text: None)
    assert {finding.code for finding in outcome.findings} == {"mismatch"}


def test_tiles_that_only_a_call_sets_have_the_length_of_a_real_call():
    path = Path(__file__).parents[2] / "corpus" / "attention" / "forward.py"
    contract = convert(SourceFile.read(path)).kernels[0].contract
    cases = gpu_cases(contract)
    assert {dict(case.values)["HEAD_DIM"] for case in cases} == {64}
    for case in cases:
        with contextlib.suppress(Inapplicable):  # layouts that the contract cannot express
            if case.name != "full size":
                make_arguments(contract, case, 0)
