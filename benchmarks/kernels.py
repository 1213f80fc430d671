"""The kernels of the corpus that convert, for commands that run or time them all."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tlxify.conversion import Conversion
from tlxify.facts import Facts
from tlxify.pipeline import TIERS, analyze, convert
from tlxify.render.contract import contract_text
from tlxify.source import SourceFile

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "corpus"


@dataclass(frozen=True)
class Kernel:
    """One converted kernel of the corpus."""

    #: "gemm/matmul".
    name: str
    conversion: Conversion
    facts: Facts
    schedule: str = "auto"

    @property
    def title(self) -> str:
        """The name, and the schedule where one was asked for."""
        return self.name if self.schedule == "auto" else f"{self.name} {self.schedule}"

    @property
    def made(self) -> str:
        """Digits that change with the conversion or with what a valid launch is."""
        text = f"{self.conversion.module_text}\n{contract_text(self.conversion.contract, self.name)}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def names() -> list[str]:
    """Every file of the corpus, "gemm/matmul" and so on."""
    files = CORPUS.glob("*/*.py")
    return sorted(f"{path.parent.name}/{path.stem}" for path in files if path.parent.name != "golden")


def kernels(wanted: Sequence[str] = (), schedule: str = "auto", tier: str = TIERS[0]) -> list[Kernel]:
    """The converted kernels, or those of the files that are named, as far as the schedule suits them.

    Raises SystemExit for a name that there is not.
    """
    known = names()
    if unknown := sorted(set(wanted) - set(known)):
        raise SystemExit(f"no such kernel: {', '.join(unknown)}")
    found = []
    for name in wanted or known:
        source = SourceFile(f"corpus/{name}.py", (CORPUS / f"{name}.py").read_text())
        for outcome in convert(source, schedule=schedule, tier=tier).kernels:
            if outcome.conversion is not None:
                facts = analyze(source, outcome.name)[0].facts
                found.append(Kernel(name, outcome.conversion, facts, schedule))
    return found
