"""One call from a launch to the file with its picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .costs import Chip, chip
from .picture import to_html, to_svg
from .report import Report, SimulationError
from .run import run, unwrap_kernel
from .schedules import Schedule, replay_text
from .timeline import Timeline, timeline
from .trace import Tracer


def write_picture(file: str | Path, drawn: Timeline, title: str, schedule: Schedule = "late") -> None:
    """Writes a timeline as the file's name says.

    Raises:
        ValueError: the name ends in neither ``.html`` nor ``.svg``.
        OSError: it cannot be written.
    """
    writers = {".html": to_html, ".svg": to_svg}
    suffix = Path(file).suffix.lower()
    if suffix not in writers:
        raise ValueError(f"a picture is an .html or an .svg file, not {str(file)!r}")
    Path(file).write_text(writers[suffix](drawn, title, replay_text(schedule)), encoding="utf-8")


def draw(
    file: str | Path,
    kernel: Any,
    grid: Sequence[int] | Callable[[dict[str, Any]], Sequence[int]],
    args: Sequence[Any] = (),
    kwargs: dict[str, Any] | None = None,
    *,
    schedule: Schedule = "late",
    program: tuple[int, int, int] | None = None,
    target: str | Chip = "hopper",
    from_device: bool = False,
    **options: Any,
) -> Report:
    """Simulates one CTA of a launch and writes its timeline; tiles of real size give a picture that means something.

    Args:
        file: an ``.html`` or ``.svg`` file.
        kernel, grid, args, kwargs, schedule: as for ``run``.
        program: which CTA; the first by default.
        target: the cost model, or its name.
        from_device: copies come from device memory with all SMs reading, not from L2.
        options: what else ``run`` takes.

    Raises:
        SimulationError: as ``run``, or there is no such CTA.
        ValueError: the file's name has another ending, or there is no such cost model.
    """
    model = chip(target) if isinstance(target, str) else target
    tracer = Tracer()
    only = (lambda programs: [program]) if program is not None else None
    report = run(kernel, grid, args, kwargs, schedule=schedule, order=only, max_ctas=1, observer=tracer, **options)
    if not tracer.traces:
        raise SimulationError("the launch has no CTA to draw")
    write_picture(file, timeline(tracer.traces[0], model, from_device), unwrap_kernel(kernel).fn.__name__, schedule)
    return report
