"""Kernels that jit code of their own file calls too: what tells them from helpers is a launch in another file."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from pathlib import Path

from ..diagnostics import Decline
from ..parse.imports import SourceTree
from ..parse.kernels import find_kernels, returns_nothing
from ..parse.module import parse_module
from ..source import SourceFile, above_packages
from .discover import discover

#: How every launch is written; without any of these a file has none.
_LAUNCHES = (b"](", b".run(", b".warmup(")


def launched_elsewhere(source: SourceFile, roots: Sequence[str]) -> frozenset[str]:
    """The names of jit functions of a file that would pass for helpers, but that other files below `roots` launch."""
    try:
        module = parse_module(source)
        kernels = {id(kernel.node) for kernel in find_kernels(module)}
    except (Decline, RecursionError):
        return frozenset()
    asked = {
        name: helper.node.lineno
        for name, helper in module.helpers.items()
        if id(helper.node) not in kernels and returns_nothing(helper.node)
    }
    if not asked:
        return frozenset()
    own, words = os.path.abspath(source.path), [name.encode() for name in asked]
    found: set[tuple[str, int]] = set()
    for path in _launching(tuple(roots)):
        if os.path.abspath(path) != own and any(word in _bytes(path) for word in words):
            found |= _launched(path)
    return frozenset(name for name, line in asked.items() if (own, line) in found)


def launched_in_package(source: SourceFile) -> frozenset[str]:
    """The same of the package that the file is in, however deep; nothing of a file that is in none."""
    root = above_packages(source.path)
    package, *inside = Path(os.path.abspath(source.path)).relative_to(root).parts
    return launched_elsewhere(source, (str(root / package),)) if inside else frozenset()


@functools.cache
def _launching(roots: tuple[str, ...]) -> tuple[str, ...]:
    """The files below the roots that launch anything."""
    found = (str(item.path) for item in discover(map(Path, roots), word=b""))
    return tuple(path for path in found if any(sign in _bytes(path) for sign in _LAUNCHES))


@functools.cache
def _launched(path: str) -> frozenset[tuple[str, int]]:
    """File and line of each jit function that a file launches."""
    try:
        helpers = list(SourceTree(path, {}).launched(SourceFile.read(path)))
    except (OSError, UnicodeDecodeError, SyntaxError, RecursionError, Decline):
        return frozenset()
    return frozenset((os.path.abspath(one.module.source.path), one.node.lineno) for one in helpers)


def _bytes(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""
