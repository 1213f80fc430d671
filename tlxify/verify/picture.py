"""The timeline of a conversion: one CTA of a launch with tiles of real size. Only called in a child process."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..conversion import Conversion
from .buffers import Inapplicable, make_arguments
from .dispatch import resolve
from .loading import load
from .sizing import full_size_case

#: Trips of the dot loop: enough for the ring to fill, turn around and drain.
TRIPS = 8


def draw(conversion: Conversion, file: str) -> str:
    """Draws the first config that the launcher specializes.

    Args:
        conversion: its module is imported and run here.
        file: an .html or .svg file.

    Returns:
        What was drawn, or why nothing was.

    Raises:
        ValueError, OSError: the file's name has another ending, or it cannot be written.
    """
    import tlx.sim

    np.seterr(all="ignore")  # as in a simulation: kernels compute with infinities on purpose
    loaded = load(conversion)
    reason = "the contract has no config"
    for index in range(len(conversion.contract.configs)):
        case = full_size_case(conversion.contract, index, tiles=1, trips=TRIPS)
        try:
            arguments = make_arguments(conversion.contract, case, 0)
        except Inapplicable as unmade:
            reason = str(unmade)
            continue
        tensors: dict[str, Any] = {name: tlx.sim.tensor(memory.array) for name, memory in arguments.tensors.items()}
        dispatch = resolve(loaded, case, arguments, tensors)
        if dispatch.path == "specialized" and dispatch.grid != ():
            tlx.sim.draw(file, dispatch.kernel, dispatch.grid, (), dict(dispatch.kwargs))
            return f"{conversion.kernel}, config {index}, {TRIPS} trips: {file}"
        reason = f"no config is specialized ({dispatch.text})"
    return f"no timeline of {conversion.kernel}: {reason}"
