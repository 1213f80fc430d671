"""With which tiles and on which grid a kernel is launched."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from ...contract import ConstexprSpec, LaunchConfig, TensorSpec
from ...facts import Facts
from ...model import Kernel
from ...parse.launches import CallSite, tuner_configs
from ...parse.names import AUTOTUNE
from ...poly import ONE, Poly
from ..grids import own_extent, parts_of_turn, programs
from ..texts import words
from .extents import Extents
from .indices import batch_index, program_axis
from .integers import symbols_in
from .roles import Sized

#: Tiles to verify with where the source's own configs are unknown: rows, columns, depth, warps, stages.
DEFAULTS = ((128, 128, 64, 8, 3), (128, 64, 64, 4, 3), (64, 64, 32, 4, 2))


def configs(
    kernel: Kernel, sites: tuple[CallSite, ...], constexprs: list[ConstexprSpec], roles: tuple[Sized | None, ...]
) -> tuple[tuple[LaunchConfig, ...], bool]:
    """The source's configs, and whether they are; else a set of ours, its tiles in the `roles` of the dot."""
    literal = tuner_configs(kernel)
    if literal is not None:
        return tuple(LaunchConfig(c.values, c.num_warps, c.num_stages) for c in literal), True
    tiles = [spec.name for spec in constexprs if spec.kind == "tile"]
    for site in sites:
        given = dict(site.literals)
        if tiles and all(tile in given for tile in tiles):
            values = tuple((tile, given[tile]) for tile in tiles)
            return (
                LaunchConfig(values, _number(given.get("num_warps"), 4), _number(given.get("num_stages"), 3)),
            ), True
    order = [role[1] if role is not None else None for role in roles]
    configs = []
    for *sizes, warps, stages in DEFAULTS:
        named = {name: size for name, size in zip(order, sizes, strict=True) if name is not None}
        configs.append(LaunchConfig(tuple((tile, named.get(tile, 64)) for tile in tiles), warps, stages))
    return tuple(dict.fromkeys(configs)), False


def tuned(kernel: Kernel) -> tuple[str, ...]:
    """Parameters that the kernel's tuner sets, also where its configs are computed: it must name them."""
    calls = [d.node for d in kernel.decorators if d.name == AUTOTUNE and isinstance(d.node, ast.Call)]
    choices = [node for c in calls for node in [*c.args[:1], *(k.value for k in c.keywords if k.arg == "configs")]]
    texts = {n.value for node in choices for n in ast.walk(node) if isinstance(n, ast.Constant)}
    for literal in tuner_configs(kernel) or ():
        texts |= {name for name, _ in literal.values}
    return tuple(p.name for p in kernel.params if p.constexpr and p.name in texts)


def _number(value: object, default: int) -> int:
    return value if isinstance(value, int) else default


def grid(
    facts: Facts,
    extents: Extents,
    sites: tuple[CallSite, ...],
    tiled: tuple[Sized | None, Sized | None],
    free: list[str],
    known: set[str],
) -> tuple[str, ...] | None:
    """The grid: program ids that are coordinates of tiles say it, else a launch, else there is one program per tile."""
    axes = {axis for _, axis, _ in facts.program_ids if axis is not None}
    if not axes:
        return ("1",)
    direct: dict[int, str] = {}
    single: dict[int, str] = {}
    for _, access in facts.accesses:
        if all(d.axis is None for d in access.dimensions):
            # One element for each program tells of the grid where nothing else does.
            indices = filter(None, (batch_index(d.coordinate) for d in access.dimensions))
            single |= {index.axis: index.grid for index in indices}
            continue
        for d in access.dimensions:
            if d.axis is None:
                if (index := batch_index(d.coordinate)) is not None and index.axis not in direct:
                    direct[index.axis] = index.grid
                    free += sorted(words([index.grid]) - known - set(free))  # how often `p % H` goes round
            elif d.axis in extents.of:
                length = facts.axis(d.axis).length
                quotient, rest = d.coordinate.divide(length) if length.monomial else (Poly(), d.coordinate)
                if not rest.terms and (axis := program_axis(quotient)) is not None:
                    covered = f"cdiv({own_extent(d, extents.of)}, {length.text()})"
                    direct.setdefault(axis, parts_of_turn(access, d, length) or covered)
    for axis in sorted(axes - set(direct)):
        if (found := programs(facts, extents.of, axis)) is not None:
            direct[axis] = found[0]
            free += [found[1]] if found[1] is not None else []
    if axes != {0}:  # programs whose number picks nothing but scalars: as many as there are of those
        direct.update((axis, f"grid_{axis}") for axis in sorted(axes - set(direct)) if f"grid_{axis}" in free)
    if axes <= set(direct):
        return tuple(direct.get(axis, "1") for axis in range(max(axes) + 1))
    for site in sites:
        if site.grid is not None:
            grid = [direct.get(axis, text) for axis, text in enumerate(site.grid)]
            named = tuple(text for text in grid if text is not None)
            hosts = [text for text in named if not words([text]) <= known]
            if len(named) == len(grid) > max(axes) and all(text.isidentifier() for text in hosts):
                free += hosts  # a size that only the launching function knows
                return named
    if axes == {0} and None not in tiled:
        return (" * ".join(f"cdiv({pair[0]}, {pair[1]})" for pair in tiled if pair is not None),)
    ways = _ways(facts, extents) if axes == {0} else ()
    if len(ways) == 2:
        return (" * ".join(ways),)
    direct = {**single, **direct}
    if not axes <= set(direct):
        return None
    free += sorted(words(direct.values()) - known - set(free))
    return tuple(direct.get(axis, "1") for axis in range(max(axes) + 1))


