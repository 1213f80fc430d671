"""What the tests of faults have in common: an input's conversion, its simulation, its launches, its text broken."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks.modules import from_text
from tests.golden import needs_block_pointers
from tests.tlx.launch.fakes import BF16, FP16, DType, Memory
from tlxify import convert
from tlxify.outcome import FileConversion, KernelOutcome
from tlxify.source import SourceFile
from tlxify.verify.cases import Case

INPUTS = Path(__file__).parent / "inputs"
CORPUS = Path(__file__).resolve().parents[2] / "corpus"
#: Kinds of launches by the beginnings of their names: as deep as the ring and deeper, ragged, without a trip.
KINDS = ("4 trips", "two tiles each way", "sizes", "ragged", "0 trips")
INT8 = DType("int8", 1)


@functools.cache
def of_file(name: str) -> FileConversion:
    """What becomes of an input, or of a file of the corpus."""
    path = CORPUS / name if "/" in name else INPUTS / f"{name}.py"
    return convert(SourceFile(f"{path.stem}.py", path.read_text()), profitable=False)


def outcome(name: str) -> KernelOutcome:
    """What becomes of its first kernel."""
    return of_file(name).kernels[0]


def converted(name: str) -> KernelOutcome:
    """A kernel that must be converted."""
    kernel = outcome(name)
    assert kernel.verdict_word == "converted", [item.message for item in kernel.diagnostics]
    assert kernel.conversion is not None, "no valid launch is known"
    return kernel


def refused(name: str) -> str:
    """The code of a kernel that must be left alone."""
    kernel = outcome(name)
    assert kernel.conversion is None
    (diagnostic,) = kernel.diagnostics
    return diagnostic.code


def text_of(kernel: KernelOutcome) -> str:
    """The converted kernel, without its guard and launcher."""
    text = kernel.conversion.module_text
    begin = text.index(f"def {kernel.conversion.converted}(")
    return text[begin : text.index("_guard(", begin)]


def launches(kernel: KernelOutcome, kinds: Iterable[str] = KINDS) -> list[Case]:
    """The first of the usual launches of each kind."""
    from tlxify.verify.inputs import edge_cases

    every = edge_cases(kernel.contract)
    first = [next((case for case in every if case.name.startswith(kind)), None) for kind in kinds]
    return [replace(case, schedules=("late", "eager", 0)) for case in first if case is not None]


def tried(kernel: KernelOutcome, cases: Iterable[Case] | None = None) -> Any:
    """The simulator's tally; its findings are the caller's to judge."""
    from tlxify.verify.simulate import simulate

    needs_block_pointers(kernel.conversion.module_text)
    tally = simulate(kernel.conversion, cases=launches(kernel) if cases is None else list(cases))
    assert not tally.source_fails, tally.source_fails
    return tally


def sound(kernel: KernelOutcome, cases: Iterable[Case] | None = None, least: int = 2) -> Any:
    """The tally of a conversion in which nothing may be found; at least so many launches ran specialized."""
    tally = tried(kernel, cases)
    assert not tally.findings, [f"{evidence.text}: {evidence.detail}" for evidence in tally.findings.values()]
    assert tally.specialized >= least
    assert tally.compared >= least
    return tally


def broken(kernel: KernelOutcome, old: str, new: str, cases: Iterable[Case] | None = None) -> set[str]:
    """Codes of what is found once every `old` of the converted kernel is replaced."""
    module = kernel.conversion.module_text
    text = text_of(kernel)
    assert old in text, f"{old!r} does not stand in the conversion"
    faulty = replace(kernel.conversion, module_text=module.replace(text, text.replace(old, new)))
    return {evidence.code for evidence in tried(replace(kernel, conversion=faulty), cases).findings.values()}


@functools.cache
def bound(name: str) -> Any:
    """The name as a program sees it: the original in its decorators, with its conversion."""
    module = from_text(f"fault_{re.sub(r'[^a-z0-9]', '_', name)}", of_file(name).module_text)
    return getattr(module, converted(name).conversion.kernel)


class Stored(Memory):
    """A tensor with the memory behind it: a gibibyte of its own."""

    def untyped_storage(self) -> Any:
        begin = self.address >> 30 << 30
        return SimpleNamespace(data_ptr=lambda: begin, nbytes=lambda: 1 << 30)


def tensor(number: int, dtype: DType = FP16, offset: int = 0) -> Memory:
    """A tensor in memory of its own; `offset` in bytes, from where that begins."""
    return Stored((1 << 30) * (number + 1) + offset, dtype=dtype)


def product(m: int, n: int, k: int, dtype: DType = FP16, out: DType = FP16, **changed: int) -> dict[str, Any]:
    """Arguments of a product of rows, by the names that the inputs here use."""
    sizes = {"M": m, "N": n, "K": k, "lda": k, "ldb": n, "ldc": n, "sa": k, "sb": n, "sc": n}
    strides = {"stride_am": k, "stride_ak": 1, "stride_bk": n, "stride_bn": 1, "stride_cm": n, "stride_cn": 1}
    tensors = {"a_ptr": tensor(0, dtype), "b_ptr": tensor(1, dtype), "c_ptr": tensor(2, out)}
    return {**tensors, **sizes, **strides, **changed}


def dispatched(name: str, given: dict[str, Any], grid: Any = (4, 4), **more: Any) -> Any:
    """What the launcher would run, without running it; arguments that the kernel does not have are left out."""
    kernel = bound(name)
    return kernel.resolve(grid=grid, **{key: given[key] for key in kernel.arg_names if key in given}, **more)


__all__ = [
    "BF16",
    "FP16",
    "INT8",
    "bound",
    "broken",
    "converted",
    "dispatched",
    "launches",
    "outcome",
    "product",
    "refused",
    "sound",
    "tensor",
    "text_of",
    "tried",
]
