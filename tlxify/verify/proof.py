"""Verdicts as proofs of bit-equality, in the words that the launcher reads (tlx/launch/proofs.py has the format)."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ..verdict import Rung, Verdict

FORMAT = 1


def proofs(verdicts: Mapping[str, Verdict]) -> str | None:
    """The text of the file that records which kernels gave the source's bits on a GPU; None if none did.

    `verdicts` are by kernel. Only what passed the rung `ran` counts, with the configs that were bit-identical there.
    """
    kernels = {}
    for name, verdict in verdicts.items():
        shown = [item for item in verdict.evidence if item.ok and item.code == "bitwise" and item.rung is Rung.RAN]
        if verdict.passed and verdict.rung is Rung.RAN and shown:
            kernels[name] = json.loads(shown[0].detail)
    if not kernels:
        return None
    return json.dumps({"format": FORMAT, "kernels": kernels}, indent=1, sort_keys=True) + "\n"
