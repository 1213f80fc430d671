"""The rung RAN on a real Hopper GPU; and, anywhere, that it says why it cannot be tried."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tlxify import convert
from tlxify.contract import LaunchConfig
from tlxify.source import SourceFile
from tlxify.verdict import Rung
from tlxify.verify import Limits, gpu, ran, verify
from tlxify.verify.buffers import Inapplicable, make_arguments
from tlxify.verify.child import Outcome
from tlxify.verify.consan import run_consan
from tlxify.verify.device import Hung
from tlxify.verify.explain import cut_down
from tlxify.verify.gpu import gpu_cases
from tlxify.verify.inputs import edge_cases
from tlxify.verify.sizing import with_sizes
from tlxify.verify.worker import JOBS

from . import samples


def test_sizes_are_counted_in_the_configs_own_tiles():
    cases = gpu_cases(samples.CONTRACT)
    assert not any(case.tiles or case.zeroed for case in cases)
    by_name = {case.name: dict(case.values) for case in cases if case.config == 0}
    assert by_name["3 trips"] == {"M": 2 * 128 - 3, "N": 2 * 64 - 3, "K": 3 * 64, "ACTIVATION": ""}
    assert by_name["M = 0"]["M"] == 0
    assert by_name["full size"] == {"M": 32 * 128, "N": 32 * 64, "K": 16 * 64, "ACTIVATION": ""}
    assert {case.config for case in cases} == {0, 1}


class Simulated:
    """Stands for a kernel on a GPU: launches go to the simulator, over torch tensors on the CPU.

    A deadlock makes `device` hang, a race shows in what is computed, and a source can be made to vary.
    """

    def __init__(self, kernel, device):
        self.kernel = kernel
        self.device = device

    def __getitem__(self, grid):
        import tlx.sim

        def launch(num_warps, num_stages, **arguments):
            arrays = {
                name: tlx.sim.tensor(value) if hasattr(value, "data_ptr") else value
                for name, value in arguments.items()
            }
            if not hasattr(self.kernel, "resolve"):
                tlx.sim.run(self.kernel, grid, (), arrays)
                self.device["sources"] += 1
                self.device["disturb"](self.device["sources"], arguments)
                return
            tiles = {name: arrays.pop(name) for name in list(arrays) if name.startswith("BLOCK")}
            chosen = {**tiles, "num_warps": num_warps, "num_stages": num_stages}
            found = self.kernel.resolve(grid=grid, config=chosen, **arrays)
            if found.path == "specialized":
                self.device["fast"] += 1
                report = tlx.sim.run(found.kernel, found.grid, (), dict(found.kwargs))
                self.device["hung"] |= any(finding.code == "deadlock" for finding in report.findings)
            else:
                self.device["refused"].update([found.code])
                tlx.sim.run(self.kernel.original, grid, (), {**arrays, **tiles})

        return launch


@pytest.fixture
def device(monkeypatch):
    """The GPU session with the simulator in the place of the device."""
    torch = pytest.importorskip("torch")
    from tlx.launch import tuning
    from tlx.launch.policy import CHOSEN

    state = {"fast": 0, "sources": 0, "hung": False, "disturb": lambda number, arguments: None, "refused": Counter()}

    def settle(seconds=None):
        if state["hung"]:
            raise Hung("no result within 6 seconds")

    monkeypatch.setattr(torch.Tensor, "cuda", lambda self: self)
    monkeypatch.setattr(tuning, "WGMMA_ROWS", 16)
    monkeypatch.setattr(gpu, "settle", settle)
    monkeypatch.setattr(gpu, "scratch_memory", lambda: None)
    monkeypatch.setattr(gpu, "unusable", lambda: None)
    monkeypatch.setattr(gpu.Session, "_fast_launches", lambda self: state["fast"])
    monkeypatch.setattr(gpu.Session, "_fallbacks", lambda self: dict(state["refused"]))
    launch = gpu.Session._launch
    monkeypatch.setattr(gpu.Session, "_launch", lambda self, kernel, it: launch(self, Simulated(kernel, state), it))
    monkeypatch.setattr(gpu, "LARGE", ((2, 4),))
    yield state
    CHOSEN.clear()


def small(*configs):
    """The sample's contract with tiles that the simulator is quick with: (BLOCK_M, stages) of each config."""
    return replace(
        samples.CONTRACT,
        configs=tuple(
            LaunchConfig((("BLOCK_M", rows), ("BLOCK_N", 16), ("BLOCK_K", 16)), num_warps=8, num_stages=stages)
            for rows, stages in configs or ((32, 2),)
        ),
    )


