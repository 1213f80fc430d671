"""One launch under Triton's own concurrency sanitizer (ConSan), which watches barriers and buffers on the GPU itself.

Triton ≥ 3.6 compiles every access to shared memory together with a check that all writers and readers before it are
known to have ended. That makes a kernel some thirty times as long, and its compilation too, so only the smallest config
is tried, and only where `TLXIFY_CONSAN=1` asks for it. Only called in a child process: switches are set for all of it.
"""

from __future__ import annotations

import inspect
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..contract import Contract
from ..conversion import Conversion
from ..verdict import Evidence, Rung

SWITCH = "TLXIFY_CONSAN"
#: What it takes, in seconds, before the sanitizer is given up; the compiler takes nearly all of it.
SECONDS = 180.0
#: A launch takes longer with its checks.
LAUNCH_SECONDS = 30.0


def wanted() -> bool:
    """Whether the environment asks for the sanitizer."""
    return os.environ.get(SWITCH, "").strip().lower() in ("1", "on", "true", "yes")


def smallest(contract: Contract) -> int:
    """The config with the least elements in its tiles."""

    def size(index: int) -> int:
        product = 1
        for _, value in contract.configs[index].values:
            product *= value if isinstance(value, int) and value > 0 else 1
        return product

    return min(range(len(contract.configs)), key=size)


def run_consan(conversion: Conversion, progress: Callable[[str], None]) -> tuple[dict[str, str], list[Evidence]]:
    """Figures ("skipped" or "ran", in words) and findings for one launch of the smallest config."""
    import triton
    from triton.backends.nvidia import compiler

    if "consan" not in inspect.getsource(compiler):
        return {"skipped": f"Triton {triton.__version__} has no concurrency sanitizer"}, []
    from . import device, gpu
    from .buffers import Inapplicable
    from .loading import load

    reason = gpu.unusable()
    if reason is not None:
        return {"skipped": f"no launch on a GPU: {reason}"}, []
    triton.knobs.compilation.instrumentation_mode = "consan"
    device.HANG_SECONDS = LAUNCH_SECONDS
    session = gpu.Session(load(conversion), repeats=1)
    config = smallest(conversion.contract)
    cases = [case for case in gpu.cases_of(conversion) if case.config == config]
    for case in cases:
        if case.name != "own tiles":
            continue
        progress(f"ran: compiling config {config} with the concurrency sanitizer")
        with _standard_error() as told:
            try:
                fast = session.launch_converted(case)
            except Inapplicable:
                continue
        if session.findings:
            (finding,) = session.findings
            lines = [line for line in told if "ssert" in line]
            cause = lines[0].strip() if lines else finding.text
            text = f"the concurrency sanitizer stops config {config}: {cause}"
            return {}, [Evidence(Rung.RAN, False, "consan", text, "\n".join(told)[-2000:], conversion.file, 1)]
        if fast:
            return {"ran": f"config {config}, one launch with every access checked: no complaint"}, []
    return {"skipped": f"no launch of config {config} took the specialized kernel"}, []


@contextmanager
def _standard_error() -> Iterator[list[str]]:
    """What is written to standard error while the block runs, device-side assertions among it, as lines."""
    lines: list[str] = []
    kept = os.dup(2)
    with tempfile.TemporaryFile("w+", errors="replace") as file:
        os.dup2(file.fileno(), 2)
        try:
            yield lines
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            lines += file.read().splitlines()
