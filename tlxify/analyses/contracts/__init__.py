"""What each parameter is and what a valid launch looks like, inferred from how the kernel uses its parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from ...contract import ConstexprSpec, Contract, ScalarSpec, TensorSpec
from ...diagnostics import Decline
from ...facts import Facts
from ...model import Kernel
from ...parse.launches import call_sites
from ...poly import REDUCED
from ...starts import tile_lengths, uneven
from .. import analyze
from ..texts import options, words
from .apart import apart
from .constants import constexpr, number
from .dependent import dependent
from .elements import valid
from .extents import Extents
from .hosted import without_descriptors
from .integers import symbols_in
from .launching import configs, counted_programs, tuned, with_idle_programs
from .launching import grid as grid_of
from .ordering import as_launched
from .outputs import stored
from .picking import thresholds
from .roles import covered, loaded, masked, remaining, roles, siblings, stops_with, walked
from .tensors import Tensors
from .turns import taken_in_turns
from .unread import constant, scalar, told, unread, usual
from .waiving import with_arms_joined


def infer_contract(kernel: Kernel, facts: Facts) -> Contract:
    """The contract of a kernel. Raises Decline TLX606 where some memory is not understood well enough to launch it."""
    facts = with_arms_joined(without_descriptors(facts))
    extents = Extents(facts)
    facts = extents.facts
    tiles = {axis.length.text() for axis in facts.axes if axis.length.constexpr} | _lengths(kernel)
    sites = call_sites(kernel)
    tensors = Tensors(facts, extents, tiles, frozenset().union(*(site.strides for site in sites)))
    specs = as_launched(stored(kernel, facts, valid(kernel, facts, tensors.specs())), sites)
    _told(facts)
    free = list(tensors.sizes)
    sizes = words(e for t in specs if t.name in tensors.views for e in t.shape)
    strides = tensors.chosen | tensors.tied.keys()
    sizes |= words(s for t in specs for s in t.strides) - strides
    rows, columns, depth = roles(facts, extents)
    pointers = {spec.name for spec in specs}
    absent = _absent(kernel, facts) - pointers
    ignored = unread(kernel) - pointers - absent - sizes - strides - tiles
    place = {param.name: number for number, param in enumerate(kernel.params)}
    scalars: list[ScalarSpec] = []
    constexprs: list[ConstexprSpec] = []
    for param in kernel.params:
        if param.name in pointers | absent | ignored:
            continue
        if param.name in sizes and not (param.constexpr and param.name in tiles):
            scalars.append(ScalarSpec(param.name, "size", param.constexpr))
        elif param.name in strides:
            scalars.append(ScalarSpec(param.name, "stride", param.constexpr))
        elif param.constexpr:
            constexprs.append(constexpr(kernel, facts, param, tiles, sites))
        else:
            scalars.append(number(kernel, facts, param))
    chosen, known = configs(kernel, sites, constexprs, (rows, columns, depth))
    names = {p.name for p in kernel.params} | set(free) | {"cdiv", "min", "max"}
    grid = grid_of(facts, extents, sites, (rows, columns), free, names)
    around = next((dot.loops[-1] for dot in facts.dots if dot.loops), None)
    around_dots = {dot.loops[-1] for dot in facts.dots if dot.loops}
    loop = next((loop for loop in facts.loops if loop.span == around), None)
    whole = covered(facts, extents)
    depth = walked(facts, extents, loop) or depth
    rows, columns, depth = (pair if pair and pair[0] not in whole else None for pair in (rows, columns, depth))
    named = (rows, columns, depth)
    others = [*remaining(facts, extents, named[:2]), *siblings(facts, extents, named)]
    others = [pair for pair in others if pair[0] not in whole]
    _one_size(kernel, specs, [pair[0] for pair in (*named, *others) if pair], whole)
    counted = loop is None or loop.stop is None or not loaded(facts, loop.stop)
    computed = dependent(
        facts,
        extents,
        tensors,
        sites,
        tiles,
        driven={pair[0] for pair in (rows, columns, depth, *others) if pair is not None},
        fixed=strides | absent,
        covering={size: tile for size, tile in whole.items() if size in sizes - tiles},
        trips=depth[0] if depth is not None else None,
    )
    for name, expression in thresholds(facts, tensors.scalars.elements):
        if name not in sizes | strides | tiles:
            computed.setdefault(name, expression)
    # Where all is masked, a launch chooses how much of the tile there is.
    partly = {size: tile for size, tile in whole.items() if computed.get(size) == tile and masked(facts, size)}
    for size in partly:
        del computed[size]
    free += sorted(words(computed.values()) - names - set(free))
    if grid is None:
        raise Decline("TLX606", None, name=kernel.name, why="the grid does not follow from its tiles or a launch here")
    grid = taken_in_turns(facts, grid)
    between = apart(facts, sizes)
    grid = tuple(between.programs.get(axis, text) for axis, text in enumerate(grid))
    specs, free = counted_programs(specs, free, grid)
    readable = {p.name for p in kernel.params} - ignored | {*free}
    follows = told(ignored, sites, grid, {spec.name: spec for spec in specs}, readable)
    computed = follows | computed
    sizes_told = ignored & (computed.keys() | words(grid))
    unseen = [param for param in kernel.params if param.name in ignored]
    constexprs += [constant(param, sites) for param in unseen if param.constexpr]
    scalars += [scalar(param, sites, sizes_told) for param in unseen if not param.constexpr]
    scalars.sort(key=lambda spec: place[spec.name])
    constexprs.sort(key=lambda spec: place[spec.name])
    settled = sizes_told | {name for config in chosen for name, _ in config.values}
    return Contract(
        kernel=kernel.name,
        parameters=tuple(p.name for p in kernel.params),
        tensors=tuple(specs),
        scalars=tuple(scalars),
        constexprs=tuple(constexprs),
        configs=chosen,
        configs_known=known,
        grid=with_idle_programs(facts, grid),
        free_sizes=tuple(dict.fromkeys(free)),
        contracted=depth if counted else None,
        empties=depth is None or all(stops_with(loop, depth[0]) for loop in facts.loops if loop.span in around_dots),
        tiled=tuple(
            pair
            for pair in (rows, columns, None if counted else depth, *others)
            if pair and (pair != depth or not counted) and pair[0] not in computed
        ),
        multiples=tuple(p for p in dict.fromkeys((*extents.multiples, *between.multiples)) if p[0] not in tiles),
        whole=tuple(dict.fromkeys(_whole(facts))),
        aligned=_aligned(facts, sizes, tiles),
        computed=tuple(computed.items()),
        covered=tuple(partly.items()),
        tuned=tuned(kernel),
        absent=tuple(p.name for p in kernel.params if p.name in absent),
        unread=tuple(p.name for p in kernel.params if p.name in ignored - settled and usual(p, sites) is None),
    )


def _one_size(kernel: Kernel, specs: Iterable[TensorSpec], counted: Iterable[str], covered: Mapping[str, str]) -> None:
    """Raises Decline where a flag chooses how long a tensor is out of sizes of which nothing says how they are walked.

    Launches of each value of the flag alone are told by the size that it chooses.
    """
    known = {*counted, *covered}
    for spec in specs:
        for extent in spec.shape:
            if len(options(extent)) > 1 and (left := words([extent]) - known):
                why = f"`{spec.name}` is `{extent}` long, and how `{min(left)}` is walked is not known"
                raise Decline("TLX606", None, name=kernel.name, why=why)


def _told(facts: Facts) -> None:
    """Raises Decline where tiles begin or end at the least or the largest of some elements: what those are is not told.

    Elements that are anything would be no positions at all, and a launch of them none that the kernel is made for.
    """
    for span, access in facts.accesses:
        for d in access.dimensions:
            for place in (d.coordinate, d.limit):
                symbols = symbols_in(place) if place is not None else ()
                if any(symbol.name.startswith(REDUCED) for symbol in symbols):
                    why = f"which numbers the elements may be that `{place}` is computed of is not known"
                    raise Decline("TLX606", span, name=facts.kernel, why=why)


def _lengths(kernel: Kernel) -> set[str]:
    """Parameters that are the length of an `arange`."""
    calls = [n for n in ast.walk(kernel.node) if isinstance(n, ast.Call)]
    ends = [c.args[1] for c in calls if ast.unparse(c.func).endswith("arange") and len(c.args) == 2]
    return {end.id for end in ends if isinstance(end, ast.Name)}


def _whole(facts: Facts) -> Iterator[tuple[str, str]]:
    """Extents at which operands' tiles wrap as a whole, with the tiles."""
    fed = _fed(facts)
    for load in facts.loads:
        access = facts.access(load.span) if load.id in fed else None
        for d in access.dimensions if access is not None and not access.gathered else ():
            if d.whole and d.axis is not None and d.extent is not None and d.extent.text().isidentifier():
                yield d.extent.text(), facts.axis(d.axis).length.text()


