"""PROFILE: where a program's GPU time goes, kernel by kernel, and what converting would save."""

from __future__ import annotations

from dataclasses import dataclass

from .launches import KernelId


@dataclass(frozen=True, slots=True)
class Fallback:
    """Launches that would run the original although the kernel is converted."""

    code: str
    #: The launcher's sentence.
    reason: str
    #: What to change; None where another allocation does not help.
    advice: str | None
    shapes: str
    launches: int
    microseconds: float | None


@dataclass(frozen=True, slots=True)
class Profile:
    """One kernel of the program. Times in microseconds of GPU time; None where none were sampled."""

    kernel: KernelId
    launches: int
    #: Kinds of launches: shapes, element types, configs.
    kinds: int
    microseconds: float | None
    #: Of the time of all kernels.
    share: float | None
    #: Floor over time, of the launches for which both are known.
    floor_share: float | None
    #: What converting is predicted to save; None where nothing can be said.
    saving: float | None
    #: "converted", or why not: a code and a sentence.
    state: str
    fallbacks: tuple[Fallback, ...] = ()
