"""Triton's semantic layer over numpy values, with the TLX primitives that ``tlx``'s builtins call on it."""

from __future__ import annotations

from typing import Any

from triton.language.semantic import TritonSemantic

from .builder import SimBuilder
from .observer import Observer
from .task_ops import TaskOps


class SimSemantic(TaskOps, TritonSemantic):  # type: ignore[misc]
    """One per process: builtins are bound to it while a simulation runs."""

    #: told what builtins return
    observer: Observer | None = None

    #: tlx's builtins refuse a semantic layer without this
    is_tlx = True

    def __init__(self) -> None:
        TritonSemantic.__init__(self, SimBuilder())

    def to_tensor(self, value: Any, check_type: bool = True) -> Any:
        """Triton's own, which the mixins cannot see."""
        return TritonSemantic.to_tensor(self, value, check_type)

    def _has_native_tma(self) -> bool:
        """The chip that is simulated has a TMA. Triton would ask the driver, and there may be none."""
        return True
