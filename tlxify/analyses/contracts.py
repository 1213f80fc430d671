"""What each parameter is and what a valid launch looks like, inferred from how the kernel uses its parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from ..contract import FLOAT16_DTYPES, ConstexprSpec, Contract, LaunchConfig, ScalarSpec, TensorSpec
from ..diagnostics import Decline
from ..facts import Access, Dimension, Facts, LoopFact
from ..model import Kernel, Param
from ..parse.launches import CallSite, call_sites, tuner_configs
from ..poly import ONE, Poly
from ..source import Span
from .grids import outermost, programs
from .integers import integers
from .scalars import Scalars, one_more

#: Tiles to verify with where the source's own configs are unknown: rows, columns, depth, warps, stages.
_DEFAULTS = ((128, 128, 64, 8, 3), (128, 64, 64, 4, 3), (64, 64, 32, 4, 2))
#: Names under which a convolution of ids (grouping for L2) is usually passed.
_DEFAULT_INT = 4


def infer_contract(kernel: Kernel, facts: Facts) -> Contract:
    """The contract of a kernel. Raises Decline TLX606 where some memory is not understood well enough to launch it."""
    extents = _Extents(facts)
    specs, free = _Tensors(facts, extents).specs()
    sites, sizes = call_sites(kernel), _words(e for t in specs if t.dtypes == FLOAT16_DTYPES for e in t.shape)
    strides = _words(s for t in specs for s in t.strides) - sizes
    tiles = {axis.length.text() for axis in facts.axes if axis.length.constexpr}
    rows, columns, depth = _roles(facts, extents)
    scalars, constexprs = [], []
    pointers = {spec.name for spec in specs}
    numbers = {p.name for p in kernel.params if not p.constexpr and p.name not in pointers | sizes | strides}
    constants = {p.name for p in kernel.params if p.constexpr}
    whole = integers(kernel.node, sizes | strides | constants & (tiles | sizes), numbers)
    for param in kernel.params:
        if param.name in pointers:
            continue
        if param.name in sizes and not (param.constexpr and param.name in tiles):
            scalars.append(ScalarSpec(param.name, "size", param.constexpr))
        elif param.name in strides:
            scalars.append(ScalarSpec(param.name, "stride", param.constexpr))
        elif param.constexpr:
            constexprs.append(_constexpr(kernel, facts, param, tiles, sites))
        else:
            told = param.default is not None and "." not in param.default
            kind = "int" if told or param.name in whole else "float"
            scalars.append(ScalarSpec(param.name, kind, choices=(0.5, 1.0) if kind == "float" else (1, 2)))  # type: ignore[arg-type]
    # What says how memory lies is the launch's to tell, not a config's.
    tuned = [spec for spec in constexprs if spec.name not in sizes | strides]
    configs, known = _configs(kernel, sites, tuned, (rows, columns, depth))
    names = {p.name for p in kernel.params} | set(free) | {"cdiv", "min", "max"}
    grid = _grid(facts, extents, sites, (rows, columns), free, names)
    around = next((dot.loops[-1] for dot in facts.dots if dot.loops), None)
    loop = next((loop for loop in facts.loops if loop.span == around), None)
    depth = _walked(facts, extents, loop) or depth
    counted = loop is None or loop.stop is None or not _loaded(facts, loop.stop)
    if grid is None:
        raise Decline("TLX606", None, name=kernel.name, why="the grid does not follow from its tiles or a launch here")
    return Contract(
        kernel=kernel.name,
        parameters=tuple(p.name for p in kernel.params),
        tensors=tuple(specs),
        scalars=tuple(scalars),
        constexprs=tuple(constexprs),
        configs=configs,
        configs_known=known,
        grid=_with_idle_programs(facts, grid),
        free_sizes=tuple(dict.fromkeys(free)),
        contracted=depth if counted else None,
        tiled=tuple(
            pair for pair in (rows, columns, None if counted else depth) if pair and (pair != depth or not counted)
        ),
        multiples=tuple(dict.fromkeys(extents.multiples)),
        aligned=tuple(sorted(sizes & _words(s for t in specs if t.reads for s in t.strides))),
    )


class _Extents:
    """How long each axis is: what its masks say, else how far its loop or its program ids reach."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.of: dict[int, str] = {}
        self.multiples: list[tuple[str, str]] = []
        self.free: dict[str, None] = {}
        dimensions = [d for _, access in facts.accesses for d in access.dimensions if d.axis is not None]
        for dimension in dimensions:
            if dimension.extent is not None and dimension.extent.launch and dimension.axis is not None:
                text = dimension.extent.text()
                # A parameter can be set; what is computed of several is only where the memory ends.
                held = self.of.get(dimension.axis)
                if "tl." not in text and (held is None or (text.isidentifier() and not held.isidentifier())):
                    self.of[dimension.axis] = text
        for dimension in dimensions:
            if dimension.extent is None and dimension.axis is not None:
                self._unmasked(dimension, dimension.axis)

    def _unmasked(self, dimension: Dimension, axis: int) -> None:
        """An access that masks nothing relies on its tiles ending where the axis does."""
        length = self.facts.axis(axis).length
        size = self.of.get(axis) or self._reach(dimension, length)
        if size is not None:
            self.of.setdefault(axis, size)
            if size != length.text():
                self.multiples.append((size, length.text()))

    def _reach(self, dimension: Dimension, length: Poly) -> str | None:
        if not dimension.coordinate.terms:
            return length.text()  # one tile is the whole axis
        quotient, rest = dimension.coordinate.divide(length) if length.monomial else (Poly(), dimension.coordinate)
        if not rest.terms and (program := _program_axis(quotient)) is not None:
            name = f"extent_{program}"
            self.free[name] = None
            return name
        for loop in self.facts.loops:
            if loop.trip in dimension.coordinate.symbols and loop.stop is not None and len(loop.stop.symbols) == 1:
                (symbol,) = loop.stop.symbols
                if loop.stop == Poly.of(symbol) and symbol.name.isidentifier() and loop.step == length:
                    return symbol.name
                if loop.stop == Poly.of(symbol) and len(symbol.operands) == 2 and symbol.operands[1] == length:
                    return symbol.operands[0].text()
        return None


