"""Every mutant of three sound kernels ends in a finding that names its fault, with file and line."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from tlxify.conversion import Conversion
from tlxify.verdict import Evidence
from tlxify.verify.cases import Case
from tlxify.verify.inputs import edge_cases
from tlxify.verify.protocol import check_protocol, worlds_of
from tlxify.verify.protocol.worlds import launch_constants

from . import samples
from .mutants import EXPECTED, Mutant, mutants

pytestmark = pytest.mark.triton

SUBJECTS = {"sample": samples.conversion, "hand-written": samples.hand_written, "emitted": samples.emitted}


@cache
def subject(name: str) -> Conversion:
    return SUBJECTS[name]()


@cache
def mutants_of(name: str) -> tuple[Mutant, ...]:
    return tuple(mutants(subject(name).module_text))


def telling_cases(conversion: Conversion) -> list[Case]:
    """Long enough for every slot to be used twice, ragged, with few schedules: what a mutant needs to show itself."""
    telling = ("trips", "transposed", "transposed, padded")
    found = [case for case in edge_cases(conversion.contract) if case.name.endswith(telling) and case.config == 0]
    return [replace(case, schedules=("late", "eager", 0)) for case in found if case.trips and case.trips > 2]


def protocol_findings(conversion: Conversion) -> list[Evidence]:
    *_, deepest = launch_constants(conversion.contract.configs[0])
    worlds = worlds_of(conversion.contract, [deepest])
    found = check_protocol(conversion.module_text, conversion.file, worlds, budgets=False)
    return [item for item in found if not item.ok]


def simulated_findings(conversion: Conversion) -> list[Evidence]:
    from tlxify.verify.simulate import simulate

    return list(simulate(conversion, cases=telling_cases(conversion)).findings.values())


@pytest.mark.parametrize("name", SUBJECTS)
def test_the_subjects_themselves_are_clean(name):
    assert protocol_findings(subject(name)) == []
    assert simulated_findings(subject(name)) == []


@pytest.mark.parametrize("name", SUBJECTS)
def test_every_kind_of_fault_has_a_place(name):
    assert {mutant.kind for mutant in mutants_of(name)} == set(EXPECTED)


@pytest.mark.parametrize("kind", [kind for kind in EXPECTED if kind != "dropped-last-tile"])
@pytest.mark.parametrize("name", SUBJECTS)
def test_the_protocol_check_names_the_fault(name, kind):
    for mutant in mutants_of(name):
        if mutant.kind != kind:
            continue
        conversion = replace(subject(name), module_text=mutant.text)
        findings = protocol_findings(conversion)
        assert {finding.code for finding in findings} & EXPECTED[kind], (mutant.name, findings)
        for finding in findings:
            assert finding.file == conversion.file
            assert (
                f"{finding.file}:{finding.line}: {mutant.text.splitlines()[finding.line - 1].strip()}" in finding.detail
            )


@pytest.mark.parametrize("kind", EXPECTED)
@pytest.mark.parametrize("name", SUBJECTS)
def test_the_simulator_names_the_fault(name, kind):
    for mutant in mutants_of(name):
        if mutant.kind != kind:
            continue
        conversion = replace(subject(name), module_text=mutant.text)
        findings = simulated_findings(conversion)
        assert {finding.code for finding in findings} & EXPECTED[kind], (mutant.name, findings)
        assert all(finding.file == conversion.file and finding.line > 0 for finding in findings), findings


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_dropped_tile_is_a_mismatch_with_output_index_and_trips(name):
    (mutant,) = (mutant for mutant in mutants_of(name) if mutant.kind == "dropped-last-tile")
    found = simulated_findings(replace(subject(name), module_text=mutant.text))
    (mismatch,) = (finding for finding in found if finding.code == "mismatch")
    assert mismatch.text.startswith("c_ptr[")
    assert "trips of the dot loop" in mismatch.text
    assert "instead of" in mismatch.text
