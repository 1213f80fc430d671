"""Converted files as they stand on disk, made ready to be verified: what was written, not what would be written now.

A sidecar names its source file, the kernels and the fingerprint of each source; a module written by `-o` holds the
source itself; a file that was bound by `--write` leads to its sidecar.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .analyses.assuming import readings
from .config import contracts_of
from .contract import Contract, LaunchConfig
from .contracting import any_contract, contract_of
from .conversion import Conversion
from .demands import Demand, Once, demands, met
from .diagnostics import Decline
from .files import ORIGIN
from .fingerprint import fingerprint
from .inline import written_out
from .inplace import cut_in_place
from .model import Kernel
from .outcome import FileConversion, KernelOutcome
from .pairing import find, plainly_written
from .parse.kernels import kernel_named
from .parse.module import parse_module
from .rewrites import blocks, guard
from .source import SourceFile

#: The line of a header that says which kernel became which.
KERNEL = re.compile(r"^\s*# kernel  (\w+) -> (\w+), source ([0-9a-f]{16})$", re.MULTILINE)
SIDECAR = re.compile(r"^    (?:from \. )?import (\w+) as _specialized  # tlxify$", re.MULTILINE)
BOUND = re.compile(r"^\s*(\w+) = (specialize_\w+)\(\1\)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a converted file says of one kernel."""

    kernel: str
    converted: str
    fingerprint: str


def recorded(text: str) -> tuple[Recorded, ...]:
    """The kernels whose conversions a file holds."""
    return tuple(Recorded(*match) for match in KERNEL.findall(text))


def as_it_stands(source: SourceFile, names: tuple[str, ...]) -> FileConversion | None:
    """The conversions that a file holds or leads to; None if it is no converted file.

    Raises Decline TLX103 for a kernel that is not among them, TLX608 where the source is gone or another one.
    """
    path = Path(source.path)
    if blocks.is_generated(blocks.without_generated(source.text)):
        found = ORIGIN.search(source.text)
        origin = path.with_name(found[1]) if found else path
        if found is None or not origin.is_file():
            raise Decline("TLX608", None, name=path.name, why=f"there is no {origin.name} beside it")
        return _outcome(source, SourceFile.read(origin), names, inside=False)
    if recorded(source.text):
        return _outcome(source, source, names, inside=True)
    if (bound := SIDECAR.search(source.text)) is not None:
        sidecar = path.with_name(f"{bound[1]}.py")
        if not sidecar.is_file():
            raise Decline("TLX608", None, name=path.name, why=f"it binds {sidecar.name}, which is not beside it")
        return _outcome(SourceFile.read(sidecar), source, names, inside=False)
    return None


def _outcome(file: SourceFile, source: SourceFile, names: tuple[str, ...], *, inside: bool) -> FileConversion:
    """The outcome of a `file` whose source kernels are in `source`, the same file if `inside`."""
    known = {item.kernel: item for item in recorded(file.text)}
    for name in names:
        if name not in known:
            raise Decline("TLX103", None, name=name, known=", ".join(known))
    written = SourceFile(source.path, blocks.without_generated(source.text))
    outcomes = []
    for name in names or tuple(known):
        body = known[name]
        plain = _source(source, written, body)
        kernel = plain
        if written.text != source.text:  # lines are counted as they are on disk
            module = parse_module(source)
            kernel = kernel_named(module, name) or plain
        if inside:
            text, specialize = _block(file, body)
        else:
            text, specialize = file.text, guard.names_beside(body.converted)[2]
        contract = _contract(plain, plain=is_plain(text, specialize))
        conversion = Conversion(
            *(name, contract.with_added(own_configs(text, specialize)), text, file.path, body.converted),
            plain=is_plain(text, specialize),
            source_text=cut_in_place(kernel),
            source_file=source.path,
            specialize=specialize,
        )
        outcomes.append(KernelOutcome(name, kernel.span, "converted", contract=contract, conversion=conversion))
    return FileConversion(file, tuple(outcomes))


def _source(source: SourceFile, written: SourceFile, item: Recorded) -> Kernel:
    """The kernel that a conversion was made from, in the text without any conversion. Raises Decline TLX608."""
    kernel = kernel_named(parse_module(written), item.kernel)
    if kernel is None:
        raise Decline("TLX608", None, name=item.converted, why=f"{Path(source.path).name} has no kernel {item.kernel}")
    if fingerprint(kernel) != item.fingerprint:
        why = f"{item.kernel} in {Path(source.path).name} was changed since"
        raise Decline("TLX608", None, name=item.converted, why=why)
    return kernel


def _contract(kernel: Kernel, *, plain: bool) -> Contract:
    """The contract under the assumption that the conversion was made on. Raises Decline TLX606."""
    from .pipeline import let_through, make_plan

    said = contracts_of(Path(kernel.module.source.path))
    whole = written_out(kernel)
    tier = "descriptors" if plain else "tlx"
    found = Once(readings(whole))
    for demand in demands(profitable=False):
        for facts in found:
            try:
                plan = make_plan(whole, facts, profitable=demand is Demand.PAYS, tier=tier)
                if met(plan, demand):
                    return let_through(contract_of(whole, facts, said), plan)
            except Decline:
                continue
    return any_contract(kernel, said)


def _block(file: SourceFile, item: Recorded) -> tuple[str, str]:
    """A module with what one block of a file defines, each line at its place, and the function that binds it."""
    kernel = find(file, item.converted)
    lines = cut_in_place(kernel).split("\n")
    if "import tlx" not in lines[0].split("; "):
        lines[0] = f"{lines[0]}; import tlx"  # the guard's, where the kernel is plain Triton
    tree = ast.parse(plainly_written(file))
    specialize = ""
    for test in _conditions(tree, item.converted):
        for statement in test.body:
            first, last = statement.lineno, statement.end_lineno or statement.lineno
            first = min([first, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
            for number in range(first - 1, last):
                lines[number] = ""
            if isinstance(statement, ast.FunctionDef):
                for number in range(first - 1, last):
                    lines[number] = file.line(number + 1).removeprefix(" " * statement.col_offset)
            elif (match := BOUND.search(file.line(first))) is not None:
                specialize = match[2]
    return "\n".join(lines), specialize


def own_configs(text: str, specialize: str) -> tuple[LaunchConfig, ...]:
    """The configs with tiles that the source does not list, as the function that binds a conversion names them."""
    found = [entry for value in _said(text, specialize, "configs") for entry in ast.literal_eval(value)]
    launch = ("num_warps", "num_stages")
    return tuple(
        LaunchConfig(
            tuple((name, value) for name, value in entry.items() if name not in launch), *(entry[n] for n in launch)
        )
        for entry in found
    )


def is_plain(text: str, specialize: str) -> bool:
    """Whether a conversion is plain Triton, as the function that binds it says."""
    return any(isinstance(value, ast.Constant) and value.value is True for value in _said(text, specialize, "plain"))


def _said(text: str, specialize: str, keyword: str) -> Iterator[ast.expr]:
    """What the function that binds a conversion passes by a name."""
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef) and function.name == specialize:
            for node in ast.walk(function):
                if isinstance(node, ast.keyword) and node.arg == keyword:
                    yield node.value


def _conditions(tree: ast.Module, name: str) -> Iterator[ast.If]:
    """The condition whose body defines a function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and any(isinstance(n, ast.FunctionDef) and n.name == name for n in node.body):
            yield node
