"""What the rungs need, and whether it is here. Nothing is imported to find out."""

from __future__ import annotations

import importlib.util
import sys

#: Modules that simulating and compiling need.
SIMULATOR = ("triton", "numpy", "ml_dtypes", "greenlet", "hypothesis")


def missing_for_simulation() -> str | None:
    """Why nothing can be simulated or compiled here, with the diagnostic's code, or None."""
    if not sys.platform.startswith("linux"):
        return f"TLX602 verification beyond the protocol needs Triton on Linux; this is {sys.platform}"
    absent = [name for name in SIMULATOR if importlib.util.find_spec(name) is None]
    if absent:
        return f"TLX602 verification beyond the protocol needs {', '.join(absent)}: pip install 'tlxify[cpu]'"
    return None


def missing_for_gpu() -> str | None:
    """Why nothing can be run on a GPU, as far as can be told without touching one."""
    if importlib.util.find_spec("torch") is None:
        return "TLX605 no launch on a GPU: torch is not installed"
    return None
