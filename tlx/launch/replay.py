"""Makes a recorded launch again: `python -m tlx.launch.replay RECORD.json [TIMES]`, on a machine with torch and a GPU.

The record (record.py) comes from a shadow that disagreed. Tensors get the recorded layout and alignment; integers
that were written out get their values, everything else normal random numbers, so a fault that only certain data shows
may stay away. The kernel's module is imported from the recorded file. Exit status: 0 both kernels agree in all of
TIMES (10) launches, 1 they do not, 2 the launch cannot be made.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tlx.launch.agreement import disagreement
from tlx.launch.copies import Uncopied, copied
from tlx.launch.record import FORMAT

__all__ = ["arguments_of", "main", "replayed"]

TORCH_NAMES = {
    "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64", "fp8e4nv": "float8_e4m3fn",
    "fp8e5": "float8_e5m2", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "i1": "bool",
}  # fmt: skip
#: What may be copied for one comparison, in bytes.
LIMIT = 32 << 30


class Unreplayable(Exception):
    """The record does not say enough to make its launch again."""


def arguments_of(record: Mapping[str, Any], device: str, seed: int = 0) -> dict[str, Any]:
    """The recorded arguments, on a device of torch's. Raises `Unreplayable`."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    storages: dict[int, Any] = {}
    found: dict[str, Any] = {}
    for name, told in record["arguments"].items():
        if not isinstance(told, dict):
            found[name] = told
            continue
        if "shape" not in told or told["dtype"] not in TORCH_NAMES:
            raise Unreplayable(f"{name} is a {told['dtype']} tensor without a layout, or of an unknown dtype")
        dtype = getattr(torch, TORCH_NAMES[told["dtype"]])
        # Allocations begin on 16 bytes, so the first element of the tensor decides how it is aligned.
        shift = (told["alignment"] - told["offset"] * dtype.itemsize) % 16
        if told["storage"] not in storages:
            room = torch.empty(told["storage_bytes"] + 16, dtype=torch.uint8, device=device)
            count = told["storage_bytes"] // dtype.itemsize
            if dtype.is_floating_point:
                filled = torch.randn(count, generator=generator).to(dtype)
            elif "values" in told:
                filled = torch.zeros(count, dtype=dtype)
            else:
                raise Unreplayable(f"{name} holds integers that were not recorded: they may be indices")
            room[shift : shift + count * dtype.itemsize] = filled.view(torch.uint8).to(device)
            storages[told["storage"]] = room[shift:]
        memory = storages[told["storage"]][: told["storage_bytes"] // dtype.itemsize * dtype.itemsize].view(dtype)
        tensor = torch.as_strided(memory, told["shape"], told["strides"], memory.storage_offset() + told["offset"])
        if "values" in told:
            tensor.copy_(torch.tensor(told["values"], dtype=dtype))
        found[name] = tensor
    return found


def replayed(record: Mapping[str, Any], kernel: Any, arguments: Mapping[str, Any]) -> str | None:
    """How conversion and original disagree on these arguments, or `None`. `kernel` is a `tlx.specialized` one.

    Raises `Unreplayable` where the guard leaves the launch to the original.
    """
    dispatcher = kernel._dispatcher
    if record["grid"] is None:
        raise Unreplayable("the grid was asked for what only a tuner's config tells")
    kwargs, grid = {**arguments, **record["options"]}, tuple(record["grid"])
    names, written = dispatcher.arg_names, dispatcher.chooser.written
    mine, theirs = (copied((), kwargs, names, written, LIMIT) for _ in range(2))
    trial = dispatcher.trial((), mine.kwargs)
    if trial.fallback is not None:
        raise Unreplayable(f"the original would run: {trial.fallback}")
    dispatcher.run_converted(trial, (), mine.kwargs, grid)
    dispatcher.launch_original((), theirs.kwargs, grid)
    found = (disagreement(name, mine.written[name][1], theirs.written[name][1]) for name in mine.written)
    return next(filter(None, found), None)


def kernel_of(record: Mapping[str, Any]) -> Any:
    """The live kernel: the recorded name in a fresh import of the recorded file. Raises `Unreplayable`."""
    path = Path(record["file"])
    spec = importlib.util.spec_from_file_location(record["module"], path)
    if spec is None or spec.loader is None or not path.exists():
        raise Unreplayable(f"{path} is no module that is here")
    module = importlib.util.module_from_spec(spec)
    sys.modules[record["module"]] = module
    spec.loader.exec_module(module)
    kernel = getattr(module, record["kernel"], None)
    if not hasattr(kernel, "resolve"):
        raise Unreplayable(f"{record['kernel']} in {path} is not bound to a conversion")
    return kernel


def main(argv: list[str]) -> int:
    """The command; returns its exit status."""
    if not argv or argv[0] in ("-h", "--help"):
        print(__doc__)
        return 2
    record = json.loads(Path(argv[0]).read_text(encoding="utf-8"))
    times = int(argv[1]) if len(argv) > 1 else 10
    try:
        if record.get("format") != FORMAT:
            raise Unreplayable(f"a record of format {record.get('format')}; this reads {FORMAT}")
        kernel = kernel_of(record)
        for seed in range(times):
            found = replayed(record, kernel, arguments_of(record, "cuda", seed))
            if found is not None:
                print(f"{record['kernel']}: launch {seed + 1} of {times}: {found}")
                return 1
    except (Unreplayable, Uncopied) as reason:
        print(f"{argv[0]}: {reason}", file=sys.stderr)
        return 2
    print(f"{record['kernel']}: both kernels agree in {times} launches")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