@pytest.fixture
def in_process(device, monkeypatch):
    """The rung with its children in this process; a new child has a GPU that does not hang."""

    class Told(list):
        def partial(self, figures, findings):
            self.append(figures)

        __call__ = list.append

    # The simulator puts its own functions in the place of Triton's: one job at a time, where they share a process.
    alone = threading.Lock()

    def run_job(job, progress):
        with alone:
            device["hung"] = False
            figures, findings = JOBS[job.name](job, Told())
        return Outcome(json.loads(json.dumps(figures)), tuple(findings))

    def few(contract, *, guarded=True):
        # Whole tiles, few of K: of other sums numpy rounds the last bit by how many rows it multiplies at once.
        found = [case for case in edge_cases(contract) if case.name.endswith(" trips")]
        own = (case for case in edge_cases(contract) if case.name == "own tiles")
        return [*found, *(with_sizes(case, contract, M=64, N=32, K=48) for case in own)]

    monkeypatch.setattr(gpu, "edge_cases", few)
    monkeypatch.setattr(ran, "run_job", run_job)
    monkeypatch.setattr(ran, "PROCESSES", 1)
    return device


def planted(old, new, *, contract=None):
    """The sample with a fault in its specialized kernel."""
    head, found, tail = samples.TEXT.rpartition(old)
    assert found
    return samples.conversion(f"{head}{new}{tail}", contract or small())


def rung(conversion, repeats=2):
    return ran.run_rung(conversion, Limits(60.0), lambda text: None, repeats)


@pytest.mark.torch
def test_the_rung_compares_repeats_and_records(in_process):
    found = rung(samples.conversion(contract=small()), repeats=3)
    facts = {item.code: item for item in found.evidence}
    assert all(item.ok for item in found.evidence)
    assert "4 repeats: every repeat bit-identical" in facts["stability"].text
    assert "1 configs" in facts["launches"].text
    proof = json.loads(facts["bitwise"].detail)
    assert proof["configs"] == [{"BLOCK_M": 32, "BLOCK_N": 16, "BLOCK_K": 16, "num_warps": 8}]
    assert len(proof["source"]) == len(proof["converted"]) == 16


@pytest.mark.torch
def test_other_launches_can_be_run_instead(in_process):
    contract = small((64, 2), (32, 2))
    case = next(case for case in gpu_cases(contract) if case.config == 1 and case.name == "own tiles")
    launches = [replace(case, name="captured", path="any")]
    found = ran.run_rung(samples.conversion(contract=contract), Limits(60.0), lambda text: None, 3, launches)
    facts = {item.code: item.text for item in found.evidence}
    assert facts["launches"].endswith("launches of 1 cases, 1 configs on a GPU")
    assert facts["stability"].startswith("2 repeats")
    assert found.finished == (1,)


#: Code → what to replace in the sample, from the back, and what by.
FAULTS = {
    "mismatch": ("acc = tl.maximum(acc, 0.0)", "acc = tl.maximum(acc, 0.1)"),
    "canary": ("columns[None, :] < N)", "columns[None, :] < N + 1)"),
    "dispatch": ("    tlx.require_disjoint(", '    tlx.require(False, "never", "no")\n    tlx.require_disjoint('),
}


