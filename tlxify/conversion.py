"""CONVERSION: a converted kernel as it reaches verification."""

from __future__ import annotations

from dataclasses import dataclass

from .contract import Contract


@dataclass(frozen=True, slots=True)
class Version:
    """How a second version of a kernel is launched beside the first: as it is written, with no launcher in between."""

    #: Each parameter of the second version with what it gets: an expression over the names of the contract, a literal,
    #: or `descriptor(a_ptr, [BLOCK_M, BLOCK_K])`.
    arguments: tuple[tuple[str, str], ...]
    #: One expression per axis of its grid.
    grid: tuple[str, ...]
    #: It uses TLX: every order of asynchronous work is tried, and its barriers are checked.
    uses_tlx: bool


@dataclass(frozen=True, slots=True)
class Conversion:
    """One kernel and its specialized twin, cut out into a module of their own; or two versions of a kernel."""

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
    #: The source kernel's own module, where `module_text` does not hold it, and the path that findings show for it.
    source_text: str = ""
    source_file: str = ""
    #: The function in `module_text` that binds a source kernel of another module.
    specialize: str = ""
    #: For two versions of a kernel: `module_text`, `file` and `converted` are the second one's.
    version: Version | None = None
    #: The conversion is plain Triton that loads through descriptors: no roles, no barriers.
    plain: bool = False
    #: The words of the command that verifies it again: what a finding tells people to type.
    command: tuple[str, ...] = ()
    #: That command's option for the one launch that is to be repeated.
    replaying: str = "--replay"