class _Tensors:
    """Pointer parameters as tensors."""

    def __init__(self, facts: Facts, extents: _Extents) -> None:
        self.facts = facts
        self.extents = extents
        self.free = dict(extents.free)
        self.scalars = Scalars(facts, extents.of)

    def specs(self) -> tuple[list[TensorSpec], list[str]]:
        """The tensors and the free sizes. Raises Decline TLX606 if one access is not understood."""
        facts = self.facts
        groups = {access.pointer: access.pointer for _, access in facts.accesses}
        for dot in facts.dots:
            names = [facts.loads[n].pointer for n in (dot.a.load, dot.b.load) if n is not None]
            for name in names[1:]:
                if name is not None and names[0] is not None:
                    groups[name] = groups.get(names[0], names[0])
        found: dict[str, TensorSpec] = {}
        blocks = [load for load in facts.loads if load.axes]
        for load in blocks:
            access = facts.access(load.span)
            if access is None or not self._add(found, access, groups, reads=True):
                raise self._unknown(load.span, load.pointer)
        for store in facts.stores:
            access = facts.access(store.span)
            if access is None or not self._add(found, access, groups, writes=True):
                raise self._unknown(store.span, store.pointer)
        for load in facts.loads:
            if not load.axes and load.pointer not in found:
                spec = self.scalars.spec(load.pointer) if load.pointer is not None else None
                if spec is None:
                    raise self._unknown(load.span, load.pointer)
                found[spec.name] = spec
            elif not load.axes and found[load.pointer or ""].strides != ("1",):
                raise self._unknown(load.span, load.pointer)
        return list(found.values()), list(self.free | self.scalars.free)

    def _unknown(self, span: Span, pointer: str | None) -> Decline:
        problem = self.facts.problem(span)
        why = (
            problem.message
            if problem is not None
            else "an extent or a stride of its memory is not known, or is used in two ways"
        )
        return Decline("TLX606", span, name=pointer or self.facts.kernel, why=why)

    def _add(
        self,
        found: dict[str, TensorSpec],
        access: Access,
        groups: dict[str, str],
        *,
        reads: bool = False,
        writes: bool = False,
    ) -> bool:
        # The axis that is surely contiguous is the tensor's last, however the kernel turns the tile.
        dimensions = sorted(access.dimensions, key=lambda dimension: dimension.stride == ONE)
        shape = [self._extent(dimension) for dimension in dimensions]
        strides = [d.stride.text() if d.stride.launch else None for d in dimensions]
        if None in shape or None in strides:
            return False
        held = found.get(access.pointer)
        spec = TensorSpec(
            access.pointer,
            tuple(e or "" for e in shape),
            tuple(s or "" for s in strides),
            reads or (held is not None and held.reads),
            writes or (held is not None and held.writes),
            groups.get(access.pointer, access.pointer),
            FLOAT16_DTYPES,
        )
        if held is not None and (held.shape, held.strides) != (spec.shape, spec.strides):
            return False
        found[access.pointer] = spec
        return True

    def _extent(self, dimension: Dimension) -> str | None:
        if dimension.extent is not None:
            text = dimension.extent.text()
            return text if dimension.extent.launch and "tl." not in text else None
        if dimension.axis is not None:
            size, length = self.extents.of.get(dimension.axis), self.facts.axis(dimension.axis).length.text()
            if size != length or not dimension.coordinate.terms:
                return size
            # The axis is one tile long, and tiles lie one after the other.
            last = self.scalars.upper(dimension.coordinate)
            return f"{last} + {length}" if last is not None else None
        if (index := _batch_index(dimension.coordinate)) is not None:
            if index.free is not None:
                self.free[index.free] = None
            return index.extent
        if (size := outermost(dimension.coordinate)) is not None:
            self.free[size] = None
            return size
        last = self.scalars.upper(dimension.coordinate)
        return one_more(last) if last is not None else None