@pytest.mark.torch
@pytest.mark.parametrize("code", FAULTS)
def test_the_session_finds_faults(device, code):
    _, findings = gpu.run_on_gpu(planted(*FAULTS[code]), repeats=2)
    assert {finding.code for finding in findings} == {code}


@pytest.mark.torch
def test_a_config_whose_tiles_no_launch_can_specialize_is_left_to_the_original(in_process, monkeypatch):
    from tlx.launch import tuning

    monkeypatch.setattr(tuning, "WGMMA_ROWS", 64)
    found = rung(samples.conversion(contract=small((32, 2), (64, 2))))
    assert [item.code for item in found.evidence if not item.ok] == []
    facts = {item.code: item.text for item in found.evidence}
    assert facts["left-to-original"] == "config 0 (rows)"
    assert "1 configs on a GPU" in facts["launches"]
    (nothing,) = [item for item in rung(samples.conversion(contract=small((32, 2)))).evidence if not item.ok]
    assert nothing.code == "never-specialized"


ARRIVE = "                    if k > 0:\n                        tlx.barrier_arrive(empty[(used - 1) % STAGES])"


@pytest.mark.torch
def test_a_hang_names_the_roles_that_wait_and_other_configs_keep_their_results(in_process):
    contract = small((64, 2), (32, 2))
    never = planted(ARRIVE, ARRIVE.replace("k > 0", "k > 0 and BLOCK_M != 64"), contract=contract)
    found = rung(never)
    (hang,) = [item for item in found.evidence if not item.ok]
    assert hang.code == "hang"
    assert hang.text.startswith("config 0: in the conversion, after the source ran on equal arguments: Hung: ")
    assert "; simulated: deadlock: " in hang.text
    assert "the default task waits for empty[" in hang.text
    assert "barrier_wait(empty[slot]" in hang.detail
    assert hang.line > 0
    assert found.finished == (1,)
    facts = {item.code: item for item in found.evidence}
    assert facts["numerics"].ok
    assert [entry["BLOCK_M"] for entry in json.loads(facts["bitwise"].detail)["configs"]] == [32]


@pytest.mark.torch
def test_a_race_is_named(in_process):
    wait = "                    tlx.barrier_wait(full[slot], (used // STAGES) & 1)\n"
    found = rung(planted(wait, ""))
    findings = [item for item in found.evidence if not item.ok]
    assert {item.code for item in findings} <= {"mismatch", "unstable"}
    assert any("; simulated: race: " in item.text for item in findings)


@pytest.mark.torch
def test_what_the_source_itself_overwrites_is_its_own_fault(in_process):
    old, new = "columns[None, :] < N)", "columns[None, :] < N + 1)"
    both = samples.conversion(samples.TEXT.replace(old, new), contract=small())
    assert both.module_text.count(new) > 1
    found = rung(both)
    assert not [item for item in found.evidence if not item.ok]
    facts = {item.code: item.text for item in found.evidence}
    assert "elements around c_ptr were overwritten" in facts["source-fails"]
    assert not found.source_fails
    further = both.module_text.rpartition(new)
    worse = samples.conversion(f"{further[0]}columns[None, :] < N + 2){further[2]}", contract=small())
    assert {item.code for item in rung(worse).evidence if not item.ok} == {"canary"}


@pytest.mark.torch
def test_what_the_simulator_cannot_see_is_said(in_process, monkeypatch):
    in_process["disturb"] = lambda number, arguments: arguments["c_ptr"].add_(1.0)
    (finding, *_) = [item for item in rung(samples.conversion(contract=small())).evidence if not item.ok]
    assert finding.code == "mismatch"
    assert "simulated" in finding.detail
    assert ": no finding" in finding.detail


@pytest.mark.torch
def test_a_source_whose_repeats_differ_is_to_blame(in_process):
    in_process["disturb"] = lambda number, arguments: arguments["c_ptr"].add_(number % 2)
    found = rung(samples.conversion(contract=small()))
    assert found.source_fails
    assert [item.code for item in found.evidence] == ["source-fails"]
    assert "its own repeats differ: c_ptr[" in found.evidence[0].text


