"""Launching converted kernels where the originals lived.

    matmul_kernel = tlx.specialized(matmul_kernel, _matmul_kernel_ws, guard=..., boxes=..., schedule=..., ...)

keeps every launch site as it is. A launch goes: proxy (the object the name is bound to) → dispatcher (which kernel?) →
keys (seen before?), guard and chip (may it?) → stack (the user's own tuner and heuristics, rebuilt) → adapter (tuning:
config → rings; policy: is it wanted? prepare: arguments and grid) → the converted kernel; or, at any step, → the
original. From the third launch of one description on, a route leads from the keys straight to the compiled kernel of
either (routes, express).
What wants both kernels to run, to compare or to time them, takes the place of a route (chooser, shadow, timing).
"""

from tlx.launch.dispatcher import StaleKernelError
from tlx.launch.fingerprint import fingerprint_of
from tlx.launch.guard import (
    TO_END,
    CopiedRows,
    Fallback,
    Memory,
    TmaView,
    copied_rows,
    memory,
    require,
    require_along_depth,
    require_block,
    require_disjoint,
    require_dtypes,
    require_starts,
    tma_view,
)
from tlx.launch.policy import policy
from tlx.launch.proxy import Specialized, specialized
from tlx.launch.schedule import Box, Dispatch, RingPlan, Schedule
from tlx.launch.stats import KernelStats, stats

__all__ = [
    "TO_END",
    "Box",
    "CopiedRows",
    "Dispatch",
    "Fallback",
    "KernelStats",
    "Memory",
    "RingPlan",
    "Schedule",
    "Specialized",
    "StaleKernelError",
    "TmaView",
    "copied_rows",
    "fingerprint_of",
    "memory",
    "policy",
    "require",
    "require_along_depth",
    "require_block",
    "require_disjoint",
    "require_dtypes",
    "require_starts",
    "specialized",
    "stats",
    "tma_view",
]
