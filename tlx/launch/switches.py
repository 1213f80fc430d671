"""The environment variables that turn conversions off without an edit.

`TLXIFY=0` turns off all of them, `TLXIFY_DISABLE=name,...` the named kernels, and `TLXIFY_STALE=error` makes a stale
conversion an exception. Each kernel reads them once, at its first launch (reading the environment at every launch
would cost as much as the rest of the dispatch); `Specialized.reset()` makes it read them again.
"""

from __future__ import annotations

import os

__all__ = ["disabled", "stale_is_error"]

OFF = ("0", "off", "false", "no")


def disabled(name: str) -> str | None:
    """The setting that turns the kernel `name` off, as one would write it; `None` if it is on."""
    switch = os.environ.get("TLXIFY", "")
    if switch.strip().lower() in OFF:
        return f"TLXIFY={switch}"
    names = os.environ.get("TLXIFY_DISABLE", "")
    if name in (entry.strip() for entry in names.split(",")):
        return f"TLXIFY_DISABLE={names}"
    return None


def stale_is_error() -> bool:
    """Whether a conversion older than its source is an error (as in continuous integration) rather than a warning."""
    return os.environ.get("TLXIFY_STALE", "").strip().lower() == "error"
