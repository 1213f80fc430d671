"""Two versions of a kernel, plain Triton or TLX, made ready to be verified against each other.

The first says what a valid launch is. The second is launched with the same arguments by name; what it takes besides
comes from its own configs or call, or from the user: `a_desc = "descriptor(a_ptr, [BLOCK_M, BLOCK_K])"`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from .analyses.contracts.unread import unread
from .analyses.texts import options, words
from .config import Contracts, contracts_of
from .contract import Contract, LaunchConfig, TensorSpec
from .contracting import any_contract
from .conversion import Conversion, Version
from .corrections import LAUNCH, ContractTextError, Signature, corrected
from .diagnostics import Decline
from .inplace import cut_in_place, uses_tlx
from .model import Kernel
from .parse.kernels import find_kernels, kernel_named
from .parse.launches import CallSite, call_sites, tuner_configs
from .parse.literals import ConfigLiteral
from .parse.module import parse_module
from .slice import cut
from .source import SourceFile

#: Where Meta's Triton keeps TLX.
FORK = "triton.language.extra.tlx"
#: Calls that say how many slots a ring has, and the position of the number.
RINGS = {"alloc_barriers": 0, "local_alloc": 2}


def find(source: SourceFile, name: str | None) -> Kernel:
    """The kernel of that name, or the only one. Raises Decline TLX101, TLX102 or TLX103."""
    module = parse_module(SourceFile(source.path, plainly_written(source)))
    if name is not None and (named := kernel_named(module, name)) is not None:
        return named
    found = find_kernels(module)
    if not found:
        raise Decline("TLX102", None)
    if name is None and len(found) == 1:
        return found[0]
    raise Decline("TLX103", None, name=name or "(none named)", known=", ".join(kernel.name for kernel in found))


def plainly_written(source: SourceFile) -> str:
    """The text with `tlx.jit` written as `triton.jit`, and the fork's name of tlx as ours; lines keep their numbers."""
    try:
        tree = ast.parse(source.text, filename=source.path)
    except (SyntaxError, ValueError):
        return source.text  # parsing it says what is wrong
    lines = source.lines()
    for node in ast.walk(tree):
        written = None
        match node:
            case ast.Import(names=[ast.alias(name=name, asname=str() as local)]) if name == FORK:
                written = f"import tlx as {local}"
            case ast.ImportFrom(module="triton.language.extra", names=[ast.alias(name="tlx", asname=local)]):
                written = f"import tlx as {local or 'tlx'}"
            case ast.ImportFrom(module=str() as module, names=names) if f"{module}.".startswith(f"{FORK}."):
                written = f"from tlx import {', '.join(map(ast.unparse, names))}"
        if written is not None and isinstance(node, ast.stmt):
            first, last = node.lineno - 1, node.end_lineno or node.lineno
            lines[first:last] = [f"{' ' * node.col_offset}{written}\n", *["\n"] * (last - first - 1)]
        for decorator in getattr(node, "decorator_list", ()):
            target = decorator.func if isinstance(decorator, ast.Call) else decorator
            if ast.unparse(target) == "tlx.jit":
                line = lines[target.lineno - 1]
                lines[target.lineno - 1] = line.replace("tlx.jit", "triton.jit", 1)
    return "".join(lines)


def pair(old: Kernel, contract: Contract, new: Kernel, said: Contracts) -> Conversion:
    """What verifies a new version against an old one.

    Args:
        old: the kernel that is right by definition.
        contract: of the old one.
        new: the kernel to be judged.
        said: what the project says of the new one's file.

    Raises:
        Decline: TLX107 where a kernel cannot be cut out of its file, TLX607 where a parameter's value is not known.
        ConfigError: what the project says of a parameter cannot be read.
    """
    literals = _literals(new, call_sites(new))
    told = _told(new, contract, said)
    configs = _configs(new, contract, literals, told.configs or None)
    given = {*contract.parameters, *(name for config in configs for name, _ in config.values)}
    open_ones = {name: _meaning(old, contract) for name in contract.unread if name not in unread(new)}
    arguments = tuple(_arguments(new, given, said, literals, open_ones))
    own = _inferred(new, said)
    version = Version(arguments, told.grid or _grid(own, contract, new, given), uses_tlx(cut(new)))
    both = _launched_together(contract, new, own, configs, arguments)
    text, file = cut_in_place(new), new.module.source.path
    source = cut_in_place(old), old.module.source.path
    return Conversion(old.name, both, text, file, new.name, *source, version=version)


#: A tile divided by a number.
PART = re.compile(r"[A-Za-z_]\w* // \d")


