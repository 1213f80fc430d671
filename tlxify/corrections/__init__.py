"""Contracts as text, the way jaxtyping writes shapes: what `--show-contract` prints and `[tool.tlxify]` may say.

    a_ptr = "bf16[M, K] strides(stride_am, 1)"
    K = "size multiple_of(8)"
    M = "1..4096"
    ACTIVATION = "relu"                              # a literal: this value and no other
    NT = "= cdiv(T, BT)"
    grid = "(cdiv(M, BLOCK_M), cdiv(N, BLOCK_N))"

What an entry leaves out stays as it was inferred. `tlxify.render.contract` writes what is read here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ..contract import Contract, LaunchConfig
from .editor import Editor, Signature
from .grammar import LAUNCH, ContractTextError

__all__ = ["LAUNCH", "ContractTextError", "Signature", "corrected", "given"]


def given(signature: Signature, entries: Mapping[str, object]) -> Contract:
    """A contract that the user wrote alone. Raises ContractTextError, also where something is not said."""
    contract = corrected(signature.empty, signature, entries)
    missing = [name for name in signature.parameters if name not in entries and name not in signature.defaults]
    set_by_config = {name for config in contract.configs for name, _ in config.values}
    missing = [name for name in missing if name not in set_by_config]
    missing += ["grid"] if not contract.grid else []
    missing += ["trips"] if "trips" not in entries else []
    if missing:
        raise ContractTextError(
            missing[0],
            f"nothing is known of {', '.join(missing)}",
            'an entry for every parameter, the grid, and the trips: "cdiv(K, BLOCK_K)" or "unknown"',
        )
    if "tiles" not in entries:
        contract = replace(contract, tiled=tuple(_tiles(contract)))
    return contract if contract.configs else replace(contract, configs=(LaunchConfig(()),))


def _tiles(contract: Contract) -> Iterator[tuple[str, str]]:
    """Sizes of which the grid, or a number that follows from others, says that they are so many tiles."""
    sizes = {*(scalar.name for scalar in contract.scalars if scalar.kind == "size"), *contract.free_sizes}
    texts = " ".join((*contract.grid, *(text for _, text in contract.computed)))
    for size, tile in dict.fromkeys(re.findall(r"\bcdiv\((\w+), (\w+)\)", texts)):
        if size in sizes and (size, tile) != contract.contracted:
            yield size, tile


def corrected(contract: Contract, signature: Signature, entries: Mapping[str, object]) -> Contract:
    """The contract with the user's entries in the place of what was inferred. Raises ContractTextError."""
    if not entries:
        return contract
    return Editor(contract, signature).apply(entries)
