"""The wheel and the sdist install elsewhere, and the tool works there without Triton and without torch."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytest.importorskip("build", reason="the extra `dev` brings it")

pytestmark = pytest.mark.slow


def run(*words: object, cwd: Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    # An environment without PYTHONPATH: nothing leads back to this checkout.
    result = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin"},
        check=False,
    )
    assert not check or result.returncode == 0, f"{words}\n{result.stdout}\n{result.stderr}"
    return result


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """sdist and wheel, the wheel built from the sdist, from a copy so that the checkout stays clean."""
    copy = tmp_path_factory.mktemp("source")
    for name in ("tlxify", "tlx", "tlx_pytest"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", copy / "dist", copy, cwd=copy)
    return copy / "dist"


def dependencies(name: str, seen: set[str]) -> Iterator[importlib.metadata.Distribution]:
    """`name` and all it needs without extras, from the running environment."""
    if name in seen:
        return
    seen.add(name)
    try:
        distribution = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return  # not needed on this Python
    yield distribution
    for requirement in distribution.requires or []:
        if "extra ==" not in requirement:
            yield from dependencies(name_of(requirement), seen)


def name_of(requirement: str) -> str:
    """The distribution that a requirement such as `click>=8; python_version > "3"` names."""
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower()


def environment(home: Path, *wheels: Path, beside: tuple[str, ...] = ()) -> Path:
    """The `bin` folder of a new environment with wheels, installed in this order.

    What tlxify depends on, and `beside`, are linked from the running environment instead of downloaded.
    """
    venv.create(home, with_pip=True, symlinks=True)
    (site,) = home.glob("lib/python*/site-packages")
    for wheel in wheels:
        run(home / "bin" / "python", "-m", "pip", "install", "--no-deps", "--no-index", wheel, cwd=home)
    (metadata,) = site.glob("tlxify-*.dist-info")
    needs = importlib.metadata.Distribution.at(metadata).requires or []
    seen = {"tlxify"}
    for requirement in (*(name for name in needs if "extra ==" not in name), *beside):
        for distribution in dependencies(name_of(requirement), seen):
            for top in {
                file.parts[0] for file in distribution.files or [] if file.parts[0] not in ("..", "__pycache__")
            }:
                target = Path(str(distribution.locate_file(top)))
                if not (site / top).exists():
                    (site / top).symlink_to(target)
    return home / "bin"


@pytest.fixture(scope="module")
def elsewhere(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of an environment with the wheel and what it depends on."""
    (wheel,) = dist.glob("*.whl")
    return environment(tmp_path_factory.mktemp("elsewhere"), wheel)


def test_the_wheel_holds_both_packages_types_and_licence(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"tlx/py.typed", "tlxify/py.typed", "tlx/__init__.py", "tlxify/cli.py"} <= names
    sources = {
        str(path.relative_to(ROOT))
        for folder in ("tlx", "tlxify", "tlx_pytest")
        for path in (ROOT / folder).rglob("*.py")
    }
    assert {name for name in names if name.endswith(".py")} == sources
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_sdist_holds_what_building_needs(dist: Path) -> None:
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "tlxify/cli.py", "tlx/__init__.py"} <= names


def test_no_extra_but_cpu_pins_what_torch_brings(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("METADATA"))
        lines = archive.read(name).decode().splitlines()
    needs = [line for line in lines if line.startswith("Requires-Dist:")]
    assert needs
    for line in needs:
        package = name_of(line.removeprefix("Requires-Dist: "))
        assert package != "torch"
        assert package not in ("triton", "numpy") or 'extra == "cpu"' in line


def test_the_tool_works_without_triton_and_torch(elsewhere: Path, tmp_path: Path) -> None:
    missing = "import importlib.util as u, sys; sys.exit(any(map(u.find_spec, ('triton', 'torch', 'numpy'))))"
    run(elsewhere / "python", "-c", missing, cwd=tmp_path)
    assert "convert" in run(elsewhere / "tlxify", "--help", cwd=tmp_path).stdout
    assert "TLX201" in run(elsewhere / "tlxify", "explain", "TLX201", cwd=tmp_path).stdout
    health = run(elsewhere / "tlxify", "doctor", cwd=tmp_path)
    assert "convert and analyze work" in health.stdout
    where = run(elsewhere / "python", "-c", "import tlxify; print(tlxify.__file__)", cwd=tmp_path).stdout
    assert where.startswith(str(elsewhere.parent)), "the wheel is tested, not the checkout"


def test_it_converts_without_triton_and_torch(elsewhere: Path, tmp_path: Path) -> None:
    shutil.copy(ROOT / "corpus" / "gemm" / "matmul.py", tmp_path / "matmul.py")
    run(elsewhere / "tlxify", "convert", "matmul.py", "-o", "out.py", cwd=tmp_path)
    text = (tmp_path / "out.py").read_text()
    compile(text, "out.py", "exec")
    assert "tlx.async_task(" in text
