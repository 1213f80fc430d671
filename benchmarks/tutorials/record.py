"""What the tutorials launch, found without a GPU: their host code runs on tensors that have no storage.

    python -m benchmarks.tutorials.record --tutorials FOLDER --out launches.json

Each launch is written as the types, constants and options that Triton derives from its arguments, so that another
compiler can be given the very same. Problems that lead to the same machine code share one entry.
"""

from __future__ import annotations

import argparse
import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

from . import host
from .cases import CASES, Case

#: of an H200
PROCESSORS = 132


@dataclass(frozen=True, slots=True)
class Launch:
    """All that decides which machine code a launch needs."""

    case: str
    #: the case's problems that this stands for
    problems: tuple[tuple[int, ...], ...]
    file: str
    kernel: str
    signature: dict[str, str]
    constexprs: dict[str, Any]
    #: parameters whose value is a multiple of 16
    divisible: tuple[str, ...]
    options: dict[str, Any]


class NoGpu:
    """As much of a driver as host code asks for."""

    def get_current_target(self) -> Any:
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_active_torch_device(self) -> Any:
        return torch.device("meta")


@contextlib.contextmanager
def without_gpu() -> Iterator[None]:
    """Lets host code run that expects a Hopper GPU."""
    properties = torch.cuda.get_device_properties
    capability = torch.cuda.get_device_capability
    torch.cuda.get_device_properties = lambda device=None: SimpleNamespace(multi_processor_count=PROCESSORS)
    torch.cuda.get_device_capability = lambda device=None: (9, 0)
    # Resetting would look for a GPU.
    before = driver._active
    driver.set_active(NoGpu())
    try:
        yield
    finally:
        torch.cuda.get_device_properties, torch.cuda.get_device_capability = properties, capability
        driver._active = before


def launches(case: Case, tutorials: Path) -> list[Launch]:
    """The distinct launches of a case, by running its host function on every problem."""
    found: list[Launch] = []

    def run(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> None:
        kwargs["debug"] = False
        kwargs["instrumentation_mode"] = ""
        *_, backend, binder = self.device_caches[0]
        bound, specialization, options = binder(*args, **kwargs)
        options, signature, constexprs, attrs = self._pack_args(backend, kwargs, bound, specialization, options)
        names = list(signature)
        found.append(
            Launch(
                case=case.name,
                problems=(),
                file=case.file,
                kernel=case.kernel,
                signature=signature,
                constexprs={names[path[0]]: value for path, value in constexprs.items()},
                divisible=tuple(names[path[0]] for path, known in attrs.items() if known),
                options={"num_warps": options.num_warps, "num_stages": options.num_stages},
            )
        )

    grouped: dict[str, tuple[Launch, list[tuple[int, ...]]]] = {}
    with without_gpu():
        module = host.load(tutorials / case.file)
        host.pick(getattr(module, case.kernel), case)
        stock = JITFunction.run
        JITFunction.run = run
        try:
            for problem in case.problems:
                found.clear()
                host.call(module, case, host.operands(case, problem, "meta"))
                (launch,) = found
                grouped.setdefault(json.dumps(asdict(launch)), (launch, []))[1].append(problem)
        finally:
            JITFunction.run = stock
    return [
        Launch(**{**asdict(launch), "case": name(case, n), "problems": tuple(problems)})
        for n, (launch, problems) in enumerate(grouped.values())
    ]


def name(case: Case, variant: int) -> str:
    """Names of variants: the first has the case's own."""
    return f"{case.name}.{variant}" if variant else case.name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tutorials", type=Path, required=True, help="folder of the tutorials' sources")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    found = [asdict(launch) for case in CASES for launch in launches(case, options.tutorials)]
    options.out.write_text(json.dumps({"triton": triton.__version__, "launches": found}, indent=1) + "\n")
    print(f"{len(found)} launches of {len(CASES)} cases")


if __name__ == "__main__":
    main()