@pytest.mark.torch
def test_a_config_goes_on_behind_a_case_on_which_the_source_hangs(in_process):
    def hang_once(number, arguments):
        in_process["hung"] |= number == 3

    in_process["disturb"] = hang_once
    found = rung(samples.conversion(contract=small()))
    facts = {item.code: item.text for item in found.evidence}
    assert all(item.ok for item in found.evidence)
    assert facts["source-fails"].startswith("the source fails in 1 cases; ")
    assert "Hung" in facts["source-fails"]
    in_process["disturb"], in_process["hung"] = lambda number, arguments: None, False
    undisturbed, _ = gpu.run_on_gpu(samples.conversion(contract=small()), repeats=2)
    assert f" of {undisturbed.cases} cases" in facts["launches"]
    assert f"{undisturbed.compared - 1} of {undisturbed.compared - 1} outputs" in facts["numerics"]


@pytest.mark.torch
def test_a_config_that_the_source_keeps_ending_is_not_proved(in_process, monkeypatch):
    def hang(number, arguments):
        in_process["hung"] |= number > 3

    monkeypatch.setattr(ran, "RESUMED", 0)
    in_process["disturb"] = hang
    found = rung(samples.conversion(contract=small()))
    (finding,) = [item for item in found.evidence if not item.ok]
    assert finding.code == "unfinished"
    assert "Hung" in finding.detail
    assert not found.finished


@pytest.mark.torch
def test_the_concurrency_sanitizer_watches_the_smallest_config(device, monkeypatch):
    import triton

    monkeypatch.setattr(triton.knobs.compilation, "instrumentation_mode", "")
    monkeypatch.setattr("tlxify.verify.device.HANG_SECONDS", 6.0)
    contract = small((64, 2), (32, 2))
    figures, findings = run_consan(samples.conversion(contract=contract), lambda text: None)
    assert (figures, findings) == ({"ran": "config 1, one launch with every access checked: no complaint"}, [])
    assert triton.knobs.compilation.instrumentation_mode == "consan"
    never = planted(ARRIVE, ARRIVE.replace("k > 0", "k > 0 and BLOCK_M != 32"), contract=contract)
    figures, (finding,) = run_consan(never, lambda text: None)
    assert finding.text.startswith("the concurrency sanitizer stops config 1: ")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Hung("no result"), "hang"),
        (RuntimeError("CUDA error: an illegal memory access was encountered\nmore"), "illegal-access"),
        (RuntimeError("CUDA error: device-side assert triggered"), "gpu-error"),
        (ValueError("no such kernel"), "crash"),
    ],
)
def test_failures_have_their_codes(error, code):
    assert gpu._code(error) == code


def test_large_launches_are_cut_down_with_all_that_matters():
    case = next(case for case in gpu_cases(samples.CONTRACT) if case.name == "full size")
    small_one = cut_down(samples.CONTRACT, replace(case, values=(("M", 2045), ("N", 30), ("K", 64 * 64 - 7))))
    assert dict(small_one.values) == {"M": 253, "N": 30, "K": 7 * 64 - 7}
    assert (small_one.trips, small_one.config, small_one.layouts) == (7, case.config, case.layouts)


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
    found = ran.run_rung(planted(*FAULTS["mismatch"], contract=samples.CONTRACT), Limits(300.0), lambda text: None)
    assert {item.code for item in found.evidence if not item.ok} == {"mismatch"}


def test_tiles_that_only_a_call_sets_have_the_length_of_a_real_call():
    path = Path(__file__).parents[2] / "corpus" / "attention" / "forward.py"
    contract = convert(SourceFile.read(path)).kernels[0].contract
    cases = gpu_cases(contract)
    assert {dict(case.values)["HEAD_DIM"] for case in cases} == {64}
    for case in cases:
        with contextlib.suppress(Inapplicable):  # layouts that the contract cannot express
            if case.name != "full size":
                make_arguments(contract, case, 0)
