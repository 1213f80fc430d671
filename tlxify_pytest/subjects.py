"""What a test means by a kernel: a path, a module, a live jit function, or a path and a name."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

from tlxify.config import ConfigError, Contracts, contracts_of, unused
from tlxify.contract import Contract
from tlxify.contracting import any_contract
from tlxify.conversion import Conversion
from tlxify.diagnostics import Decline, render
from tlxify.fingerprint import fingerprint
from tlxify.model import Kernel
from tlxify.outcome import FileConversion
from tlxify.pairing import find, pair
from tlxify.source import SourceFile
from tlxify.standing import as_it_stands, recorded

#: A contract itself, or corrections of the inferred one as `[tool.tlxify.contracts]` has them.
Given = Contract | Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class Subject:
    """A file and, where it is known, which of its kernels."""

    file: Path
    kernel: str | None = None


def subject(meant: object) -> Subject:
    """The file and kernel that a test means. Raises TypeError for what is neither path, module nor kernel."""
    if isinstance(meant, str | os.PathLike):
        return Subject(Path(meant))
    if isinstance(meant, ModuleType):
        if meant.__file__ is None:
            raise TypeError(f"the module {meant.__name__} has no file")
        return Subject(Path(meant.__file__))
    function = meant
    # Through tuners, heuristics, jit functions and `tlx.specialized`, each of which holds the next one.
    for _ in range(16):
        code = getattr(function, "__code__", None)
        if code is not None:
            return Subject(Path(code.co_filename), code.co_name)
        function = getattr(function, "fn", None)
    raise TypeError(f"{meant!r} is neither a path, a module nor a kernel")


class Incomparable(Exception):
    """Nothing can be verified; the text says which file or kernel is in the way, and what to do."""


def conversion(source: Subject, converted: Subject, contract: Given) -> Conversion:
    """What is to be verified: a converted file as it stands, or a second version of a kernel. Raises Incomparable."""
    first, second = _read(source.file), _read(converted.file)
    reading = second
    try:
        standing = as_it_stands(second, () if source.kernel is None else (source.kernel,))
        if standing is not None:
            return _of_source(standing, first, source, contract)
        reading = first
        before = find(first, source.kernel)
        known = _contract(before, source, contract)
        reading = second
        return pair(before, known, find(second, converted.kernel or before.name), contracts_of(converted.file))
    except Decline as refusal:
        raise Incomparable(render(refusal.diagnostic, reading)) from None
    except ConfigError as error:
        raise Incomparable(str(error)) from None


def _read(path: Path) -> SourceFile:
    """The file. Raises Incomparable where it is not there, or is no text."""
    try:
        return SourceFile.read(path)
    except OSError as error:
        raise Incomparable(f"cannot read {path}: {error.strerror}") from None
    except (SyntaxError, UnicodeDecodeError) as error:
        raise Incomparable(f"cannot read {path}: {error}") from None


def _of_source(standing: FileConversion, first: SourceFile, source: Subject, contract: Given) -> Conversion:
    """The one conversion in a converted file that was made from the source given."""
    found = [kernel.conversion for kernel in standing.kernels if kernel.conversion is not None]
    if len(found) != 1:
        names = ", ".join(item.kernel for item in found)
        raise Incomparable(f"{standing.source.path} holds the conversions of {names}: say which with kernel=")
    (whole,) = found
    before = find(first, whole.kernel)
    (known,) = (item for item in recorded(standing.source.text) if item.kernel == whole.kernel)
    if fingerprint(before) != known.fingerprint:
        raise Incomparable(f"{standing.source.path} was not made from {whole.kernel} as {first.path} has it")
    return whole if contract is None else replace(whole, contract=_contract(before, source, contract))


def _contract(kernel: Kernel, source: Subject, given: Given) -> Contract:
    """The contract: given, or inferred with the corrections of the test before those of the project."""
    if isinstance(given, Contract):
        return given
    said = contracts_of(source.file)
    for line in unused(source.file):
        warnings.warn(line, stacklevel=2)
    if given is not None:
        entries = {**said.entries, kernel.name: {**said.of(kernel.name), **given}}
        # What is wrong is told of the test's words: no file says them.
        said = Contracts(None, said.file, entries)
    return any_contract(kernel, said)
