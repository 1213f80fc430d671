"""Child processes that convert files side by side, under limits of time and memory, one line of JSON at a time.

A file is first converted at once. If that crashes, hangs or takes too much memory, its kernels are tried one by one, so
that the one at fault is named and the others are still converted.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ..diagnostics import Diagnostic
from .record import INTERNAL, LIMIT, FileRecord, Finding, KernelRecord
from .work import Work

#: Told the file that is being worked on and what is done with it.
Progress = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one file may take."""

    #: Wall-clock seconds to convert a file (all 1,184 files of the largest public package need less than 20 each).
    seconds: float = 60.0
    #: Wall-clock seconds to verify one kernel. The verifier's own children have limits besides.
    verify_seconds: float = 1800.0
    #: Bytes of address space of one child.
    memory: int = 4 << 30
    #: Children that work at a time.
    processes: int = 2


@dataclass(frozen=True, slots=True)
class Trouble(Exception):
    """A child could not finish its work: a code, why, and for a crash the traceback."""

    code: str
    why: str
    detail: str = ""


def records(
    works: Iterable[Work], limits: Limits | None = None, progress: Progress = lambda *_: None
) -> Generator[FileRecord, None, None]:
    """Does each piece of work; yields the records as they come. Closing the iterator ends all children."""
    limits = limits or Limits()
    children = [Child(limits) for _ in range(limits.processes)]
    free: queue.SimpleQueue[Child] = queue.SimpleQueue()
    for child in children:
        free.put(child)

    def one(work: Work) -> FileRecord:
        child = free.get()
        try:
            return careful(child, work, lambda text: progress(work.file, text))
        finally:
            free.put(child)

    pool = ThreadPoolExecutor(limits.processes)
    try:
        pending: set[Future[FileRecord]] = {pool.submit(one, work) for work in works}
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in children:
            child.close()
        pool.shutdown(wait=True)


def careful(child: Child, work: Work, tell: Callable[[str], None]) -> FileRecord:
    """The record of a file; whatever stops its child becomes a finding that names file or kernel."""
    try:
        return FileRecord.of(child.ask("record", work, tell))
    except Trouble as trouble:
        first = trouble
    try:
        names: list[tuple[str, int]] = child.ask("names", work, tell)
    except Trouble:
        names = []
    if not names:
        return FileRecord(work.file, findings=(Finding(first.code, _message(first, Path(work.file).name)),))
    troubled: list[KernelRecord] = []
    good: list[str] = []
    for name, line in names:
        try:
            child.ask("record", replace(work, kernels=(name,), upto="none"), partial(_naming, tell, name))
            good.append(name)
        except Trouble as trouble:
            codes = (trouble.code,)
            message = _message(trouble, name)
            troubled.append(KernelRecord(name, line, "unknown", "declined", codes, message, reportable=True))
    rest = FileRecord(work.file)
    if good:
        try:
            rest = FileRecord.of(child.ask("record", replace(work, kernels=tuple(good)), tell))
        except Trouble as trouble:  # none alone, but all together
            return FileRecord(
                work.file, tuple(troubled), (Finding(trouble.code, _message(trouble, Path(work.file).name)),)
            )
    elif not troubled:
        rest = replace(rest, findings=(Finding(first.code, _message(first, Path(work.file).name)),))
    return replace(rest, kernels=tuple(sorted((*rest.kernels, *troubled), key=lambda item: item.line)))


def _naming(tell: Callable[[str], None], name: str, text: str) -> None:
    tell(f"{text} {name}")


def _message(trouble: Trouble, name: str) -> str:
    return Diagnostic.of(trouble.code, None, name=name, why=trouble.why).message


class Child:
    """One child process, started when it is needed and again after it died."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.process: subprocess.Popen[str] | None = None
        self.lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.closed = False
        self.lock = threading.Lock()

    def ask(self, what: str, work: Work, tell: Callable[[str], None]) -> Any:
        """The child's answer. Raises Trouble; the child is gone then unless it could say so itself."""
        process = self._started()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps({"do": what, "work": work.data()}) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            self._end()
            raise Trouble(INTERNAL, "its process ended before it began") from None
        last, deadline = "starting", time.monotonic() + self.limits.seconds
        while True:
            try:
                line = self.lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                self._end()
                raise Trouble(LIMIT, f"no end after {self._seconds(last):g} seconds ({last})") from None
            if line is None:
                status = self._end()
                raise Trouble(INTERNAL, f"its process ended with {_reason(status)} ({last})")
            message = json.loads(line)
            if "at" in message:
                last = message["at"]
                tell(last)
                deadline = time.monotonic() + self._seconds(last)
            elif "memory" in message:
                self._end()  # what filled its memory may still be there
                raise Trouble(LIMIT, f"it takes more than {self.limits.memory / (1 << 30):g} GiB of memory ({last})")
            elif "error" in message:
                raise Trouble(INTERNAL, message["error"], message["detail"])
            else:
                return message["result"]

    def close(self) -> None:
        """Ends the child for good."""
        with self.lock:
            self.closed = True
        self._end()

    def _seconds(self, last: str) -> float:
        return self.limits.verify_seconds if last.startswith("verifying") else self.limits.seconds

    def _started(self) -> subprocess.Popen[str]:
        with self.lock:
            if self.closed:
                raise Trouble(INTERNAL, "the run was ended")
            if self.process is None:
                root = str(Path(__file__).resolve().parents[2])
                path = os.pathsep.join(part for part in (root, os.environ.get("PYTHONPATH", "")) if part)
                self.process = subprocess.Popen(
                    [sys.executable, "-m", "tlxify.migrate.worker", str(self.limits.memory), str(os.getpid())],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                    env={**os.environ, "PYTHONPATH": path},
                    start_new_session=True,  # an interrupt at the terminal is for us to act on
                )
                self.lines = queue.SimpleQueue()
                threading.Thread(target=_read, args=(self.process, self.lines), daemon=True).start()
            return self.process

    def _end(self) -> int:
        """Ends the process with all that it started; its status."""
        process, self.process = self.process, None
        if process is None:
            return 0
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.2)  # one that is ending by itself has its own status
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        status = process.wait()
        with contextlib.suppress(BrokenPipeError):
            if process.stdin is not None:
                process.stdin.close()
        return status


def _read(process: subprocess.Popen[str], lines: queue.SimpleQueue[str | None]) -> None:
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            lines.put(line)
    lines.put(None)


def _reason(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"status {status}"
