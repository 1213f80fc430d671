"""`python -m tlxify.hook FILE...`: what a pre-commit hook runs over the files of a commit.

Most of them hold no conversion, and those are passed over. Of the others, and of sources whose conversion lies beside
them, it is proved that the conversion is still that of its source and that its barriers are sound: `tlxify verify
--upto protocol`, which needs no Triton. Prints and exits as that command does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from .cli import main
from .rewrites import blocks
from .standing import SIDECAR, recorded


def conversions(paths: Iterable[str]) -> list[str]:
    """The files that hold conversions or lead to one, each conversion once; what cannot be read is left to others."""
    found: dict[Path, str] = {}
    for name in paths:
        path = Path(name)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        if (bound := SIDECAR.search(text)) is not None:
            # Where both are in the commit the source is named: it leads to its sidecar.
            found[path.with_name(f"{bound[1]}.py")] = name
        elif blocks.is_generated(text) or recorded(text):
            found.setdefault(path, name)
    return list(found.values())


if __name__ == "__main__":
    if chosen := conversions(sys.argv[1:]):
        main(["verify", "--upto", "protocol", *chosen], prog_name="tlxify")
