"""What this Python environment can do for tlxify, found out without importing Triton, torch or any `tlx`."""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import importlib.util
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

#: Oldest Triton release that `tlx` runs on.
OLDEST_TRITON = (3, 6)


@dataclass(frozen=True, slots=True)
class Check:
    """One line of `tlxify doctor`."""

    name: str
    #: ok; note: missing, but only some commands need it; action: something has to be changed.
    state: Literal["ok", "note", "action"]
    text: str
    #: What to do, where something can be done.
    remedy: str = ""


def version(distribution: str) -> str | None:
    """The installed version of a distribution, or None."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def check_python() -> Check:
    """Python itself."""
    text = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    return Check("Python", "ok", text)


def check_converter() -> Check:
    """What converting needs."""
    missing = [name for name in ("black", "click", "libcst", "rich") if version(name) is None]
    if missing:
        return Check("converter", "action", f"{', '.join(missing)} missing", f"pip install {' '.join(missing)}")
    return Check("converter", "ok", f"tlxify {version('tlxify') or 'from a checkout'}, libcst {version('libcst')}")


def check_triton() -> Check:
    """Triton and whether `tlx` supports it."""
    spec = importlib.util.find_spec("triton")
    if spec is None:
        remedy = "pip install tlxify[cpu]" if platform.system() == "Linux" else "verify on Linux"
        return Check("Triton", "note", "not installed: convert and analyze work, verify does not", remedy)
    found = version("triton") or version_in_source(spec.origin)
    if found is None:
        return Check("Triton", "note", f"of unknown version, at {spec.origin}")
    number = tuple(int(part) for part in re.findall(r"\d+", found)[:2])
    if number < OLDEST_TRITON:
        needed = ".".join(map(str, OLDEST_TRITON))
        return Check(
            "Triton", "action", f"{found} is not supported; originals run", f"install Triton {needed} or newer"
        )
    return Check("Triton", "ok", found)


def version_in_source(origin: str | None) -> str | None:
    """The `__version__` of a package that came without a distribution (fbtriton), read from its `__init__.py`."""
    if origin is None:
        return None
    try:
        found = re.search(
            r"""^__version__\s*=\s*["']([^"']+)""", Path(origin).read_text(encoding="utf-8"), re.MULTILINE
        )
    except OSError:
        return None
    return found[1] if found else None


def check_tlx() -> Check:
    """Which `tlx` an import would find: other packages install that name too."""
    # Looking for a top-level name does not import it; unlike the search path, it also knows editable installations.
    spec = importlib.util.find_spec("tlx")
    if spec is None or spec.origin is None:
        return Check("tlx", "action", "not importable", "reinstall tlxify")
    first, ours = Path(spec.origin).resolve(), (Path(__file__).parents[1] / "tlx" / "__init__.py").resolve()
    if first != ours:
        owners = sorted(set(importlib.metadata.packages_distributions().get("tlx", [])) - {"tlxify"})
        owner = f" (from {', '.join(owners)})" if owners else ""
        return Check(
            "tlx", "action", f"a foreign package is found first: {first}{owner}; originals run", "uninstall it"
        )
    if changed := overwritten_files():
        others = [name for name in importlib.metadata.packages_distributions().get("tlx", []) if name != "tlxify"]
        who = ", ".join(sorted(set(others))) or "something"
        return Check(
            "tlx",
            "action",
            f"{who} has overwritten {len(changed)} of its files ({', '.join(changed[:3])}); originals run",
            f"pip uninstall {who}, then pip install --force-reinstall --no-deps tlxify",
        )
    hidden = [path for path in tlx_packages(sys.path) if path != ours]
    if hidden:
        return Check("tlx", "note", f"ours, hiding a foreign one: {hidden[0]}")
    return Check("tlx", "ok", f"ours, {ours.parent}")


def overwritten_files() -> list[str]:
    """Files of our `tlx` that are no longer what our distribution brought: pip lets packages overwrite each other's.

    Empty in a checkout, whose files no distribution lists.
    """
    try:
        files = importlib.metadata.files("tlxify") or []
    except importlib.metadata.PackageNotFoundError:
        return []
    return [str(file) for file in files if file.parts[0] == "tlx" and file.hash and _differs(file)]


def _differs(file: importlib.metadata.PackagePath) -> bool:
    try:
        content = file.read_binary()
    except OSError:
        return True
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return file.hash is not None and file.hash.mode == "sha256" and file.hash.value != digest


def tlx_packages(search_path: Sequence[str]) -> Iterator[Path]:
    """The file of each `tlx` on the search path, in the order in which an import would try them."""
    for entry in search_path:
        for path in (Path(entry) / "tlx" / "__init__.py", Path(entry) / "tlx.py"):
            if path.is_file():
                yield path.resolve()


def check_simulator() -> Check:
    """What the simulator needs besides Triton."""
    missing = [name for name in ("numpy", "ml_dtypes", "greenlet") if version(name) is None]
    if missing:
        return Check("simulator", "note", f"{', '.join(missing)} missing: no verification", "pip install tlxify[cpu]")
    return Check("simulator", "ok", f"numpy {version('numpy')}, greenlet {version('greenlet')}")


def check_torch() -> Check:
    """torch, which only the rung `ran` and launches need."""
    found = version("torch")
    return Check("torch", "ok", found) if found else Check("torch", "note", "not installed: the rung `ran` is skipped")


def check_gpu() -> Check:
    """The GPUs, as the driver's own tool lists them."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return Check("GPU", "note", "none found: the rung `ran` is skipped")
    query = [tool, "--query-gpu=name,compute_cap", "--format=csv,noheader"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return Check("GPU", "note", "nvidia-smi is there and lists none: the rung `ran` is skipped")
    gpus = [line.rpartition(",") for line in answer.splitlines() if "," in line]
    names = ", ".join(f"{name} (sm_{capability.strip().replace('.', '')})" for name, _, capability in gpus)
    if not any(re.fullmatch(r"9\.\d", capability.strip()) for *_, capability in gpus):
        return Check("GPU", "note", f"{names or 'none'}: no Hopper, so originals run")
    return Check("GPU", "ok", names)


#: In the order in which they are shown.
CHECKS: tuple[Callable[[], Check], ...] = (
    check_python,
    check_converter,
    check_tlx,
    check_triton,
    check_simulator,
    check_torch,
    check_gpu,
)


def examine() -> tuple[Check, ...]:
    """Every check, done."""
    return tuple(check() for check in CHECKS)
