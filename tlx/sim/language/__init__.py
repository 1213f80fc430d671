"""TLX's names as the simulator reads them.

Compiling a name and simulating it are two things: the simulator knows clusters and Blackwell whatever the compiler of
the day can lower. The functions here have the signatures of Meta's TLX and stand in for those of ``tlx`` while a
simulation runs. A name that is not here means what ``tlx`` itself makes of it: its builtins check their arguments and
call the semantic layer, which is the simulator's then.
"""

from __future__ import annotations

from typing import Any

from ..aliases import AliasSpec, ReuseGroup
from ..clc_ops import ClcContext
from . import barriers, buffers, clc, clusters, copies, descriptors, dots, tasks, utility
from .register import NAMES

#: classes that kernels name
CLASSES: dict[str, Any] = {
    "CLCPipelineContext": ClcContext,
    "reuse_group": ReuseGroup,
    "reuse_group_type": buffers.ReuseKind,
    "storage_alias_spec_type_class": AliasSpec,
}

FAMILIES = (barriers, buffers, clc, clusters, copies, descriptors, dots, tasks, utility)

#: name → function
FUNCTIONS: dict[str, Any] = NAMES

__all__ = ["CLASSES", "FAMILIES", "FUNCTIONS"]
