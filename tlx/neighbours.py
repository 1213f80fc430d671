"""Other packages that claim the names ``tlx`` or ``triton.language.extra.tlx``.

``tlx`` on the public index is an unrelated library, ``triton-utlx`` is Meta's plugin for Triton 3.8, and ``fbtriton``
is Meta's compiler with TLX inside. pip lets the files of one overwrite those of another without a word; here they are
found.
"""

from __future__ import annotations

import base64
import hashlib
import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

#: the distribution that brings this package
OURS = "tlxify"
#: Meta's compiler, which needs no installing of TLX
FORK = "fbtriton"
#: Meta's plugin, which registers its own TLX under the fork's name
PLUGIN = "triton-utlx"
#: the module by which it loads itself when Python starts
PLUGIN_HOOK = "_utlx_autoregister"


@dataclass(frozen=True, slots=True)
class Intrusion:
    """Files of ours that another distribution claims as well and that are not ours any more."""

    #: the other distribution, with its version
    other: str
    #: paths below the environment's package folder
    files: tuple[str, ...]

    def __str__(self) -> str:
        some = ", ".join(self.files[:3]) + (", ..." if len(self.files) > 3 else "")
        return (
            f"{self.other} has overwritten {len(self.files)} file(s) of tlxify ({some}): both install a package called "
            f"tlx and cannot share an environment. Remove it and put ours back: pip uninstall {self.other.split()[0]}, "
            "then pip install --force-reinstall --no-deps tlxify"
        )


def warn_of_a_plugin_for_another_triton() -> None:
    """Says that Meta's plugin is here beside a Triton that it was not built for. Triton need not be imported yet.

    The plugin hooks itself into every Python that starts, so looking for its hook costs nothing where it is not.
    """
    if PLUGIN_HOOK not in sys.modules:
        return
    try:
        plugin, installed = metadata.version(PLUGIN), metadata.version("triton")
    except metadata.PackageNotFoundError:
        return
    built_for, there = plugin.split(".")[:2], installed.split(".")[:2]
    if built_for != there:
        warnings.warn(
            f"{PLUGIN} {plugin} is built for Triton {'.'.join(built_for)} and loads itself into every Triton; this is "
            f"{installed}, which may end right here. Remove it: pip uninstall {PLUGIN}",
            stacklevel=2,
        )


def _name(distribution: Any) -> str:
    return str(distribution.metadata["Name"] or "").lower().replace("_", "-")


def named(name: str, distributions: Iterable[Any] | None = None) -> str | None:
    """Name and version of an installed distribution, or None."""
    for distribution in metadata.distributions() if distributions is None else distributions:
        if _name(distribution) == name:
            return f"{name} {distribution.version}"
    return None


def _changed(file: Any) -> bool:
    """Whether an installed file differs from what its distribution recorded; unknown counts as unchanged."""
    if file.hash is None or file.hash.mode != "sha256":
        return False
    path = Path(str(file.locate()))
    if not path.exists():
        return True
    digest = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).rstrip(b"=").decode()
    return bool(digest != file.hash.value)


def intrusions(distributions: Iterable[Any] | None = None) -> list[Intrusion]:
    """Every distribution that has overwritten files of ours; none where we are an editable checkout."""
    present = list(metadata.distributions() if distributions is None else distributions)
    ours = {
        str(file): file
        for distribution in present
        if _name(distribution) == OURS
        for file in distribution.files or ()
        if str(file).startswith("tlx/")
    }
    found = []
    for distribution in present:
        if _name(distribution) == OURS:
            continue
        shared = sorted(str(file) for file in distribution.files or () if str(file) in ours)
        changed = tuple(path for path in shared if _changed(ours[path]))
        if changed:
            found.append(Intrusion(f"{_name(distribution)} {distribution.version}", changed))
    return found
