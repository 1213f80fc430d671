"""Runs a program with its launches recorded."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from . import parts
from .inside.watch import SETTINGS
from .launches import Capture

#: The folder that is put first on the program's PYTHONPATH.
START = Path(__file__).parent / "inside" / "start"


def parts_of(record: Path) -> Path:
    """The folder beside a record with its parts while it is made, and with saved contents of tensors after."""
    return record if record.is_dir() else record.with_name(f"{record.name}.parts")


def environment(
    folder: Path, base: Mapping[str, str], *, kernels: Sequence[str] = (), limit: int, data: bool = False
) -> dict[str, str]:
    """The environment in which every Python process records into `folder`."""
    settings = {"folder": str(folder.resolve()), "kernels": list(kernels), "limit": limit, "data": data}
    path = os.pathsep.join(part for part in (str(START), base.get("PYTHONPATH", "")) if part)
    return {**base, SETTINGS: json.dumps(settings), "PYTHONPATH": path}


def capture(
    command: Sequence[str], output: Path, *, kernels: Sequence[str] = (), limit: int, data: bool = False
) -> tuple[int, Capture]:
    """Runs `command` to its end and writes the record to `output`.

    While it runs, each process writes to a folder of parts beside `output`; if this process is killed, `read` takes
    that folder too. Contents of tensors (`data`) stay there.

    Returns:
        The exit status of the command (negative for a signal), and the record.

    Raises:
        FileNotFoundError: there is no such command.
    """
    folder = parts_of(output)
    if folder.exists():
        parts.remove(folder)
    settings = environment(folder, os.environ, kernels=kernels, limit=limit, data=data)
    process = subprocess.Popen(list(command), env=settings)
    with _passed_on(process):
        while True:
            try:
                status = process.wait()
                break
            except KeyboardInterrupt:
                continue  # the program got it as well: it decides
    record = parts.join(folder)
    parts.write(record, output, argv=list(command), limit=limit, status=status)
    if folder.exists():
        parts.remove(folder)
    return status, record


@contextlib.contextmanager
def _passed_on(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """What would end this process alone (`timeout`, a cancelled CI job) is the program's to obey: it would run on."""
    if threading.current_thread() is not threading.main_thread():  # only there can signals be handled
        yield
        return
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in (getattr(signal, name) for name in names)}

    def pass_on(number: int, frame: object) -> None:
        process.send_signal(number)

    for number, handler in before.items():
        if handler is signal.SIG_DFL:  # one that is ignored, as under `nohup`, stays so
            signal.signal(number, pass_on)
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is signal.SIG_DFL:
                signal.signal(number, handler)
