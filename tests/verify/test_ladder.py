"""`verify` from the outside: rungs, evidence, skips."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from tlxify.verdict import Rung
from tlxify.verify import Limits, ladder, verify

from . import samples

pytestmark = pytest.mark.triton


@pytest.fixture(scope="module")
def sample():
    """The sample with one of its configs: fewer launches and cubins."""
    return samples.conversion(contract=replace(samples.CONTRACT, configs=samples.CONTRACT.configs[:1]))


def test_a_sound_conversion_reaches_compiled(sample):
    steps: list[str] = []
    verdict = verify(sample, progress=steps.append)
    assert verdict.rung == Rung.COMPILED
    assert verdict.passed
    assert [item.code for item in verdict.evidence] == [
        *("protocol", "schedules", "numerics", "dispatch"),
        "machine-code",
    ]
    assert {step.partition(":")[0] for step in steps} == {"protocol", "simulated", "compiled"}


def test_a_broken_protocol_is_also_simulated_but_not_compiled(sample):
    text = samples.TEXT.replace("(full[slot], STAGE_BYTES)", "(full[slot], STAGE_BYTES // 2)")
    assert text != samples.TEXT
    verdict = verify(replace(sample, module_text=text))
    assert verdict.rung == Rung.NONE
    assert {(item.rung, item.code) for item in verdict.findings} >= {
        (Rung.PROTOCOL, "expect-bytes"),
        (Rung.SIMULATED, "expect-bytes"),
    }
    assert all(item.rung <= Rung.SIMULATED for item in verdict.evidence)
    assert all(item.line > 0 for item in verdict.findings)


def test_a_wrong_kernel_stops_below_simulated(sample):
    head, marker, tail = samples.TEXT.rpartition("acc = tl.maximum(acc, 0.0)")
    assert marker
    verdict = verify(replace(sample, module_text=f"{head}acc = tl.maximum(acc, 0.1){tail}"))
    assert verdict.rung == Rung.PROTOCOL
    (finding,) = verdict.findings
    assert finding.code == "mismatch"
    assert finding.text.startswith("c_ptr[")
    assert "ACTIVATION = 'relu'" in finding.detail


@pytest.mark.parametrize(
    ("origin", "code", "text"),
    [("inferred", "contract-fault", "TLX606 What a valid launch of"), ("given", "source-fails", "TLX603 The source")],
)
def test_a_failing_source_is_its_own_verdict(sample, origin, code, text):
    # On a launch that we inferred the fault may be ours; on one that the user vouches for it is the source's.
    module = samples.TEXT.replace("(rows[:, None] < M) & (columns[None, :] < N)", "rows[:, None] < M", 1)
    contract = replace(sample.contract, origin=origin)
    verdict = verify(replace(sample, module_text=module, contract=contract), upto=Rung.SIMULATED)
    assert verdict.source_fails
    assert not verdict.passed
    assert not verdict.findings
    said = verdict.evidence[-1]
    assert said.code == code
    assert said.text.startswith(text)
    assert "outside every tensor" in said.text
    assert "help: " in said.detail


#: Contracts of which no launch can be made, by what they say: whatever is written there ends in a verdict.
UNLAUNCHABLE = {
    "a grid that divides by zero": (
        lambda contract: replace(contract, grid=("cdiv(M, BLOCK_M) * cdiv(N, M // (BLOCK_M * M))",)),
        "has no value at",
    ),
    "a shape that divides by zero": (
        lambda contract: replace(
            contract, tensors=(*contract.tensors[:2], replace(contract.tensors[2], shape=("M % (N - N)", "N")))
        ),
        "`M % (N - N)` has no value at",
    ),
    "a shape of half an element": (
        lambda contract: replace(
            contract, tensors=(*contract.tensors[:2], replace(contract.tensors[2], shape=("(2 * M + 1) / 2", "N")))
        ),
        "is no whole number",
    ),
    "a stride that divides by zero": (
        lambda contract: replace(
            contract,
            tensors=(*contract.tensors[:2], replace(contract.tensors[2], strides=("N // (M // (M + 1))", "1"))),
        ),
        "has no value at",
    ),
    "a parameter that divides by zero": (
        lambda contract: replace(contract, computed=(("N", "M // (M // (M + 1))"),)),
        "`M // (M // (M + 1))` has no value at",
    ),
    "a name that stands for nothing": (
        lambda contract: replace(contract, grid=("cdiv(M, BLOCK_M) * tiles",)),
        "nothing says what `tiles` is",
    ),
    "an output with two elements in one place": (
        lambda contract: replace(
            contract,
            tensors=(*contract.tensors[:2], replace(contract.tensors[2], strides=("0 * stride_cm", "0 * stride_cn"))),
            scalars=tuple(
                replace(spec, kind="size") if spec.name.startswith("stride_c") else spec for spec in contract.scalars
            ),
        ),
        "elements of c_ptr share memory",
    ),
}


@pytest.mark.parametrize("what", UNLAUNCHABLE)
def test_a_contract_without_a_launch_is_a_fault_of_nobody_else(sample, what):
    change, why = UNLAUNCHABLE[what]
    # Where we inferred it, the message says what the code does not tell; else, what was written.
    number = [*UNLAUNCHABLE].index(what) % 3
    origin, code = [("given", "TLX609"), ("inferred", "TLX606"), ("corrected", "TLX609")][number]
    contract = change(replace(sample.contract, origin=origin))
    verdict = verify(replace(sample, contract=contract), upto=Rung.SIMULATED)
    assert verdict.source_fails
    assert not verdict.passed
    assert not verdict.findings
    said = verdict.evidence[-1]
    assert said.code == "contract-fault"
    assert said.text.startswith(code)
    assert why in said.text
    assert "help: " in said.detail


def test_a_launch_that_there_is_none_of_hides_no_finding(sample):
    # One that is short of a tile along M has no value: others are made before, and what is wrong shows in them.
    head, marker, tail = samples.TEXT.rpartition("acc.to(c_ptr.dtype.element_ty)")
    assert marker
    grid = "cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N) + 0 // (M // BLOCK_M)"
    wrong = replace(
        sample,
        module_text=f"{head}(acc + 1).to(c_ptr.dtype.element_ty){tail}",
        contract=replace(sample.contract, grid=(grid,)),
    )
    assert {item.code for item in verify(wrong, upto=Rung.SIMULATED).findings} == {"mismatch"}


def test_results_that_are_zero_in_every_launch_prove_nothing(sample):
    # Both are equally wrong about what they read: nothing of it is ever kept.
    module = samples.TEXT.replace("acc.to(c_ptr.dtype.element_ty)", "(acc * 0).to(c_ptr.dtype.element_ty)")
    finite = tuple(replace(tensor, values=("1", "2")) for tensor in sample.contract.tensors)
    verdict = verify(replace(sample, module_text=module, contract=replace(sample.contract, tensors=finite)))
    assert verdict.rung == Rung.PROTOCOL
    (finding,) = verdict.findings
    assert (finding.rung, finding.code) == (Rung.SIMULATED, "vacuous")
    assert "[tool.tlxify.contracts]" in finding.detail


@pytest.mark.parametrize(
    ("unlifted", "kinds", "said"),
    [
        (0, [], None),
        (1, ["fp16", "fp8e5"], "no exact oracle in 2 of 92 launches, fp8e5: the source is TLX"),
        (1, ["fp16"], "no exact oracle in 2 of 92 launches: the source is TLX"),
        (46, ["fp16"], "no exact oracle: the source is TLX"),
    ],
)
def test_how_many_launches_have_no_exact_oracle_is_said(sample, unlifted, kinds, said):
    """Two of 92 were told as if none had one."""
    figures = {
        "configs": [0],
        "compared": 46,
        "telling": [[0, "c_ptr"]],
        "references": 46,
        "unlifted": unlifted,
        "unlifted_types": kinds,
        "lifted_types": ["fp16"],
    }
    found = ladder._Ladder(sample, print, Limits(), None, None)._simulated([figures, figures])
    (numerics,) = (item.text for item in found if item.code == "numerics")
    assert ("oracle" in numerics) is (said is not None)
    assert (said or "") in numerics


def test_launches_without_an_exact_oracle_are_counted_with_their_types(sample):
    from tlxify.verify.inputs import edge_cases
    from tlxify.verify.simulate import simulate

    a, b, c = sample.contract.tensors
    contract = replace(sample.contract, tensors=(a, b, replace(c, dtypes=("fp16", "fp8e5"))))
    case = next(case for case in edge_cases(contract) if case.name == "2 trips")
    tally = simulate(replace(sample, contract=contract), cases=[case, replace(case, dtype=1)])
    assert (tally.references, tally.unlifted) == (2, 1)
    assert tally.unlifted_types - tally.lifted_types == {"bf16", "fp8e5"}


def test_a_launch_can_be_repeated_alone(sample):
    head, marker, tail = samples.TEXT.rpartition("acc = tl.maximum(acc, 0.0)")
    assert marker
    wrong = replace(sample, module_text=f"{head}acc = tl.maximum(acc, 0.1){tail}")
    tiles = '"tiles": {"BLOCK_M": 32, "BLOCK_N": 16, "BLOCK_K": 16}, "layouts": {"b_ptr": "%s"}'
    launch = '{"values": {"M": 3, "N": 3, "K": 8, "ACTIVATION": "%s"}, ' + tiles + "}"
    (finding,) = verify(wrong, upto=Rung.SIMULATED, replay=launch % ("relu", "padded")).findings
    assert "replayed (M = 3, N = 3, K = 8, ACTIVATION = 'relu'" in finding.detail
    (finding,) = verify(wrong, upto=Rung.SIMULATED, replay=launch % ("relu", "rows")).findings
    assert "nothing was compared" in finding.text


def test_without_triton_the_protocol_is_still_proved(sample, monkeypatch):
    monkeypatch.setattr(ladder, "missing_for_simulation", lambda: "TLX602 no Triton here")
    verdict = verify(sample)
    assert verdict.rung == Rung.PROTOCOL
    assert verdict.passed
    assert verdict.skipped == (
        "budgets of the protocol: ring depths are the launcher's choice, and Triton is not here",
        "TLX602 no Triton here",
    )


def test_verifying_imports_nothing_heavy_in_the_parent():
    script = """
import sys
for name in ("triton", "numpy", "torch", "greenlet", "hypothesis", "ml_dtypes"):
    sys.modules[name] = None
from tlxify.verify import verify
from tlxify.verify.requirements import missing_for_simulation
try:
    missing_for_simulation()
except ValueError:
    pass  # a blocked module has no spec
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_rung_ran_is_skipped_with_a_reason_where_there_is_no_gpu(sample, monkeypatch):
    for rung in ("protocol", "simulated", "compiled"):
        monkeypatch.setattr(ladder._Ladder, rung, lambda self, **_: [])
    monkeypatch.setattr(ladder, "missing_for_gpu", lambda: "TLX605 no launch on a GPU: none here")
    verdict = verify(sample, upto=Rung.RAN)
    assert verdict.rung == Rung.COMPILED
    assert verdict.skipped == ("TLX605 no launch on a GPU: none here",)