def _program_axis(poly: Poly) -> int | None:
    """The grid axis, if a coordinate is exactly a program id."""
    if len(poly.terms) != 1 or poly.terms[0][1] != 1 or len(poly.terms[0][0]) != 1:
        return None
    name = poly.terms[0][0][0].name
    return int(name[len("tl.program_id(") : -1]) if name.startswith("tl.program_id(") and name[-2].isdigit() else None


@dataclass(frozen=True, slots=True)
class _BatchIndex:
    """A coordinate that picks one of a batch: a program id, or one of the two that `p // n` and `p % n` make of it."""

    axis: int
    #: How many there are.
    extent: str
    #: The size that no parameter holds, if `extent` is such a size.
    free: str | None
    #: The extent of the grid axis.
    grid: str


def _batch_index(poly: Poly) -> _BatchIndex | None:
    if (axis := _program_axis(poly)) is not None:
        return _BatchIndex(axis, f"grid_{axis}", f"grid_{axis}", f"grid_{axis}")
    if len(poly.terms) != 1 or poly.terms[0][1] != 1 or len(poly.terms[0][0]) != 1:
        return None
    symbol = poly.terms[0][0][0]
    if symbol.template not in ("({} // {})", "({} % {})") or not symbol.operands[1].launch:
        return None
    axis, inner = _program_axis(symbol.operands[0]), symbol.operands[1].text()
    if axis is None or not inner.isidentifier():
        return None
    outer = f"outer_{axis}"
    grid = f"{outer} * {inner}"
    if symbol.template == "({} % {})":
        return _BatchIndex(axis, inner, None, grid)
    return _BatchIndex(axis, outer, outer, grid)


Sized = tuple[str, str]


def _roles(facts: Facts, extents: _Extents) -> tuple[Sized | None, Sized | None, Sized | None]:
    """(extent, tile) of the rows, the columns and the contracted axis of the first dot."""
    if not facts.dots:
        return None, None, None
    dot = facts.dots[0]

    def sized(axis: int | None) -> Sized | None:
        if axis is None or axis not in extents.of:
            return None
        length = facts.axis(axis).length.text()
        # Else one tile is all there is of it, or nothing alone sets its length.
        return (extents.of[axis], length) if extents.of[axis] != length and extents.of[axis].isidentifier() else None

    return sized(dot.a.axes[0]), sized(dot.b.axes[1]), sized(dot.a.axes[1])


def _walked(facts: Facts, extents: _Extents, loop: LoopFact | None) -> Sized | None:
    """(extent, tile) of the axis along which the tiles of a loop move with every trip."""
    if loop is None or loop.step is None:
        return None
    for _, access in facts.accesses:
        for d in access.dimensions:
            if d.axis is None or d.axis not in extents.of or loop.trip not in d.coordinate.symbols:
                continue
            length = facts.axis(d.axis).length
            steps = d.coordinate - d.coordinate.substitute({loop.trip: Poly()})
            if steps == length * Poly.of(loop.trip):
                return extents.of[d.axis], length.text()
    return None


def _words(texts: Iterable[str]) -> set[str]:
    return {n.id for text in texts for n in ast.walk(ast.parse(text, mode="eval")) if isinstance(n, ast.Name)}


