"""Where the members of a pool lie: arithmetic on slots, without any IR.

A group's slot is as large as its largest member (shared) or as all of them together (distinct), times its group size.
Slot ``i`` of a member lies in pooled slot ``i // g``, at the member's offset there, plus ``i % g`` slots of its own;
``g`` is the product of the group sizes above it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..builtin import TLXError


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A buffer that joins a pool. Sizes are in bits, of tensor memory in bits per lane."""

    name: str
    slot: int
    num: int


@dataclass(frozen=True, slots=True)
class Group:
    """Members that lie on top of each other, or one after the other (``distinct``)."""

    parts: tuple[Member | Group, ...]
    distinct: bool = False
    size: int = 1


@dataclass(frozen=True, slots=True)
class SlotMap:
    """Which slot of a widened array is slot ``i`` of a member: ``(i // group) * scale + offset + i % group``."""

    scale: int = 1
    offset: int = 0
    group: int = 1

    def __call__(self, index: int) -> int:
        """The slot for a constant index."""
        return index // self.group * self.scale + self.offset + index % self.group

    @property
    def plain(self) -> bool:
        """Whether every index stays what it is."""
        return self == SlotMap() or (self.scale, self.offset) == (self.group, 0)


@dataclass(frozen=True, slots=True)
class Arrangement:
    """A pool laid out."""

    #: in the order of the members' appearance in the tree
    maps: tuple[tuple[Member, SlotMap], ...]
    bits: int


def slot_size(part: Member | Group) -> int:
    """Bits of one slot."""
    if isinstance(part, Member):
        return part.slot
    sizes = [slot_size(inner) for inner in part.parts]
    return (sum(sizes) if part.distinct else max(sizes)) * part.size


def _leaves(part: Member | Group, offset: int, group: int) -> Iterator[tuple[Member, int, int]]:
    if isinstance(part, Member):
        yield part, offset, group
        return
    for inner in part.parts:
        yield from _leaves(inner, offset, group * part.size)
        if part.distinct:
            offset += slot_size(inner) * part.size


def arrange(tree: Group, limit: int | None = None) -> Arrangement:
    """Lays out a tree.

    Raises:
        TLXError: a member twice, an offset or a stride that is no multiple of a member's slot, more than ``limit``
            bits.
    """
    whole = slot_size(tree)
    maps: list[tuple[Member, SlotMap]] = []
    slots = 0
    for member, offset, group in _leaves(tree, 0, 1):
        if any(member is known for known, _ in maps):
            raise TLXError(f"{member.name} stands in the tree twice")
        if offset % member.slot or (member.num > group and whole % member.slot):
            raise TLXError(
                f"{member.name} would start {offset // 8} bytes into slots of {whole // 8} bytes, which its own slots "
                f"of {member.slot // 8} bytes cannot reach: list larger buffers first, or pad"
            )
        maps.append((member, SlotMap(whole // member.slot, offset // member.slot, group)))
        slots = max(slots, -(-member.num // group))
    bits = slots * whole
    if limit is not None and bits > limit:
        raise TLXError(f"the members need {bits // 8} bytes, buffer_size_bytes allows {limit // 8}")
    return Arrangement(tuple(maps), bits)


def on_top(members: list[Member], limit: int | None = None) -> Arrangement:
    """All members from the first byte on, each as a ring of its own."""
    bits = max(member.slot * member.num for member in members)
    if limit is not None and bits > limit:
        raise TLXError(f"the members need {bits // 8} bytes, buffer_size_bytes allows {limit // 8}")
    return Arrangement(tuple((member, SlotMap()) for member in members), bits if limit is None else limit)
