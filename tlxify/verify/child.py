"""Foreign code runs in a process of its own, with limits on time and memory; a hang or a crash is a finding.

The parent sends a pickled job (its own data) and reads JSON lines: the child has run foreign code, so nothing that
comes back is unpickled.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..conversion import Conversion
from ..verdict import Evidence, Rung

#: Switches that would hide the specialized kernel, or the compiler, from a child, or run a second kernel in it.
SWITCHES = ("TLXIFY", "TLXIFY_DISABLE", "TLXIFY_SHADOW", "TRITON_INTERPRET")
#: What is verified is the conversion, whatever a user would rather run.
SETTINGS = {"TLXIFY_POLICY": "always"}


@dataclass(frozen=True, slots=True)
class Limits:
    """What one child may take."""

    #: Wall-clock seconds.
    seconds: float = 600.0
    #: Bytes of address space; None for no limit (CUDA maps far more than it uses).
    memory: int | None = 16 << 30


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of work for a child: a function of `worker` by name, or any as "module:function", with its options."""

    name: str
    conversion: Conversion
    rung: Rung
    options: dict[str, Any] = field(default_factory=dict)
    limits: Limits = Limits()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a child reported: figures by name, and findings; one that died leaves what it told before, and a finding."""

    figures: dict[str, Any]
    findings: tuple[Evidence, ...]


def run_job(job: Job, progress: Callable[[str], None]) -> Outcome:
    """Runs a job in a child process and waits for it."""
    root = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(part for part in (root, os.environ.get("PYTHONPATH", "")) if part)
    last = "starting"
    known = Outcome({}, ())
    settings = {name: value for name, value in os.environ.items() if name not in SWITCHES} | SETTINGS
    # What the child and its compilers leave behind goes with its folder.
    with tempfile.TemporaryDirectory(prefix="tlxify-") as folder, tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            [sys.executable, "-m", "tlxify.verify.worker", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**settings, "PYTHONPATH": path, "TMPDIR": folder},
            start_new_session=True,
        )
        try:
            for message in _messages(child, job):
                if "progress" in message:
                    last = str(message["progress"])
                    progress(last)
                elif "partial" in message:
                    known = _outcome(job, message["partial"])
                elif "result" in message:
                    return _outcome(job, message["result"])
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout=5.0)  # it closed its end: let it say how it ends
        except TimeoutError:
            text = f"no result within {job.limits.seconds:g} seconds; the last step was: {last}"
            return _died(job, known, "timeout", text, "")
        finally:
            _end(child)
        errors.seek(0)
        tail = errors.read().decode(errors="replace")[-2000:]
    text = f"the process ended with {_reason(child.returncode)}; the last step was: {last}"
    return _died(job, known, "crash", text, tail)


def _messages(child: subprocess.Popen[bytes], job: Job) -> Any:
    """The child's JSON lines until it closes its end. Raises TimeoutError."""
    lines: queue.Queue[bytes | None] = queue.Queue()

    def read() -> None:
        assert child.stdout is not None
        for line in child.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    assert child.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # it died at once: what it said follows
        child.stdin.write(pickle.dumps(job))
        child.stdin.close()
    deadline = time.monotonic() + job.limits.seconds
    while True:
        try:
            line = lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise TimeoutError from None
        if line is None:
            return
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if isinstance(message, dict):
            yield message


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ends the child and whatever it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    for pipe in (child.stdin, child.stdout):
        if pipe is not None and not pipe.closed:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def _outcome(job: Job, result: Any) -> Outcome:
    findings = []
    for item in result.get("findings", ()):
        fields = {name: item[name] for name in ("code", "text", "detail", "file", "line")}
        findings.append(Evidence(Rung(item["rung"]), False, **fields))
    return Outcome(dict(result.get("figures", {})), tuple(findings))


def _died(job: Job, known: Outcome, code: str, text: str, detail: str) -> Outcome:
    end = Evidence(job.rung, False, code, f"{job.name}: {text}", detail, job.conversion.file, 1)
    return Outcome(known.figures, (*known.findings, end))


def _reason(status: int) -> str:
    return f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
