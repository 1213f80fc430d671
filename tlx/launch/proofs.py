"""Where a conversion was seen to give the source's very bits: what the policy `bitwise` rests on.

`tlxify` writes it beside the module that holds the conversion, `kernels_tlx.py` → `kernels_tlx.bitwise.json`, after a
verification on a GPU (rung `ran`) in which every output was bit-identical:

    {"format": 1, "kernels": {"matmul_kernel": {
        "source": "d1823a45c617a2d5", "converted": "09f2…", "device": "NVIDIA H200", "triton": "3.6.0",
        "configs": [{"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "num_warps": 8}, …]}}}

Both kernels are named by the fingerprint of their text, helpers and constants included: a proof ends with either. It
holds for the configs that were run and for this minor version of Triton: another compiler may order sums otherwise.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import triton

from tlx.launch.fingerprint import fingerprint_of
from tlx.launch.guard import Fallback
from tlx.launch.tuning import DEFAULT_WARPS

__all__ = ["FORMAT", "Proof", "proof_of", "proofs_beside"]

FORMAT = 1
LOGGER = logging.getLogger("tlx")


def proofs_beside(module: Path) -> Path:
    """The file with the proofs about the kernels of a module."""
    return module.with_name(f"{module.stem}.bitwise.json")


@dataclass(frozen=True, slots=True)
class Proof:
    """Configs of one conversion that were seen to give the source's bits."""

    configs: Sequence[Mapping[str, Any]]
    #: Why there is none, in a sentence; empty if there is one.
    missing: str = ""

    def refusal(self, arguments: Mapping[str, Any], options: Mapping[str, Any]) -> Fallback | None:
        """Why a launch with these arguments and options is not covered; `None` if it is."""
        if self.missing:
            return Fallback("policy", f"bitwise: {self.missing}")
        given = {**arguments, "num_warps": options.get("num_warps", DEFAULT_WARPS)}
        for config in self.configs:
            if all(name in given and _same(given[name], value) for name, value in config.items()):
                return None
        return Fallback("policy", "bitwise: bit-equality was shown for other configs than this")


def proof_of(name: str, source: Any, converted: Any) -> Proof:
    """What was recorded about a kernel `name`, its live source and its live conversion."""
    function = getattr(converted, "fn", None)
    code = getattr(function, "__code__", None)
    if code is None:
        return Proof((), "the conversion has no file beside which a proof could lie")
    path = proofs_beside(Path(code.co_filename))
    try:
        recorded = json.loads(path.read_text(encoding="utf-8"))
        entry = recorded["kernels"][name] if recorded["format"] == FORMAT else None
    except FileNotFoundError:
        return Proof((), f"nothing was recorded in {path.name}; tlxify convert --verify ran records it")
    except (OSError, ValueError, KeyError, TypeError) as error:
        LOGGER.warning("%s: %s says nothing about it: %r", name, path, error)
        return Proof((), f"{path.name} says nothing about {name}")
    if entry is None:
        return Proof((), f"{path.name} is of another format than {FORMAT}")
    if (entry["source"], entry["converted"]) != (fingerprint_of(source), fingerprint_of(converted)):
        return Proof((), f"{path.name} is about other texts of {name}")
    if _minor(str(entry["triton"])) != _minor(triton.__version__):
        return Proof((), f"{path.name} was recorded with Triton {entry['triton']}; this is {triton.__version__}")
    return Proof(tuple(entry["configs"]))


def _minor(version: str) -> list[str]:
    return version.split(".")[:2]


def _same(given: Any, recorded: Any) -> bool:
    # JSON has no constexprs and no dtypes: what is no plain value is compared by its text.
    if isinstance(given, int | float | str | bool | type(None)):
        return type(given) is type(recorded) and bool(given == recorded)
    return bool(str(given) == recorded)
