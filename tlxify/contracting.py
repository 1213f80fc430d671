"""The contract of a kernel: inferred, and as far as the project says something else, that instead."""

from __future__ import annotations

from collections.abc import Mapping

from .analyses.assuming import readings
from .analyses.contracts import infer_contract
from .analyses.contracts.launching import tuned
from .config import Contracts
from .contract import Contract
from .corrections import ContractTextError, Signature, corrected, given
from .diagnostics import Decline
from .facts import Facts
from .inline import written_out
from .model import Kernel


def contract_of(kernel: Kernel, facts: Facts, said: Contracts) -> Contract:
    """The contract of a kernel.

    Raises:
        Decline: TLX606 where it can neither be inferred nor is written down.
        ConfigError: what is written down cannot be read, or leaves something out that cannot be inferred.
    """
    entries = said.of(kernel.name)
    try:
        inferred = infer_contract(kernel, facts)
    except Decline:
        if not entries:
            raise
        return written(kernel, entries, said)
    try:
        return corrected(inferred, signature(kernel), entries)
    except ContractTextError as error:
        raise said.error(kernel.name, error) from error


def any_contract(kernel: Kernel, said: Contracts) -> Contract:
    """The contract of a kernel that need not be convertible, under the first assumption that gives one.

    Raises:
        Decline: what is in the way, where nothing is written down either.
        ConfigError: as `contract_of`.
    """
    refusal: Decline | None = None
    try:
        whole = written_out(kernel)
        for facts in readings(whole):
            try:
                return contract_of(whole, facts, said)
            except Decline as decline:
                refusal = refusal or decline
    except Decline as decline:
        refusal = refusal or decline
    if entries := said.of(kernel.name):
        return written(kernel, entries, said)
    assert refusal is not None
    raise refusal


def written(kernel: Kernel, entries: Mapping[str, object], said: Contracts) -> Contract:
    """The contract that the user alone wrote. Raises ConfigError."""
    try:
        return given(signature(kernel), entries)
    except ContractTextError as error:
        raise said.error(kernel.name, error) from error


def signature(kernel: Kernel) -> Signature:
    """What a kernel says of its parameters itself."""
    return Signature(
        kernel.name,
        tuple(param.name for param in kernel.params),
        frozenset(param.name for param in kernel.params if param.constexpr),
        tuned(kernel),
        frozenset(param.name for param in kernel.params if param.default is not None),
    )
