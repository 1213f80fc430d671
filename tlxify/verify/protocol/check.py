"""The protocol check: text and worlds in, evidence out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from ...source import SourceFile
from ...verdict import Evidence, Rung
from .feeding import Fed, fed
from .flaw import Flaw, Flawed
from .follow import Follower
from .game import Score, play
from .module import Module
from .outcomes import both_ways
from .static import check_bytes, check_shared_memory, check_tasks
from .values import Misuse, NotProved
from .world import World

#: Worlds with a flaw after which no more are tried.
ENOUGH = 24
#: Flags of which all combinations are tried.
_FLAGS = 4
#: How often a world is followed anew at most, until no length turns up that was compared before it was known.
_TURNS = 3


def check_protocol(
    text: str,
    file: str,
    worlds: Iterable[World],
    kernel: str | None = None,
    budgets: bool = True,
    progress: Callable[[str], None] | None = None,
) -> tuple[Evidence, ...]:
    """Evidence that the barrier protocol of a warp-specialized kernel is sound, or what is wrong with it.

    Args:
        text: a module, emitted or written by hand. Only its syntax is read; nothing is imported or run.
        file: the path that findings show.
        worlds: the launches to follow it through (`worlds_of` makes them from a contract).
        kernel: name of the function; the only one with an `async_tasks` region if left out.
        budgets: whether shared memory and registers count; not if the worlds' ring depths are mere guesses.
        progress: called with a line per world.

    Returns:
        One piece of positive evidence, or findings, at most one per kind and line. Code "not-proved" means that the
        check does not understand the text, not that it is wrong.
    """
    source = SourceFile(file, text)
    try:
        module = Module.parse(text, file)
    except SyntaxError as error:
        return (_evidence(source, Flaw("not-proved", error.lineno or 1, f"the text does not parse: {error.msg}"), ""),)
    names = module.specialized_kernels() if kernel is None else (kernel,) if kernel in module.functions else ()
    if len(names) != 1:
        what = f"no function {kernel}" if kernel else f"{len(names)} functions with a region of tasks"
        return (_evidence(source, Flaw("not-proved", 1, f"{what} in the text"), ""),)

    flaws: dict[tuple[str, int], tuple[Flaw, str]] = {}
    phases = fills = in_place = through = count = shared = flawed_worlds = 0
    decided: dict[tuple[int, str], bool] = {}
    for world in both_ways(_with_flags(module, names[0], worlds), decided):
        count += 1
        if progress is not None:
            progress(f"protocol: {world.label}")
        found: list[Flaw] = []
        try:
            score, dots, taken = _follow(module, names[0], world, budgets, found, decided)
        except Flawed as flawed:
            found.append(flawed.flaw)
        if found:
            for flaw in found:
                flaws.setdefault((flaw.code, flaw.line), (flaw, world.label))
            flawed_worlds += 1
            if flawed_worlds >= ENOUGH:
                break
            continue
        phases, fills, shared = phases + score.phases, fills + score.fills, max(shared, taken)
        in_place, through = in_place + dots.in_place, through + dots.through_registers
    if not flaws and not (fills and in_place + through):
        line = module.functions[names[0]].lineno
        missing = "no load fills a ring" if not fills else "no dot multiplies what loads bring"
        flaws[("not-specialized", line)] = (Flaw("not-specialized", line, f"{missing} in any launch tried"), "")
    if flaws:
        return tuple(_evidence(source, flaw, label) for flaw, label in flaws.values())
    ordered = f"{fills} loads and {in_place} dots" if in_place else f"{fills} loads"
    text = f"{count} launches, {phases} barrier phases, {ordered} ordered in every schedule"
    text += f"; {through} dots multiply what passed through registers" if through else ""
    text += f"; at most {shared} bytes of shared memory" if budgets else ""
    return (Evidence(Rung.PROTOCOL, True, "protocol", text),)


def _with_flags(module: Module, kernel: str, worlds: Iterable[World]) -> Iterator[World]:
    """The worlds, with every combination of the compile-time flags that they leave open dealt out in turn."""
    known = module.flags(kernel)
    for number, world in enumerate(worlds):
        flags = [name for name in known if name not in world.values][:_FLAGS]
        turn = number + number // 4  # worlds come in fours of one trip count
        values = {name: bool(turn >> bit & 1) for bit, name in enumerate(flags)}
        yield replace(world, values={**world.values, **values}) if flags else world


def _follow(
    module: Module,
    kernel: str,
    world: World,
    budgets: bool,
    found: list[Flaw],
    decided: dict[tuple[int, str], bool],
) -> tuple[Score, Fed, int]:
    """Follows and plays one world: the score, the dots that loads feed and the bytes of shared memory.

    Raises Flawed, after adding to `found`. `decided` becomes what conditions came to that only memory knows.
    """
    decided.clear()
    follower = Follower(module, world)
    try:
        trace = follower.run(kernel)
        # A task may have compared a length before a loop showed it to be one: once more, with what lengths then were.
        for _ in range(_TURNS):
            numbers = follower.numbers
            if not numbers or numbers == follower.given:
                break
            follower = Follower(module, world, numbers)
            trace = follower.run(kernel)
    except NotProved as reason:
        raise Flawed("not-proved", reason.line, reason.text) from None
    except Misuse as misuse:
        raise Flawed(misuse.code, misuse.line, misuse.text) from None
    except RecursionError:
        raise Flawed("not-proved", module.functions[kernel].lineno, "the text nests too deep to follow") from None
    found += follower.flaws
    decided.update(follower.decided)
    shared = 0
    if budgets:
        shared = check_shared_memory(follower.buffers, follower.barriers)
        check_tasks(trace)
    check_bytes(trace)
    return play(trace), fed(trace), shared


def _evidence(source: SourceFile, flaw: Flaw, label: str) -> Evidence:
    detail = [f"{source.path}:{flaw.line}: {source.line(flaw.line).strip()}"]
    if flaw.other_line:
        detail.append(f"{source.path}:{flaw.other_line}: {source.line(flaw.other_line).strip()}")
    if label:
        detail.append(f"seen with {label}")
    return Evidence(Rung.PROTOCOL, False, flaw.code, flaw.text, "\n".join(detail), source.path, flaw.line)
