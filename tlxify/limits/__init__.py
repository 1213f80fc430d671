"""What limits a kernel: its dots, its memory, or what it does between them. Arithmetic alone; nothing is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..contract import ContractFault
from ..diagnostics import Decline
from ..limit import Limit, Untold
from ..outcome import FileConversion, KernelOutcome
from ..source import SourceFile

__all__ = ["limited"]


def limited(conversion: FileConversion, shapes: Sequence[Mapping[str, int]] = ()) -> FileConversion:
    """The outcome of a file with what limits each of its kernels, or why that cannot be said.

    `shapes` are the launches to look at, by their sizes; without any those that `bench` measures by default.
    """
    kernels = tuple(replace(kernel, limit=_limit(conversion.source, kernel, shapes)) for kernel in conversion.kernels)
    return replace(conversion, kernels=kernels)


def _limit(source: SourceFile, outcome: KernelOutcome, shapes: Sequence[Mapping[str, int]]) -> Limit | Untold:
    from ..bench.shapes import Unknown, named
    from ..pipeline import analyze
    from .launch import limit_of

    try:
        (found,) = analyze(source, outcome.name)
        contract = outcome.contract or found.contract
        if contract is None:
            return Untold("its parameters do not tell what a launch of it is")
        return limit_of(found.kernel, found.facts, contract, [named(contract, sizes) for sizes in shapes])
    except Decline as refusal:
        return Untold(f"it cannot be followed: {refusal.diagnostic.message}")
    except Unknown as error:
        return Untold(str(error))
    except (ContractFault, ArithmeticError, LookupError, ValueError) as error:
        return Untold(f"a number of its launch has no value: {error}")
    except Exception as error:  # what is known of the kernel besides is worth showing all the same
        return Untold(f"a fault of tlxify, {type(error).__name__}: {error}")