def _aligned(facts: Facts, sizes: set[str], tiles: set[str]) -> tuple[str, ...]:
    """Sizes to keep at whole 16 bytes, so that every stride of what is read is: of a product, one factor is enough."""
    found: set[str] = set()
    for names in sorted((words([stride]) for stride in _read_strides(facts)), key=len):
        if not names & (found | tiles):
            found |= names & sizes
    return tuple(sorted(found | ((_starting(facts) | _row_ends(facts)) & sizes)))


def _row_ends(facts: Facts) -> set[str]:
    """Sizes at which rows end that threads copy: several elements at once must be masked alike."""
    found = [facts.access(load.span) for load in facts.loads if load.id in _fed(facts)]
    copied = (access for access in found if access is not None and access.unboxed)
    ends = (d.extent for access in copied for d in access.dimensions if d.axis is not None and d.extent is not None)
    return {symbol.name for end in ends for symbol in end.symbols}


def _fed(facts: Facts) -> set[int]:
    """The loads that dots multiply, as they are or computed with."""
    return {
        load for dot in facts.dots for side in (dot.a, dot.b) for load in (*side.loads, side.load) if load is not None
    }


def _starting(facts: Facts) -> set[str]:
    """Sizes at multiples of which operands' tiles start: as many rows as a group has, along what may be contiguous."""
    fed = _fed(facts)
    found = [facts.access(load.span) for load in facts.loads if load.id in fed]
    accesses = [access for access in found if access is not None and not access.described]
    lengths = tile_lengths(facts, accesses)
    places = [d.coordinate for access in accesses for d in access.dimensions[-2:]]
    return {symbol.name for place in places for monomial, _ in uneven(place, lengths) for symbol in monomial}


def _read_strides(facts: Facts) -> Iterator[str]:
    """Strides of what is read, and of what is written through descriptors, which the source makes at every launch."""
    spans = [load.span for load in facts.loads if load.axes] + [s.span for s in facts.stores if s.descriptor]
    for span in spans:
        access = facts.access(span)
        yield from (d.stride.text() for d in access.dimensions) if access is not None else ()


def _absent(kernel: Kernel, facts: Facts) -> set[str]:
    """Pointers of the kernel that it does not use where what the facts assume holds."""
    if not facts.assumed:
        return set()
    plain = analyze(kernel)
    used = [load.pointer for load in plain.loads] + [store.pointer for store in plain.stores]
    return {pointer for pointer in used if pointer is not None}