def _constexpr(
    kernel: Kernel, facts: Facts, param: Param, tiles: set[str], sites: tuple[CallSite, ...]
) -> ConstexprSpec:
    name = param.name
    if name in dict(facts.assumed):
        return ConstexprSpec(name, "flag", (dict(facts.assumed)[name],))
    if name in tiles:
        return ConstexprSpec(name, "tile", (64, 128))
    if name in facts.casts:
        stored = next((s.pointer for s in facts.stores if s.pointer), None)
        return ConstexprSpec(name, "dtype", (), dtype_of=stored)
    options: dict[object, None] = {}
    flag = False
    for node in ast.walk(kernel.node):
        match node:
            case ast.Compare(left=ast.Name(id=left), comparators=[ast.Constant(value=value)]) if left == name:
                options[value] = None
            case ast.If(test=test) | ast.IfExp(test=test):
                flag |= _tests(test, name)
            case ast.keyword(arg="allow_tf32", value=ast.Name(id=used)) if used == name:
                flag = True
    if any(isinstance(value, str) for value in options):
        return ConstexprSpec(name, "option", ("", *(v for v in options if v != "")))
    if flag or param.default in ("True", "False"):
        return ConstexprSpec(name, "flag", (False, True))
    literal = next((v for site in sites for k, v in site.literals if k == name), None)
    if options and literal is None:
        return ConstexprSpec(name, "int", tuple(v for v in options if isinstance(v, int)) or (_DEFAULT_INT,))
    return ConstexprSpec(name, "int", (literal if literal is not None else _DEFAULT_INT,))


def _tests(test: ast.expr, name: str) -> bool:
    match test:
        case ast.Name(id=used):
            return used == name
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _tests(operand, name)
        case ast.BoolOp(values=values):
            return any(_tests(value, name) for value in values)
    return False


def _configs(
    kernel: Kernel, sites: tuple[CallSite, ...], constexprs: list[ConstexprSpec], roles: tuple[Sized | None, ...]
) -> tuple[tuple[LaunchConfig, ...], bool]:
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
    for *sizes, warps, stages in _DEFAULTS:
        named = {name: size for name, size in zip(order, sizes, strict=True) if name is not None}
        configs.append(LaunchConfig(tuple((tile, named.get(tile, 64)) for tile in tiles), warps, stages))
    return tuple(dict.fromkeys(configs)), False


def _number(value: object, default: int) -> int:
    return value if isinstance(value, int) else default


def _grid(
    facts: Facts,
    extents: _Extents,
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
    for _, access in facts.accesses:
        for d in access.dimensions:
            if d.axis is None:
                if (index := _batch_index(d.coordinate)) is not None:
                    direct.setdefault(index.axis, index.grid)
            elif d.axis in extents.of:
                length = facts.axis(d.axis).length
                quotient, rest = d.coordinate.divide(length) if length.monomial else (Poly(), d.coordinate)
                if not rest.terms and (axis := _program_axis(quotient)) is not None:
                    direct.setdefault(axis, f"cdiv({extents.of[d.axis]}, {length.text()})")
    for axis in sorted(axes - set(direct)):
        if (found := programs(facts, extents.of, axis)) is not None:
            direct[axis] = found[0]
            free += [found[1]] if found[1] is not None else []
    if axes <= set(direct):
        return tuple(direct.get(axis, "1") for axis in range(max(axes) + 1))
    for site in sites:
        if site.grid is not None:
            grid = tuple(direct.get(axis, text) for axis, text in enumerate(site.grid))
            hosts = [text for text in grid if not _words([text]) <= known]
            if all(text.isidentifier() for text in hosts):
                free += hosts  # a size that only the launching function knows
                return grid
    if axes == {0} and None not in tiled:
        return (" * ".join(f"cdiv({pair[0]}, {pair[1]})" for pair in tiled if pair is not None),)
    return None


def _loaded(facts: Facts, poly: Poly) -> bool:
    """Whether a scalar read from memory is in it."""
    loaded = {load.symbol for load in facts.loads}
    return any(s in loaded or any(_loaded(facts, operand) for operand in s.operands) for s in poly.symbols)


def _with_idle_programs(facts: Facts, grid: tuple[str, ...]) -> tuple[str, ...]:
    """One program more along each axis where the kernel sends those away that come after the last."""
    idle = set()
    for statement in facts.statements:
        leaves = statement.kind == "branch" and any(inner.text_kind == "return" for inner in statement.body)
        text = next((text for span, text in facts.conditions if span == statement.span), "") if leaves else ""
        for comparison in facts.comparisons:
            if comparison.text == text and comparison.operator in (">=", ">") and comparison.right.launch:
                (monomial, _), *more = comparison.left.terms or (((), 0),)
                ids = [s for s in monomial if not s.launch]
                if not more and len(ids) == 1 and (axis := _program_axis(Poly.of(ids[0]))) is not None:
                    idle.add(axis)
    return tuple(f"{extent} + 1" if axis in idle else extent for axis, extent in enumerate(grid))
