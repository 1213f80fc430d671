"""CONVERSION: a converted kernel as it reaches verification."""

from __future__ import annotations

from dataclasses import dataclass

from .contract import Contract


@dataclass(frozen=True, slots=True)
class Conversion:
    """One kernel and its specialized twin, cut out into a module of their own."""

    #: Name of the source kernel; the module binds it to the `tlx.specialized` object.
    kernel: str
    contract: Contract
    #: An importable module: the source kernel (plain `triton.jit`), helpers, constants, the specialized kernel, its
    #: guard and boxes, and last `kernel = tlx.specialized(...)`.
    module_text: str
    #: Path that findings show; it is never opened.
    file: str
    #: Name of the specialized kernel in `module_text`; may be left out where the module has only one.
    converted: str | None = None
