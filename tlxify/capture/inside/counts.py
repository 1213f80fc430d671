"""Counters that outlive their process: pairs of (launch, count) in a file that is mapped into memory.

The pages belong to the operating system, so a process that is killed between two instructions has lost nothing. Each
counter has one writer, a thread, and needs no lock.
"""

from __future__ import annotations

import mmap
import os
import struct
import threading
from collections import Counter
from pathlib import Path

#: Two unsigned 64-bit numbers.
PAIR = struct.Struct("<QQ")
#: Counters that are mapped at a time: whole pages on every system.
CHUNK = 4096


class Counts:
    """The counters of one process."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o666)
        self._lock = threading.Lock()
        self._used = 0
        self._pairs: memoryview | None = None

    def counter(self, launch: int) -> memoryview:
        """A new counter for the launch of this number (from 1): a view of one element, which its thread increments."""
        with self._lock:
            at = self._used % CHUNK
            if at == 0:
                size = CHUNK * PAIR.size
                start = self._used * PAIR.size
                os.ftruncate(self._file, start + size)
                self._pairs = memoryview(mmap.mmap(self._file, size, offset=start)).cast("Q")
            assert self._pairs is not None
            self._used += 1
            self._pairs[2 * at] = launch
            return self._pairs[2 * at + 1 : 2 * at + 2]


def read_counts(path: Path) -> Counter[int]:
    """Launches so far, by number. The process that counts may still be running."""
    found: Counter[int] = Counter()
    data = path.read_bytes()
    for launch, count in PAIR.iter_unpack(data[: len(data) // PAIR.size * PAIR.size]):
        if launch:
            found[launch] += count
    return found
