"""The timeline as a picture: an SVG, or one HTML page around it that needs nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jinja2

from .findings import Finding
from .sites import NOWHERE
from .timeline import Bar, Share, Timeline, reason_of
from .trace import Act, Lane

#: geometry, in pixels; the plot is as wide as this until a reader zooms
LABELS = 224
PLOT = 946
#: room to the right of the last bar, for the flag of a finding
MARGIN = 14
ROW = 40
TOP = 44

#: kind of act → (style class, what a reader calls it)
KINDS = {
    "TMA load": ("load", "TMA load"),
    "TMA store": ("store", "TMA store"),
    "cp.async": ("load", "asynchronous copy"),
    "async_dot": ("dot", "dot"),
    "compute": ("compute", "arithmetic and its memory accesses"),
    "wait": ("wait", "wait"),
    "stuck": ("stuck", "waits for ever"),
    "issue": ("issue", "issue"),
    "arrive": ("arrive", "hand-over"),
}
#: style class → its entry in the legend, in this order
LEGEND = {
    "load": "load",
    "store": "store",
    "dot": "dot",
    "compute": "arithmetic and its memory accesses",
    "wait loads": "waits for loads",
    "wait stores": "waits for stores",
    "wait dots": "waits for dots",
    "wait tasks": "waits for other tasks",
    "stuck": "waits for ever",
}


@dataclass(frozen=True, slots=True)
class Box:
    """A bar with its place."""

    id: int
    row: int
    x: float
    width: float
    #: where its lead begins: the issue of an operation
    lead: float
    style: str
    #: what is written into it, from the most telling to the shortest; the first that fits is
    labels: tuple[str, ...]
    #: what a reader is told who asks for it
    text: str
    shade: int

    @property
    def written(self) -> str:
        """The label that fits at the width it has; may be empty."""
        return next((label for label in self.labels if len(label) * 5.6 + 8 <= self.width), "")


def _labels(label: str) -> tuple[str, ...]:
    """A label and shorter forms of it: the first operand, and its slot."""
    first = label.split(" × ")[0]
    slot = first[first.rindex("[") :] if first.endswith("]") else first
    return tuple(dict.fromkeys((label, first, slot)))


@dataclass(frozen=True, slots=True)
class Arrow:
    """A hand-over: from the end of one bar to the end of the wait that it ends."""

    source: int
    target: int
    x1: float
    row1: int
    x2: float
    row2: int


@dataclass(frozen=True, slots=True)
class Row:
    """A lane with what is written beside it."""

    name: str
    note: str
    share: Share
    #: 0 for a unit
    warps: int


@dataclass(frozen=True, slots=True)
class Flag:
    """A finding and the bar at which it was noticed."""

    number: int
    x: float
    #: where its number stands: beside the one before it if they would overlap
    head: float
    row: int
    box: int
    finding: Finding


@cache
def _templates() -> jinja2.Environment:
    loader = jinja2.FileSystemLoader(Path(__file__).parent / "templates")
    return jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)


def _span(nanoseconds: float) -> str:
    return f"{nanoseconds / 1000:.2f} µs" if nanoseconds >= 1000 else f"{nanoseconds:.0f} ns"


def _ticks(end: float) -> list[float]:
    """About eight round times."""
    raw = max(end, 1.0) / 8
    size = 10.0 ** len(str(int(raw))) / 10
    step = next(m * size for m in (1, 2, 2.5, 5, 10) if m * size >= raw)
    return [i * step for i in range(int(end / step) + 1)]


class Drawing:
    """What the templates are given."""

    def __init__(self, timeline: Timeline, title: str, schedule: str) -> None:
        self.timeline = timeline
        self.title = title
        self.schedule = schedule
        self.scale = PLOT / (timeline.end or 1.0)
        #: lanes shown: a kernel that only waits for its tasks is left out; tasks first, then units
        shown = [index for index, lane in enumerate(timeline.trace.lanes) if self._is_shown(index, lane)]
        shown.sort(key=lambda index: timeline.trace.lanes[index].warps == 0)
        self.rows = {lane: row for row, lane in enumerate(shown)}
        self.lanes = [self._row(index, timeline.trace.lanes[index], timeline.shares[index]) for index in shown]
        #: who issues operations, told apart by their shade
        self.owners = sorted({act.owner for act in timeline.trace.acts if act.owner is not None})
        self.height = TOP + ROW * len(shown) + 8
        self.boxes = [box for bar in timeline.bars if (box := self._box(bar)) is not None]
        drawn = {box.id: box for box in self.boxes}
        self.arrows = [arrow for bar in timeline.bars if (arrow := self._arrow(bar, drawn)) is not None]
        self.flags = self._flags(drawn)
        self.ticks = [(time, time * self.scale, _span(time)) for time in _ticks(timeline.end)]
        used = {box.style for box in self.boxes}
        self.legend = [(style, name) for style, name in LEGEND.items() if style in used]

    def _is_shown(self, index: int, lane: Lane) -> bool:
        return lane.warps == 0 or self.timeline.shares[index].busy > 0

    def _role(self, index: int) -> str:
        kinds = {act.kind for act in self.timeline.trace.acts if act.owner == index}
        roles = [role for kind, role in (("TMA load", "producer"), ("async_dot", "consumer")) if kind in kinds]
        return " and ".join(roles) or "task"

    def _row(self, index: int, lane: Lane, share: Share) -> Row:
        if not lane.warps:
            return Row(lane.name, f"busy {share.busy:.0%}", share, 0)
        waits = [f" · waits {part:.0%} for {name}" for name, part in share.reasons if part >= 0.005]
        return Row(lane.name, self._role(index) + "".join(waits[:1]), share, lane.warps)

    def _box(self, bar: Bar) -> Box | None:
        act = self.timeline.trace.acts[bar.act]
        if act.lane not in self.rows or (bar.length <= 0 and act.kind != "stuck"):
            return None
        style, what = KINDS.get(act.kind, ("compute", act.kind))
        if style == "wait":
            style += " " + reason_of(self.timeline.trace, bar).rpartition(" ")[2]
        start = bar.begin * self.scale
        width = max(bar.length * self.scale, 0.75)
        lines = [f"{what}: {act.label}", self._when(bar, act)]
        if act.site is not NOWHERE:
            lines.append(f"line {act.site.line}: {act.site.text}")
        shade = 0 if act.owner is None else self.owners.index(act.owner) % 2
        labels = _labels(act.label) if style in ("load", "store", "dot", "stuck") else ()
        lead = bar.ready * self.scale
        return Box(bar.act, self.rows[act.lane], start, width, lead, style, labels, "\n".join(lines), shade)

    def _when(self, bar: Bar, act: Act) -> str:
        times = f"{_span(bar.begin)} to {_span(bar.end)}, {_span(bar.length)}"
        if act.owner is not None:
            issuer = self.timeline.trace.lanes[act.owner].name
            times += f"; issued by {issuer} at {_span(bar.ready)}"
        elif bar.after is not None:
            cause = self.timeline.trace.acts[bar.after]
            times += f"; ended by: {cause.kind} {cause.label} (line {cause.site.line})"
        return times

    def _arrow(self, bar: Bar, drawn: dict[int, Box]) -> Arrow | None:
        act = self.timeline.trace.acts[bar.act]
        if act.kind != "wait" or bar.after is None:
            return None
        source = self.timeline.bars[bar.after]
        lane = self.timeline.trace.acts[bar.after].lane
        if lane not in self.rows or act.lane not in self.rows or bar.act not in drawn or bar.after not in drawn:
            return None
        return Arrow(
            bar.after, bar.act, source.end * self.scale, self.rows[lane], bar.end * self.scale, self.rows[act.lane]
        )

    def _flags(self, drawn: dict[int, Box]) -> list[Flag]:
        flags: list[Flag] = []
        heads: dict[int, float] = {}
        for number, mark in enumerate(self.timeline.marks, 1):
            act, bar = self.timeline.trace.acts[mark.act], self.timeline.bars[mark.act]
            row = self.rows.get(act.lane, 0)
            box = mark.act if mark.act in drawn else -1
            x = bar.begin * self.scale
            heads[row] = max(x, heads.get(row, 0.0) + 20)
            flags.append(Flag(number, x, heads[row], row, box, mark.finding))
        return flags

    def legend_at(self) -> list[tuple[str, str, float]]:
        """The legend with the place of each entry, for pictures that do not flow."""
        placed, x = [], 0.0
        for style, name in self.legend:
            placed.append((style, name, x))
            x += 40 + 6.0 * len(name)
        return placed

    def render(self, template: str) -> str:
        """The text of one of the templates."""
        geometry = {"LABELS": LABELS, "PLOT": PLOT, "ROW": ROW, "TOP": TOP, "MARGIN": MARGIN}
        page = _templates().get_template(template)
        return str(page.render(drawing=self, timeline=self.timeline, **geometry))


def to_svg(timeline: Timeline, title: str, schedule: str = "late") -> str:
    """The picture alone, as an SVG file."""
    return Drawing(timeline, title, schedule).render("timeline.svg.j2")


def to_html(timeline: Timeline, title: str, schedule: str = "late") -> str:
    """A self-contained page: the picture, what each bar is, zoom, and the findings with their lines.

    Args:
        timeline: what to draw.
        title: the kernel's name, and what else tells runs apart.
        schedule: the schedule that was simulated, as findings name it.
    """
    return Drawing(timeline, title, schedule).render("timeline.html.j2")
