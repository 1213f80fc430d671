"""Names that a converted kernel reads from other files, where a helper of those files is written out in it.

What: import lines for one kernel.
Why: in the user's file such a name may be missing, and it must not take the place of one that is there.
Before: `acc = ops.multiply(acc, x_ptrs)`, where `multiply` reads `SCALE` of its own file.
After: `from package.ops import SCALE`, above the converted kernel.
When refused: never; the names were chosen when the helper was written out.
"""

from __future__ import annotations

import os
from pathlib import Path

from ..model import Alias, Constant, Helper, Kernel, Module
from ..slice import import_line
from ..source import above_packages


def borrowed(kernel: Kernel) -> list[str]:
    """Lines that bind what the converted kernel needs besides the names of the user's file, sorted."""
    if kernel.written is None:
        return []
    known, lines = kernel.written.module.imported, []
    for name, meaning in kernel.module.imported.items():
        if name in known:
            continue
        match meaning:
            case Alias(canonical=canonical):
                lines.append(import_line(name, canonical))
            case Helper(name=defined, module=home) | Constant(name=defined, module=home):
                if home.source.path == kernel.module.source.path:
                    lines.append(f"{name} = {defined}")
                    continue
                lines.append(import_line(name, f"{_module_name(kernel.module, home)}.{defined}"))
    return sorted(lines)


def _module_name(user: Module, home: Module) -> str:
    """How a file is imported, counted from above the outermost package of the user's file."""
    root = above_packages(user.source.path)
    parts = Path(os.path.abspath(home.source.path)).relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
