"""Fetches the public kernels that `public.toml` pins, by package and version, into `.corpus/` (which git ignores).

    python corpus/fetch.py

The Python sources of a package are unpacked, for kernels use helpers of other files. Nothing is installed, imported or
run.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
STORE = HERE.parent / ".corpus"


def pinned() -> list[dict[str, str]]:
    """The entries of `public.toml`."""
    entries: list[dict[str, str]] = tomllib.loads((HERE / "public.toml").read_text())["kernel"]
    return entries


def location(entry: dict[str, str]) -> Path:
    """Where an entry's source file lies once it is fetched."""
    return STORE / f"{entry['package']}-{entry['version']}" / entry["path"]


def fetch(package: str, version: str) -> Path:
    """The package's wheel, downloaded unless it is there."""
    folder = STORE / "wheels" / f"{package}-{version}"
    if not list(folder.glob("*.whl")):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*command, "--dest", str(folder), f"{package}=={version}"], check=True)
    return next(folder.glob("*.whl"))


def main() -> None:
    """Fetches and unpacks every pinned package."""
    for package, version in dict.fromkeys((entry["package"], entry["version"]) for entry in pinned()):
        folder = STORE / f"{package}-{version}"
        # Written last: what was unpacked only in part is unpacked again.
        stamp = folder / ".unpacked"
        if not stamp.exists():
            with zipfile.ZipFile(fetch(package, version)) as wheel:
                wheel.extractall(folder, [name for name in wheel.namelist() if name.endswith(".py")])
            stamp.touch()
            print(f"fetched {package} {version}")


if __name__ == "__main__":
    main()
