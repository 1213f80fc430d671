"""Runs a job in a child process with limits on time and memory; a hang or a crash ends the child, not the tool."""

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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .messages import error_data


@dataclass(frozen=True, slots=True)
class Job:
    """What a child is to simulate."""

    #: the user's file, as given
    file: str
    #: arguments of the user's program
    argv: tuple[str, ...] = ()
    #: a contract given on the command line: the fields of ``Contract``
    contract: dict[str, Any] | None = None
    schedules: tuple[str, ...] = ("late", "eager", "0", "1", "2", "3")
    max_ctas: int | None = None
    exhaustive: int | None = None
    timeline: str | None = None
    target: str = "hopper"
    from_device: bool = False
    record: str | None = None
    #: wall-clock seconds
    seconds: float = 600.0
    #: bytes of address space; 0 for no limit
    memory: int = 16 << 30


@dataclass(frozen=True, slots=True)
class Result:
    """What the child reported, as the fields of its JSON."""

    launches: list[dict[str, Any]] = field(default_factory=list)
    findings: list[dict[str, Any]] = field(default_factory=list)
    drawn: bool = False
    recorded: str = ""
    #: why there is no more: a message and perhaps a line
    error: dict[str, Any] | None = None

    @property
    def status(self) -> int:
        """Exit status: 1 with findings, else 2 after an error, else 0."""
        return 1 if self.findings else 2 if self.error else 0


def run_job(job: Job, progress: Callable[[str, int, int, int], None]) -> Result:
    """Runs a job and waits for it; what the user's program prints goes to standard error."""
    root = str(Path(__file__).resolve().parents[3])
    path = os.pathsep.join(part for part in (root, os.environ.get("PYTHONPATH", "")) if part)
    reading, writing = os.pipe()
    last = "it was starting"
    with os.fdopen(reading, encoding="utf-8", errors="replace") as pipe:
        child = subprocess.Popen(
            [sys.executable, "-m", "tlx.sim.tool.worker", str(writing), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=sys.stderr.fileno() if _has_descriptor() else subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"},
            pass_fds=(writing,),
            start_new_session=True,
        )
        os.close(writing)
        assert child.stdin is not None
        try:
            with contextlib.suppress(BrokenPipeError):
                child.stdin.write(json.dumps(_plain(job)).encode() + b"\n")
                child.stdin.close()
            for message in _messages(pipe, job.seconds):
                if "progress" in message:
                    kernel, launch, schedule, schedules = message["progress"]
                    last = f"{kernel}, launch {launch}, schedule {schedule + 1} of {schedules}"
                    progress(kernel, launch, schedule, schedules)
                elif "launches" in message:
                    return Result(**{name: message[name] for name in Result.__dataclass_fields__})
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout=5.0)
        except TimeoutError:
            return Result(error=dict(error_data(f"no end within {job.seconds:g} seconds; the last was: {last}")))
        finally:
            _end(child)
    return Result(error=dict(error_data(f"the process ended with {_reason(child.returncode)}; the last was: {last}")))


def _plain(job: Job) -> dict[str, Any]:
    return {name: getattr(job, name) for name in Job.__dataclass_fields__}


def _has_descriptor() -> bool:
    """Whether standard error is a real file: test runners replace it."""
    try:
        return sys.stderr.fileno() >= 0
    except (OSError, ValueError, AttributeError):
        return False


def _messages(pipe: Any, seconds: float) -> Iterator[dict[str, Any]]:
    """The child's messages until it closes its end. Raises TimeoutError."""
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        with contextlib.suppress(ValueError, OSError):  # closed meanwhile
            for line in pipe:
                lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    deadline = time.monotonic() + seconds
    while True:
        try:
            line = lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise TimeoutError from None
        if line is None:
            return
        with contextlib.suppress(ValueError):
            message = json.loads(line)
            if isinstance(message, dict):
                yield message


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ends the child and whatever it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    if child.stdin is not None and not child.stdin.closed:
        with contextlib.suppress(BrokenPipeError):
            child.stdin.close()


def _reason(status: int) -> str:
    return f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
