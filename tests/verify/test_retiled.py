"""Sources whose results depend on their tiles are found out where tiles of ours would be added."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tlxify.pipeline import convert
from tlxify.source import SourceFile

pytestmark = pytest.mark.triton
ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "corpus/gemm/descriptors.py").read_text()
STORED = "acc.to(c_ptr.dtype.element_ty)"


def finding(text):
    """What is found where tiles are added although the proof says no."""
    from tlxify.verify.loading import load
    from tlxify.verify.retiled import retiled

    (kernel,) = convert(SourceFile("descriptors.py", text)).kernels
    contract = kernel.conversion.contract
    contract = contract if contract.added else replace(contract, added=1)
    return retiled(load(kernel.conversion).source, contract, "descriptors.py")


def test_a_gemm_gives_the_same():
    assert finding(TEXT) is None


@pytest.mark.parametrize(
    "value", [f"(acc + col).to({STORED[7:]}", f"(acc * BLOCK_M).to({STORED[7:]}", f"(acc + row).to({STORED[7:]}"]
)
def test_what_sees_its_tile_does_not(value):
    found = finding(TEXT.replace(STORED, value))
    assert found is not None
    assert (found.code, found.ok) == ("retiled", False)
    assert "--tiles user" in found.text


def test_without_tiles_of_ours_nothing_is_tried():
    from tlxify.verify.retiled import retiled_case

    (kernel,) = convert(SourceFile("descriptors.py", TEXT), tiles="user").kernels
    assert retiled_case(kernel.conversion.contract) is None


def test_a_converted_file_says_what_it_tries():
    from tlxify.standing import own_configs

    (kernel,) = convert(SourceFile("descriptors.py", TEXT)).kernels
    found = own_configs(kernel.conversion.module_text, "specialize_descriptor_kernel")
    assert found == kernel.conversion.contract.configs[-2:]