def _told(kernel: Kernel, contract: Contract, said: Contracts) -> Contract:
    """The configs and the grid that the project gives the new version. Raises ConfigError."""
    entries = said.of(kernel.name)
    parameters = tuple(param.name for param in kernel.params)
    names = (*contract.parameters, *(name for name in parameters if name not in contract.parameters))
    constexprs = {param.name for param in kernel.params if param.constexpr}
    shared = {name for config in contract.configs for name, _ in config.values}
    known = Signature(kernel.name, names, frozenset(constexprs | shared))
    try:
        for key in entries:
            if key not in parameters and key not in LAUNCH:
                allowed = ", ".join((*parameters, *LAUNCH))
                raise ContractTextError(key, f"{kernel.name} has no such parameter", allowed)
        return corrected(known.empty, known, {key: entries[key] for key in ("grid", "configs") if key in entries})
    except ContractTextError as error:
        raise said.error(kernel.name, error) from error


def _inferred(kernel: Kernel, said: Contracts) -> Contract | None:
    """The new version's own contract, if it can be inferred: it helps to count its tiles and programs."""
    try:
        return any_contract(kernel, Contracts(None, said.file))
    except Decline:
        return None


def _grid(own: Contract | None, old: Contract, new: Kernel, given: set[str]) -> tuple[str, ...]:
    """The new version's own grid as far as launches of the old one can tell it; empty for the old one's.

    What its code says of its grid is what it would take for it to be right. Where it has the tiles of the old one, the
    old one's programs run it, unless it counts them in another order or along other axes; and a part of a tile is no
    step of anybody's: a program that moves by half of its tile must not get twice as many programs.
    """
    grid = () if own is None else own.grid
    if not words(grid) <= given or any(PART.search(axis) for axis in grid):
        return ()
    tiles = {spec.name for spec in old.constexprs} & words(old.grid)
    shared = tiles <= {param.name for param in new.params}
    return () if shared and len(grid) == len(old.grid) and sorted(grid) != sorted(old.grid) else grid


def _literals(kernel: Kernel, sites: tuple[CallSite, ...]) -> dict[str, object]:
    """What a call in the kernel's own file gives its compile-time parameters."""
    constexprs = {param.name for param in kernel.params if param.constexpr}
    found: dict[str, object] = {}
    for site in sites:
        for name, value in site.literals:
            if name in constexprs or name in ("num_warps", "num_stages"):
                found.setdefault(name, value)
    return found


def _configs(
    kernel: Kernel, contract: Contract, literals: Mapping[str, object], told: tuple[LaunchConfig, ...] | None
) -> tuple[LaunchConfig, ...]:
    """The new version's configs, as told or in its tuner, laid over the old one's; else the old one's."""
    own: Sequence[ConfigLiteral | LaunchConfig] | None = told or tuner_configs(kernel)
    olds = contract.configs
    if own is None:
        shared = {name: value for name, value in literals.items() if name not in contract.parameters}
        depth = _depth(kernel, shared)
        merged = [replace(old, values=tuple({**dict(old.values), **shared}.items())) for old in olds]
        return tuple(replace(one, num_stages=max(one.num_stages, depth)) for one in merged)
    found = []
    for number, config in enumerate(own):
        old = olds[min(number, len(olds) - 1)] if olds else LaunchConfig(())
        values = {**dict(old.values), **literals, **dict(config.values)}
        values = {name: value for name, value in values.items() if name not in ("num_warps", "num_stages")}
        stages = max(config.num_stages, _depth(kernel, values))
        found.append(LaunchConfig(tuple(values.items()), config.num_warps, stages))
    return tuple(found)


def _depth(kernel: Kernel, values: Mapping[str, object]) -> int:
    """Slots of the deepest ring, as far as a parameter says it."""
    deepest = 0
    for node in ast.walk(kernel.node):
        match node:
            case ast.Call(func=ast.Attribute(attr=attr), args=args) if len(args) > RINGS.get(attr, len(args)):
                count = args[RINGS[attr]]
                value = values.get(count.id) if isinstance(count, ast.Name) else None
                deepest = max(deepest, value if isinstance(value, int) else 0)
    return deepest


def _arguments(
    kernel: Kernel,
    given: set[str],
    said: Contracts,
    literals: Mapping[str, object],
    open_ones: Mapping[str, tuple[str, str]],
) -> Iterator[tuple[str, str]]:
    """What is passed for each parameter, as text.

    Args:
        kernel: the new version.
        given: names that a launch of the old one has a value for.
        said: what the project says of the new one's file.
        literals: what a call in the new one's file passes.
        open_ones: of those `given`, the ones whose value means nothing, with the table to say it in and an example.

    Raises:
        Decline: TLX607 where nothing says what a parameter is.
    """
    entries = said.of(kernel.name)
    for param in kernel.params:
        if param.name in given and param.name not in open_ones:
            yield param.name, param.name
        elif param.name in entries:
            yield param.name, _entry(kernel, param.name, entries[param.name], given, said)
        elif param.name in literals:
            yield param.name, repr(literals[param.name])
        elif param.default is not None:
            yield param.name, param.default
        else:
            section, entry = open_ones.get(param.name, (f"{said.file}::{kernel.name}", "descriptor(a_ptr, [64, 64])"))
            raise Decline("TLX607", param.span, name=kernel.name, parameter=param.name, section=section, entry=entry)


