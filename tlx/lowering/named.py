"""Named barriers that cannot work with the threads that use them.

A named barrier counts threads, whoever they are. So an arrival that names its own task's threads alone is over at
once and releases nobody, and a count that the tasks cannot make up is never reached.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from . import irtext
from .expectations import reachable
from .irtext import Op, Places

_USE = re.compile(r'"mov\.u32 \$0, 0; bar\.(sync|arrive) (\d+), (\d+);"')
_WARPS, _DEFAULT = re.compile(r"num_warps\((\d+)\)"), re.compile(r'"ttg\.num-warps" = (\d+)')


@dataclass(frozen=True, slots=True)
class Use:
    """One wait or arrival."""

    op: Op
    waits: bool
    threads: int
    #: the task, None for the kernel's own warps
    task: Op | None
    #: its threads
    own: int


def _uses(text: str) -> dict[int, list[Use]]:
    default = _DEFAULT.search(text)
    found: dict[int, list[Use]] = defaultdict(list)
    shared: set[int] = set()
    for op in irtext.parsed(text):
        use = _USE.search(op.text) if isinstance(op, Op) else None
        if not isinstance(op, Op) or use is None:
            continue
        if any(parent.code == "tt.func" and " private " in parent.text for parent in op.parents):
            shared.add(int(use[2]))  # a helper that is called: who calls it, and how many they are, is not told here
            continue
        tasks = [parent for parent in op.parents if parent.code == "partition" and _WARPS.search(parent.text)]
        warps = _WARPS.search(tasks[-1].text) if tasks else default
        if warps is not None:
            task = tasks[-1] if tasks else None
            found[int(use[2])].append(Use(op, use[1] == "sync", int(use[3]), task, 32 * int(warps[1])))
    return {number: uses for number, uses in found.items() if number not in shared}


def _wrong(uses: Sequence[Use], number: int, places: Places) -> tuple[Use, str] | None:
    waits = [use for use in uses if use.waits]
    for use in uses:
        if not use.waits and use.threads == use.own and waits and all(wait.task is not use.task for wait in waits):
            other = waits[0]
            return use, (
                f"named barrier {number}: this arrival names {use.threads} threads, which are this task's own, so that "
                f"it is over at once and the wait at {places.of(other.op)} is not for it: both must give the threads "
                f"of both, {use.own + other.own}"
            )
    sizes = {use.task: use.own for use in uses}
    threads, every = uses[0].threads, sum(sizes.values())
    alone = not any(not use.waits for use in uses) and every < threads
    if alone or not reachable(threads, set(sizes.values())):
        each = " + ".join(map(str, sizes.values()))
        return uses[0], (
            f"named barrier {number} is for {threads} threads, but those of the tasks that use it are {each}: it would "
            "never let anyone go; name the threads of all that take part"
        )
    return None


def check(text: str) -> None:
    """Refuses a printed module with such a barrier.

    Raises:
        TLXError: at the arrival or wait.
    """
    if "bar.sync " not in text and "bar.arrive " not in text:
        return
    places = Places(text)
    for number, uses in sorted(_uses(text).items()):
        if wrong := _wrong(uses, number, places):
            raise irtext.refuse(places.of(wrong[0].op), wrong[1])