def counted_programs(
    specs: list[TensorSpec], free: list[str], grid: tuple[str, ...]
) -> tuple[list[TensorSpec], list[str]]:
    """The tensors and free sizes, without "as many as there are programs" where the grid says how many those are."""
    known = {name: text for axis, text in enumerate(grid) if (name := f"grid_{axis}") in free}
    known = {name: text for name, text in known.items() if not words([text]) & {*free}}

    # `cdiv(M, BLOCK_M)` is one factor as it is.
    bracketed = {
        name: text if re.fullmatch(r"\w+(\([\w, ]*\))?", text) else f"({text})" for name, text in known.items()
    }

    def counted(texts: tuple[str, ...]) -> tuple[str, ...]:
        whole = (known.get(text, text) for text in texts)
        return tuple(re.sub(r"\bgrid_\d+\b", lambda match: bracketed.get(match[0], match[0]), text) for text in whole)

    told = [
        replace(spec, shape=counted(spec.shape), strides=counted(spec.strides), values=counted(spec.values))
        for spec in specs
    ]
    return told, [name for name in free if name not in known]


def _ways(facts: Facts, extents: Extents) -> tuple[str, ...]:
    """How many tiles there are along each of the ways that the ids of one grid axis go: of rows, and of columns."""
    found: dict[Poly, str] = {}
    trips = {loop.trip for loop in facts.loops}
    for _, access in facts.accesses:
        for d in access.dimensions:
            length = facts.axis(d.axis).length if d.axis in extents.of and d.axis is not None else Poly()
            quotient, rest = d.coordinate.divide(length) if length.monomial else (Poly(), ONE)
            inside = set(symbols_in(quotient))
            if not rest.terms and any(s.name == "tl.program_id(0)" for s in inside) and not inside & trips:
                found.setdefault(quotient, f"cdiv({own_extent(d, extents.of)}, {length.text()})")
    return tuple(found.values())


def with_idle_programs(facts: Facts, grid: tuple[str, ...]) -> tuple[str, ...]:
    """One program more along each axis where the kernel sends those away that come after the last."""
    idle = set()
    for statement in facts.statements:
        leaves = statement.kind == "branch" and any(inner.text_kind == "return" for inner in statement.body)
        text = next((text for span, text in facts.conditions if span == statement.span), "") if leaves else ""
        for comparison in facts.comparisons:
            if comparison.text == text and comparison.operator in (">=", ">") and comparison.right.launch:
                (monomial, _), *more = comparison.left.terms or (((), 0),)
                ids = [s for s in monomial if not s.launch]
                if not more and len(ids) == 1 and (axis := program_axis(Poly.of(ids[0]))) is not None:
                    idle.add(axis)
    return tuple(f"{extent} + 1" if axis in idle else extent for axis, extent in enumerate(grid))
