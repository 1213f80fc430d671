"""Compiles recorded launches with whatever TLX the running Python has. No torch and no GPU are needed.

    OTHER_PYTHON benchmarks/tutorials/build.py --tutorials FOLDER --launches launches.json --out FOLDER
    python -m benchmarks.tutorials.build --ours …

Run as a file it imports nothing of this repository, so that it works under Meta's own compilers; ``--ours`` puts our
``tlx`` in their place first. Every launch gets a process of its own: a compiler that aborts costs one row. Written are
NAME.cubin, NAME.ptx, NAME.ttgir, NAME.json (what a launcher needs to know) and NAME.err where it failed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

#: seconds
LIMIT = 300
#: what a launcher reads of a compiled kernel
METADATA = (
    "name",
    "shared",
    "num_warps",
    "num_ctas",
    "tensordesc_meta",
    "global_scratch_size",
    "global_scratch_align",
    "profile_scratch_size",
    "profile_scratch_align",
    "launch_pdl",
    "launch_cooperative_grid",
    "cluster_dims",
)


class NoGpu:
    """As much of a driver as the tutorials and the code generator ask for."""

    def __init__(self, arch: int | str = 90) -> None:
        self.arch = arch

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", self.arch, 32) if isinstance(self.arch, int) else GPUTarget("hip", self.arch, 64)

    def get_current_device(self) -> int:
        return 0

    def get_active_torch_device(self) -> str:
        return "cuda"


def load(path: Path, arch: int | str = 90) -> Any:
    """The tutorial as a module; its host code is never called, so torch and pytest may be anything."""
    from triton.backends.compiler import GPUTarget
    from triton.runtime.driver import driver

    # Two tutorials ask this of Meta's fork when they are imported, to skip their own tests.
    if not hasattr(GPUTarget, "is_cuda_backend"):
        GPUTarget.is_cuda_backend = lambda target: target.backend == "cuda"

    for missing in ("torch", "pytest"):
        if missing not in sys.modules and importlib.util.find_spec(missing) is None:
            sys.modules[missing] = MagicMock(name=missing)
    driver.set_active(NoGpu(arch))
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem.replace("-", "_"), path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def compile_launch(module: Any, launch: dict[str, Any], ours: bool = False) -> Any:
    """Triton's compiled kernel for one entry of launches.json; parameters with defaults may be left out there."""
    import triton

    kernel = getattr(module, launch["kernel"])
    while hasattr(kernel, "configs"):
        kernel = kernel.fn
    kernel.create_binder()
    names = kernel.arg_names
    signature = {name: launch["signature"].get(name, "constexpr") for name in names}
    attrs = {(names.index(name),): [["tt.divisibility", 16]] for name in launch["divisible"]}
    values = {p.name: p.default for p in kernel.params if signature[p.name] == "constexpr" and p.has_default}
    for name, value in launch["constexprs"].items():
        values[name] = getattr(triton.language, value["dtype"]) if isinstance(value, dict) else value
    options = {name: tuple(value) if isinstance(value, list) else value for name, value in launch["options"].items()}
    if ours and (cluster := options.pop("ctas_per_cga", None)):
        # What stock Triton calls it; at a launch tlx translates.
        options["num_ctas"] = cluster[0]
    source = kernel.ASTSource(kernel, signature, constexprs=values, attrs=attrs)
    return triton.compile(source, target=NoGpu(launch.get("target", 90)).get_current_target(), options=options)


def write(done: Any, stem: Path) -> dict[str, Any]:
    """Puts the compiled kernel's files beside each other; their common name is ``stem``."""
    for ending in ("cubin", "ptx", "ttgir", "amdgcn"):
        if ending not in done.asm:
            continue
        text = done.asm[ending]
        stem.with_name(f"{stem.name}.{ending}").write_bytes(text if isinstance(text, bytes) else text.encode())
    return {key: getattr(done.metadata, key) for key in METADATA if hasattr(done.metadata, key)}


def processor_seconds() -> float:
    """What this process and those it waited for (ptxas) have used: other people's work on the machine is not in it."""
    return sum(os.times()[:4])


def one(options: argparse.Namespace, launch: dict[str, Any]) -> None:
    """Compiles one launch in this process, several times over where that is asked for."""
    if options.ours:
        import tlx

        tlx.install()
    import triton

    # A torch that is here would look for a GPU when some of the tutorials are imported.
    sys.modules["torch"] = MagicMock(name="torch")
    target = launch.get("target", 90)
    sys.modules["torch"].cuda.get_device_capability.return_value = (target // 10 if isinstance(target, int) else 9, 0)
    module = load(options.tutorials / launch["file"], target)
    triton.knobs.compilation.always_compile = options.repeat > 1
    seconds = []
    for _ in range(options.repeat):
        start = processor_seconds()
        done = compile_launch(module, launch, options.ours)
        seconds.append(round(processor_seconds() - start, 3))
    stem = options.out / launch["case"]
    facts = {**write(done, stem), "triton": triton.__version__, "seconds": seconds}
    stem.with_name(f"{stem.name}.json").write_text(json.dumps(facts, indent=1, default=str) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tutorials", type=Path, required=True, help="folder of the tutorials' sources")
    parser.add_argument("--launches", type=Path, required=True, help="what record.py wrote")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--ours", action="store_true", help="compile with this repository's tlx")
    parser.add_argument("--repeat", type=int, default=1, help="compile so often, past Triton's cache, and time it")
    parser.add_argument("--only", help="name of one launch, which is then compiled in this process")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    found = json.loads(options.launches.read_text())["launches"]
    if options.only:
        one(options, next(launch for launch in found if launch["case"] == options.only))
        return
    how = ["-m", "benchmarks.tutorials.build"] if options.ours else [__file__]
    for launch in found:
        command = [sys.executable, *how, *sys.argv[1:], "--only", launch["case"]]
        failure = options.out / f"{launch['case']}.err"
        failure.unlink(missing_ok=True)
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
            message = done.stderr if done.returncode else ""
        except subprocess.TimeoutExpired:
            message = f"took more than {LIMIT} s"
        if message:
            failure.write_text(message)
        print(launch["case"], message.strip().splitlines()[-1] if message.strip() else "ok", flush=True)


if __name__ == "__main__":
    main()
