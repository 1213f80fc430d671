"""A CPU simulator for Triton and TLX kernels: it computes what they compute and finds races and deadlocks.

report = tlx.sim.run(kernel, grid, (a_desc, b_desc, c, M, N, K), dict(BLOCK_M=64, STAGES=3), schedule=7)
report.raise_for_findings()
"""

from __future__ import annotations

from .costs import CHIPS, Chip
from .draw import draw, write_picture
from .explore import Exploration, explore
from .findings import KINDS, Finding
from .minimize import minimize
from .observer import Observer
from .patches import installed as session
from .recording import Recording
from .report import AssumptionError, EndlessError, FindingsError, Report, SimulationError
from .run import run
from .schedules import Picker, Schedule, Seeded
from .sites import Site
from .tensors import SimTensor, tensor
from .timeline import Timeline, timeline
from .trace import Trace, Tracer

__all__ = [
    "CHIPS",
    "KINDS",
    "AssumptionError",
    "Chip",
    "EndlessError",
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
    "Timeline",
    "Trace",
    "Tracer",
    "draw",
    "explore",
    "minimize",
    "run",
    "session",
    "tensor",
    "timeline",
    "write_picture",
]
