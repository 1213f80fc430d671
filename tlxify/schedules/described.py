"""Descriptors only: every tile that the TMA can be asked for is loaded through a descriptor, where its load stands.

No roles, no rings: what warps do and when loads are issued is left to the compiler. Addresses that only led to such
loads go. Stores stay stores through pointers, for the TMA writes whole 16 bytes and would write past a row's end; so do
loads that mask by more than bounds, or want something else than zero outside of them. Block pointers that are left are
written out, for newer Tritons have none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..diagnostics import Decline, Diagnostic
from ..facts import Access, Facts, Load, every
from ..plan import Described, LaunchGuard, Operands, Plan, Task, View
from ..source import Span
from ..targets import Target
from . import positions, requirements, written
from .buffers import Placed, placed
from .feeding import whole_branches
from .frame import Frame, frame
from .launching import assumed, blocks_of, stored_by
from .naming import Names, stem
from .slicing import Reads, keep
from .starts import starts_of
from .writing import claims

#: Element types that descriptors are made for.
DTYPES = ("fp16", "bf16", "fp32", "fp8e4nv", "fp8e5", "i8", "i16", "i32", "u8")
#: Statements without a value or effect that stay: they check and promise.
_CHECKS = frozenset({"static_assert", "assume", "device_assert", "docstring", "debug_barrier", "return"})


def plan(facts: Facts, parameters: tuple[str, ...], taken: frozenset[str], target: Target) -> Plan:
    """The plan for a kernel. `parameters` are the kernel's, in order; `taken` are all names that it or its module uses.

    Raises Decline TLX319 where nothing is loaded that a descriptor could load, TLX2xx with what is in the way of the
    first tile where nothing else can be, TLX209 for a block pointer that cannot be written out.
    """
    for span in facts.returns:
        raise Decline("TLX306", span, why="in a loop, or with a value")
    around, where = _placed(facts, parameters, taken, target)
    views = _views(around, where)
    described = tuple(_described(around, facts.loads[n], one, views) for n, one in where.items())
    fed = {one.load for one in described} | {facts.loads[p].span for n in where for p in _parts(facts, n)}
    rewritten = written.written_out(around, frozenset(fed), frozenset(one.statement for one in described))
    roots = {**written.reads(rewritten, facts), **_roots(facts, described)}
    # An effect in a statement that is a root already stays with it.
    keeps = keep(facts.statements, roots, _effects(facts) - roots.keys())
    return Plan(
        kernel=facts.kernel,
        parameters=parameters,
        converted=around.names.fresh(f"_{facts.kernel.strip('_')}_desc"),
        schedule="descriptors",
        target=target.name,
        rings=(),
        dots=(),
        written_out=tuple(one.access for one in rewritten),
        barriers=(),
        tasks=(Task("program", "num_warps", None, None, keeps),),
        edges=(),
        split=None,
        persistence=None,
        guard=_guard(facts, described, [facts.loads[n] for n in where]),
        program_ids=(),
        num_programs=(),
        reversible=tuple(comparison.span for comparison in facts.comparisons if comparison.integers),
        names=(),
        counters=tuple(around.counters.items()),
        settled=facts.settled,
        described=described,
    )


def _placed(
    facts: Facts, parameters: tuple[str, ...], taken: frozenset[str], target: Target
) -> tuple[Frame, dict[int, Placed]]:
    """The loads that descriptors can make, each with where its tile comes from. Raises Decline."""
    refused: dict[int, Diagnostic] = {}
    found: dict[int, Access] = {}
    armed = {part for load in facts.armed for part in _parts(facts, load.id)}
    for load in facts.loads:
        if load.id in armed or sum(axis is not None for axis in load.axes) != 2 or _made_by_descriptor(facts, load):
            continue
        try:
            found[load.id] = _tile(facts, load)
        except Decline as refusal:
            refused[load.id] = refusal.diagnostic
    whole_branches(facts, found, refused)
    loops = frozenset(span for number in found for span in facts.loads[number].loops[-1:])
    names = Names(taken)
    around = frame(
        facts, parameters, names, target, loops, persistent=False, balanced=False, divided=False, spelled=False
    )
    where: dict[int, Placed] = {}
    for number, access in found.items():
        try:
            where[number] = placed(around, facts.loads[number], access)
        except Decline as refusal:
            refused[number] = refusal.diagnostic
    if not where:
        for problem in (refused[number] for number in sorted(refused)):
            raise Decline.of(problem)
        raise Decline("TLX319", None, name=facts.kernel)
    return around, where


def _parts(facts: Facts, number: int) -> Iterable[int]:
    """Loads that another stands for, arms of arms included."""
    for part in facts.loads[number].parts:
        yield part
        yield from _parts(facts, part)


def _made_by_descriptor(facts: Facts, load: Load) -> bool:
    """Whether the source loads it through a descriptor itself."""
    access = facts.access(load.span)
    return load.descriptor or (access is not None and access.described)


def _tile(facts: Facts, load: Load) -> Access:
    """The tile behind a load, if the TMA gives what the source loads. Raises Decline TLX2xx, TLX104, TLX32x."""
    access = requirements.strided(facts, load, load.target or "the tile")
    positions.begin_inside(facts, access, load)
    requirements.rows_are_independent(facts, access, load)
    return access


def _views(around: Frame, where: dict[int, Placed]) -> dict[Placed, View]:
    """A descriptor for each way in which tiles of one size are read from a tensor."""
    made: dict[tuple[View, tuple[str, str]], View] = {}
    found = {}
    for one in where.values():
        key = (one.view, one.tile)
        if key not in made:
            name = stem(one.view.parameter)
            flag = around.names.fresh(f"{name.upper()}_TRANSPOSED") if one.view.flag is not None else None
            made[key] = replace(one.view, descriptor=around.names.fresh(f"{name}_desc"), flag=flag)
        found[one] = made[key]
    return found


def _described(around: Frame, load: Load, one: Placed, views: dict[Placed, View]) -> Described:
    facts = around.facts
    lengths = ("1" if axis is None else facts.axis(axis).length.text() for axis in load.axes)
    shape = tuple(lengths) if None in load.axes else ()
    return Described(
        load=load.span,
        statement=load.statement,
        view=views[one],
        tile=one.tile,
        coordinates=one.coordinates,
        reads=one.reads,
        name=load.target,
        whole=bool(load.parts),
        shape=shape,
    )


def _roots(facts: Facts, described: tuple[Described, ...]) -> dict[Span, Reads]:
    """The statements that load through descriptors, each with what it then reads: coordinates, and what is beside."""
    loads = {load.span: load for load in facts.loads}
    roots: dict[Span, Reads] = {}
    for one in described:
        binds = facts.statement(one.statement).binds
        if one.whole:
            held = roots.get(one.statement, Reads(frozenset()))
            roots[one.statement] = Reads(held.reads | one.reads, binds)
            continue
        same = [loads[other.load].beside for other in described if other.statement == one.statement]
        read = same[0].intersection(*same[1:])
        held = roots.get(one.statement, Reads(frozenset()))
        roots[one.statement] = Reads(held.reads | read | one.reads, binds)
    return roots


def _effects(facts: Facts) -> frozenset[Span]:
    """Statements that do something besides binding names."""
    stores = {store.statement for store in facts.stores}
    checks = {statement.span for statement in facts.statements if statement.text_kind in _CHECKS}
    checks |= {s.span for s in every(facts.statements) if s.text_kind in _CHECKS and s.kind == "simple"}
    effects = [span for span, _ in facts.effects]
    simple = [s.span for s in every(facts.statements) if s.kind == "simple"]
    return frozenset(stores | checks | {span for span in simple if any(span.contains(effect) for effect in effects)})


def _guard(facts: Facts, described: tuple[Described, ...], loads: list[Load]) -> LaunchGuard:
    views = tuple(dict.fromkeys(one.view for one in described))
    every_one = Operands(tuple(dict.fromkeys(view.parameter for view in views)), DTYPES, same=False)
    accesses = [access for load in loads if (access := facts.access(load.span)) is not None]
    claimed = [text for access in accesses for text in claims(facts, access) or ()]
    relied_on = tuple(dict.fromkeys([*assumed(facts), *claimed]))
    starts = starts_of(facts, [(one.load, one.view) for one in described])
    return LaunchGuard(views, (every_one,), stored_by(facts), (), relied_on, blocks_of(facts), starts)
