"""Contracts of our own plain kernels, as text: what the inference took each parameter for."""

from __future__ import annotations

import pytest

from tests.golden import ROOT
from tests.test_corpus import KERNELS, converted, name
from tlxify.render.contract import contract_text

GOLDEN = ROOT / "tests" / "contracts"


@pytest.mark.parametrize("path", KERNELS, ids=name)
def test_golden(path, request):
    golden = GOLDEN / f"{name(path).replace('/', '-')}.toml"
    text = "\n".join(
        contract_text(kernel.contract, path.relative_to(ROOT).as_posix())
        for kernel in converted(path).kernels
        if kernel.contract is not None
    )
    if request.config.getoption("--update-golden"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text)
    assert text == golden.read_text(), "run pytest tests/test_contracts.py --update-golden and read the diff"
