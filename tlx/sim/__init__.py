"""A CPU simulator for Triton and TLX kernels: it computes what they compute and finds races and deadlocks.

report = tlx.sim.run(kernel, grid, (a_desc, b_desc, c, M, N, K), dict(BLOCK_M=64, STAGES=3), schedule=7)
report.raise_for_findings()
"""

from __future__ import annotations

from .explore import Exploration, explore
from .findings import KINDS, Finding
from .observer import Observer
from .patches import installed as session
from .recording import Recording
from .report import FindingsError, Report, SimulationError
from .run import run
from .schedules import Picker, Schedule, Seeded
from .sites import Site
from .tensors import SimTensor, tensor

__all__ = [
    "KINDS",
    "Exploration",
    "Finding",
    "FindingsError",
    "Observer",
    "Picker",
    "Recording",
    "Report",
    "Schedule",
    "Seeded",
    "SimTensor",
    "SimulationError",
    "Site",
    "explore",
    "run",
    "session",
    "tensor",
]
