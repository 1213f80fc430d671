"""Limits of corpus kernels and of small ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tlxify.bench.shapes import named
from tlxify.contract import LaunchConfig
from tlxify.limit import Limit, Untold
from tlxify.limits import limited
from tlxify.limits.launch import limit_of
from tlxify.outcome import FileConversion, KernelOutcome
from tlxify.pipeline import analyze
from tlxify.source import SourceFile

CORPUS = Path(__file__).parents[2] / "corpus"
HEADER = "import triton\nimport triton.language as tl\n\n\n"


def limit(path: str, configs: Sequence[dict[str, object]] = (), **sizes: int) -> Limit:
    """What limits the one kernel of a corpus file at some sizes, under these tiles instead of its own."""
    (found,) = analyze(SourceFile.read(CORPUS / path))
    contract = found.contract
    assert contract is not None
    if configs:
        contract = replace(contract, configs=tuple(LaunchConfig(tuple(c.items()), 8, 3) for c in configs))
    answer = limit_of(found.kernel, found.facts, contract, [named(contract, sizes)] if sizes else [])
    assert isinstance(answer, Limit), answer
    return answer


def of_text(text: str) -> Limit | Untold | None:
    """What limits the one kernel of a module, as `tlxify analyze` would say."""
    source = SourceFile("m.py", HEADER + text)
    (found,) = analyze(source)
    outcome = KernelOutcome(found.kernel.name, found.kernel.span, "declined")
    return limited(FileConversion(source, (outcome,))).kernels[0].limit
