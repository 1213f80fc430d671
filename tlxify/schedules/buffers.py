"""A load that feeds dots → its buffer in the ring, and the view of memory that the TMA fills it from."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..diagnostics import Decline
from ..facts import Access, AxisId, Dimension, Load, Operand
from ..plan import Buffer, Copied, Copy, View, decoded
from ..poly import Poly, Symbol
from ..source import Span
from . import requirements
from .feeding import Feed
from .frame import Frame
from .launching import UNSAID
from .naming import stem
from .to_end import TO_END, extents_to_end, goes_to_end
from .writing import closed, write_for_guard, write_in_scope


@dataclass(frozen=True, slots=True)
class Placed:
    """Where the tile of one load comes from, and how the producer writes its coordinates."""

    #: Named by its pointer alone until rings are known: buffers of equal tiles are one.
    view: View
    tile: tuple[str, str]
    split: int | None
    coordinates: tuple[str, ...]
    reads: frozenset[str]
    copy: Copy | None = None


def in_place_fits(frame: Frame, feed: Feed, one: Placed) -> None:
    """Raises Decline TLX401 for a tile that dots read in place and that does not suit the tensor cores."""
    if feed.in_place:
        requirements.tile_fits(frame.target, *_rows_and_depth(frame, one.tile, feed), feed.load.span)


def placed(frame: Frame, load: Load, access: Access) -> Placed:
    """The tile of a load. Raises Decline TLX201, TLX207, TLX403."""
    tile = [dimension for dimension in access.dimensions if dimension.axis is not None]
    if len(tile) != 2:
        raise Decline("TLX201", load.span, name=access.pointer, why=f"its tile has {len(tile)} axes instead of 2")
    lengths = (_length(frame, tile[0].axis, load), _length(frame, tile[1].axis, load))
    axis = frame.split_axis
    split = next((i for i, dimension in enumerate(tile) if axis is not None and dimension.axis == axis.id), None)
    texts, reads = [], set[str]()
    scope = scope_of(frame, load.scope, load.loops)
    for dimension in access.dimensions:
        written = write_in_scope(dimension.coordinate, scope)
        if written is None:
            why = f"no name holds its coordinate `{dimension.coordinate}`"
            raise Decline("TLX201", load.span, name=access.pointer, why=why)
        text = _narrow(written.text) if written.reads & frame.facts.wide else written.text
        if dimension.whole:
            text, more = _around(dimension, text, scope, load, access)
            reads |= more
        if frame.split and split is not None and dimension is tile[split]:
            offset = f"{frame.split.rows} * {frame.split.group}"
            text = offset if text == "0" else f"{text} + {offset}"
        texts.append(text)
        reads |= written.reads
    return Placed(_view(access, load), lengths, split, tuple(texts), frozenset(reads))


def copied_tile(frame: Frame, load: Load, access: Access, copied: Copied) -> Placed:
    """The tile of a load whose address and mask the producer keeps. Raises Decline TLX403."""
    assert load.written is not None
    rows, columns = (_length(frame, axis, load) for axis in load.axes)
    view = View("", access.pointer, (), (), None, copied)
    copy = Copy(load.written.address, load.written.mask)
    return Placed(view, (rows, columns), None, (), load.written.reads, copy)


def _around(
    dimension: Dimension, text: str, scope: tuple[tuple[str, Poly], ...], load: Load, access: Access
) -> tuple[str, frozenset[str]]:
    """The coordinate of a tile that begins anew at its extent. Raises Decline TLX207 for an extent without a name."""
    extent = write_in_scope(dimension.extent, scope) if dimension.extent is not None else None
    if extent is None:
        raise Decline("TLX207", load.span, what="extent", name=access.pointer)
    return f"{closed(text)} % {closed(extent.text)}", extent.reads


def named(frame: Frame, one: Placed, load: Load, *, in_place: bool) -> Buffer:
    """The buffer for a tile, with names of its own; `in_place` of a descriptor of the caller's it takes that one's."""
    view, name = one.view, stem(one.view.parameter)
    if view.copied is not None:
        ring = frame.names.fresh(f"{load.target or name}_ring")
        view = replace(view, descriptor=view.parameter, copied=replace(view.copied, name=ring))
        return Buffer(ring, view, one.tile, one.split)
    flag = frame.names.fresh(f"{name.upper()}_TRANSPOSED") if view.flag is not None else None
    descriptor = view.parameter if in_place else frame.names.fresh(f"{name}_desc")
    view = replace(view, descriptor=descriptor, flag=flag)
    ring = frame.names.fresh(f"{load.target or name}_ring")
    return Buffer(ring, view, one.tile, one.split)


def scope_of(
    frame: Frame, scope: tuple[tuple[str, Poly], ...], around: tuple[Span, ...]
) -> tuple[tuple[str, Poly], ...]:
    """What coordinates may be written with: program ids as they are decoded, then names, the latest last.

    `around` are the loops around the place: their counters may have other names here.
    """
    held = frame.persistence
    calls = []
    for axis in dict.fromkeys(axis for _, axis, _ in frame.facts.program_ids if axis is not None):
        text = decoded(held, axis) if held is not None else f"tl.program_id({axis})"
        calls.append((text, Poly.of(Symbol(f"tl.program_id({axis})"))))
    for axis, name in enumerate(held.extents if held is not None else ()):
        calls.append((name, Poly.of(Symbol(f"tl.num_programs({axis})"))))
    loops = [loop for loop in frame.facts.loops if loop.span in around and loop.span in frame.counters]
    renamed = {loop.variable: frame.counters[loop.span] for loop in loops}
    return (*calls, *((renamed.get(name, name), value) for name, value in scope))


def _narrow(text: str) -> str:
    return f"{text}.to(tl.int32)" if text.isidentifier() else f"({text}).to(tl.int32)"


def _rows_and_depth(frame: Frame, lengths: tuple[str, str], feed: Feed) -> tuple[str, str]:
    first, second = reversed(lengths) if feed.side.how is Operand.TRANSPOSED else lengths
    is_a = any(dot.a.load == feed.load.id for dot in frame.facts.dots)
    return (first, second) if is_a else ("", first)


def _length(frame: Frame, axis: AxisId | None, load: Load) -> str:
    assert axis is not None
    length = frame.facts.axis(axis).length
    if not length.constexpr:
        if load.pointer in {descriptor.name for descriptor in frame.facts.hosted}:
            raise Decline("TLX210", load.span, name=load.pointer, why=UNSAID)
        raise Decline("TLX403", load.span, name=length.text())
    return length.text()


def _view(access: Access, load: Load) -> View:
    strides: list[str] = []
    shape: list[str | None] = []
    to_end = any(map(goes_to_end, access.dimensions))
    extents = (extents_to_end(access) if to_end else None) or [dimension.extent for dimension in access.dimensions]
    for dimension, known in zip(access.dimensions, extents, strict=True):
        stride = write_for_guard(dimension.stride)
        extent = write_for_guard(known) if known is not None else None
        if stride is None or (extent is None and known is not None):
            what = "stride" if stride is None else "extent"
            raise Decline("TLX207", load.span, what=what, name=access.pointer)
        strides.append(stride)
        shape.append(TO_END if goes_to_end(dimension) else extent)
    if "1" not in strides[-2:] and any(stride.isdigit() for stride in strides[-2:]):
        raise Decline("TLX201", load.span, name=access.pointer, why="no axis of its tile can have stride 1")
    flag = None if strides[-1] == "1" else "TRANSPOSED"
    return View("", access.pointer, tuple(shape), tuple(strides), flag)
