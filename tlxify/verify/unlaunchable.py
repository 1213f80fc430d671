"""A contract that no launch can be made of: a fault of whoever says it, never of the conversion."""

from __future__ import annotations

from ..contract import Contract
from ..diagnostics import Diagnostic
from ..verdict import Evidence, Rung

#: What such evidence is called, whatever the rung.
CODE = "contract-fault"


def contract_fault(contract: Contract, rung: Rung, why: str, file: str, detail: str = "") -> Evidence:
    """The finding. It speaks of the inference where nobody but us says what a valid launch is."""
    if contract.origin == "inferred":
        said = Diagnostic.of("TLX606", None, name=contract.kernel, why=why)
    else:
        said = Diagnostic.of("TLX609", None, name=contract.kernel, why=why)
    text = f"{said.code} {said.message.splitlines()[0]}"
    return Evidence(rung, False, CODE, text, "\n".join(filter(None, (detail, f"help: {said.remedy}"))), file, 0)
