"""What is remembered of launches, so that the next alike is recognised at a glance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .describe import Describe
from .recorder import Kernel, Recorder


class Seen:
    """What the threads of one process have seen of one compiled or converted kernel: slots by thread and key."""

    __slots__ = ("describe", "forms", "generation", "kernel", "key", "options", "threads")

    def __init__(self, recorder: Recorder, kernel: Kernel | None) -> None:
        self.generation = recorder.generation
        #: None for a kernel that is not recorded.
        self.kernel = kernel
        self.threads = recorder.table()
        #: Of a compiled kernel: which of its arguments tell launches apart; options it was built with.
        self.key: Callable[[tuple[Any, ...]], Any] = tuple
        self.options: dict[str, Any] = {}
        #: Of a converted kernel: how to describe a call, by its form.
        self.forms: dict[Any, Describe] = {}
        self.describe: Describe = _unknown


def _unknown(args: tuple[Any, ...], kwargs: Mapping[str, Any], grid: Any) -> tuple[Any, ...]:
    raise KeyError
