"""Which kernel a launch would run: asks the launcher, and checks the answer against what the case demands."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from .buffers import Arguments
from .cases import Case
from .described import passed
from .loading import Loaded
from .oracle import as_constexpr

#: SMs of the device that the launcher is told of: so few that programs fetch more than one tile.
PROCESSORS = 2
#: Reasons that lie in a config: no launch could specialize it, and leaving it to the original is right.
STRUCTURAL = ("rows", "box", "shared-memory", "registers")
#: The reason of a launch that contradicts what an option of its own says of its sizes.
CLAIM = "claim"


@contextlib.contextmanager
def small_tiles_allowed() -> Iterator[None]:
    """Lets the launcher split tiles that wgmma could not multiply: the simulator can, and is quicker with them."""
    from tlx.launch import tuning

    rows, tuning.WGMMA_ROWS = tuning.WGMMA_ROWS, 16
    try:
        yield
    finally:
        tuning.WGMMA_ROWS = rows


def resolve(loaded: Loaded, case: Case, arguments: Arguments, tensors: Mapping[str, Any]) -> Any:
    """The launcher's `Dispatch` for these arguments; `tensors` are what stands for memory."""
    contract = loaded.conversion.contract
    config = case.launch_config(contract)
    names = contract.parameters
    held = passed(contract.tensors, tensors, {**arguments.scalars, **arguments.constants})
    given = {name: held.get(name, as_constexpr(arguments.scalars.get(name))) for name in names}
    given = {name: value for name, value in given.items() if name not in arguments.constants}
    given |= {name: value for name, value in arguments.constants.items() if name not in contract.tuned}
    chosen = {**dict(config.values), "num_warps": config.num_warps, "num_stages": config.num_stages}
    with small_tiles_allowed() if case.tiles else contextlib.nullcontext():
        return loaded.bound.resolve(grid=arguments.grid, config=chosen, processors=PROCESSORS, **given)


def viewed(tensors: Mapping[str, Any], dispatch: Any) -> frozenset[str]:
    """Tensors that a specialized launch reads through descriptors."""
    addresses = {tensor.data_ptr(): name for name, tensor in tensors.items()}
    bases = [value.base for value in dispatch.kwargs.values() if hasattr(value, "block_shape")]
    return frozenset(addresses[base.data_ptr()] for base in bases if base.data_ptr() in addresses)


def misdirected(
    case: Case, arguments: Arguments, dispatch: Any, through_views: frozenset[str], converted: Any
) -> str | None:
    """Why the dispatch is not what the case demands, or None.

    `through_views` names the tensors that the specialized kernel reads through descriptors on ordinary input, and
    `converted` is that kernel.
    """
    if dispatch.path == "specialized" and dispatch.kernel is not converted:
        return "another kernel than the specialized one would run under its name"
    wanted = case.path
    if wanted == "claimed" and dispatch.code == CLAIM:
        return None
    if wanted == "claimed":
        wanted = "specialized"
    if wanted == "specialized" and (not arguments.faithful or dispatch.code in STRUCTURAL):
        return None
    if wanted == "view":
        troubled = {name for name, layout in case.layouts if layout == "odd"}
        if case.overlaps:
            troubled |= {next(iter(arguments.tensors))}
        if not troubled & through_views:
            return None
        wanted = "original"
    if wanted in ("any", dispatch.path) or (wanted == "original" and dispatch.grid == ()):
        return None
    reason = f" ({dispatch.code}: {dispatch.text})" if dispatch.code else ""
    return f"the {dispatch.path} kernel would run{reason}, not the {wanted} one"