def _meaning(old: Kernel, contract: Contract) -> tuple[str, str]:
    """Where to say what a parameter is that the old version never reads, and what it is most likely: how many of what
    no parameter counts.
    """
    section = f"{contracts_of(Path(old.module.source.path)).file}::{old.name}"
    return section, f"size = {contract.free_sizes[0]}" if contract.free_sizes else "size"


def _entry(kernel: Kernel, name: str, entry: object, given: set[str], said: Contracts) -> str:
    """What the user says that a parameter gets, if it can be read. Raises ConfigError."""
    text = repr(entry) if isinstance(entry, bool | int | float) else str(entry)
    allowed = "a parameter of the first version, an expression over them, a literal, or descriptor(a_ptr, [64, 64])"
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        raise said.error(kernel.name, f"{name}: cannot read {text!r}; allowed: {allowed}") from None
    called = {"cdiv", "min", "max", "descriptor"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in given | called:
            raise said.error(kernel.name, f"{name}: {node.id!r} is not known; allowed: {allowed}")
    return text


def _launched_together(
    contract: Contract,
    new: Kernel,
    own: Contract | None,
    configs: tuple[LaunchConfig, ...],
    arguments: tuple[tuple[str, str], ...],
) -> Contract:
    """The contract of launches that both versions take: tiles as the new one counts them, memory as it reads it."""
    tiles = dict(contract.counted)
    counted = dict(own.counted) if own is not None else {}
    for size, tile in tiles.items():
        if not any(param.name == tile for param in new.params):
            tiles[size] = counted.get(size) or _tile(new, size) or tile
    trees = [ast.parse(text, mode="eval") for _, text in arguments]
    used = {n.id for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Name)}
    described = {
        call.args[0].id
        for call in (tree.body for tree in trees)
        if isinstance(call, ast.Call) and call.args and isinstance(call.args[0], ast.Name)
    }
    tensors = tuple(
        replace(spec, layouts=_layouts(spec, contract, used, described=spec.name in described, through=_describes(new)))
        for spec in contract.tensors
    )
    # Where rows follow each other without a gap, the TMA asks for whole 16 bytes of them.
    rows = {spec.shape[-1] for spec in tensors if spec.layouts == ("rows",) and spec.shape}
    sizes = {scalar.name for scalar in contract.scalars if scalar.kind == "size"} if _describes(new) else set()
    return replace(
        contract,
        tensors=tensors,
        configs=configs,
        contracted=contract.contracted and (contract.contracted[0], tiles[contract.contracted[0]]),
        tiled=tuple((size, tiles[size]) for size, _ in contract.tiled),
        aligned=tuple(sorted({*contract.aligned, *(rows & sizes)})),
    )


def _tile(kernel: Kernel, size: str) -> str | None:
    """The tile by which a kernel counts a size: `BK` of `tl.cdiv(K, BK)` or `range(0, K, BK)`."""
    constexprs = {param.name for param in kernel.params if param.constexpr}
    for node in ast.walk(kernel.node):
        match node:
            case ast.Call(func=ast.Attribute(attr="cdiv"), args=[ast.Name(id=of), ast.Name(id=tile)]):
                pass
            case ast.Call(func=ast.Name(id="range"), args=[_, ast.Name(id=of), ast.Name(id=tile)]):
                pass
            case _:
                continue
        if of == size and tile in constexprs:
            return tile
    return None


def _describes(kernel: Kernel) -> bool:
    """Whether a kernel makes descriptors of its pointers itself."""
    return any(
        isinstance(node, ast.Attribute) and "make_tensor_descriptor" in node.attr for node in ast.walk(kernel.node)
    )


def _layouts(
    spec: TensorSpec, contract: Contract, used: set[str], *, described: bool, through: bool
) -> tuple[str, ...]:
    """The layouts that a version stands which knows only some strides, or reads through descriptors."""
    if described:
        return ("padded",)
    strides = {scalar.name for scalar in contract.scalars if scalar.kind == "stride"}
    unknown = [stride for stride in spec.strides if stride in strides and stride not in used]
    chosen = (option for stride in spec.strides for option in options(stride) if option != stride)
    if any(option in strides - used for option in chosen) or any(stride != spec.strides[-1] for stride in unknown):
        return ("rows",)
    if through:
        return ("padded",)
    return ("rows", "padded") if unknown else spec.layouts
