"""Beside the real packages that also install a `tlx`: in either order a working tool or one clear message.

`TLX_NEIGHBOURS` names a folder with wheels of `tlx` (an unrelated library) and of `triton-utlx` (Meta's plugin, which
brings a `tlx` of its own). `make neighbours` downloads them and runs these tests, under the Triton that the plugin fits
and under one that it does not. Without the folder they are skipped; those in tests/tlx/test_install.py use stand-ins.
"""

from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path

import pytest

pytest.importorskip("build", reason="the extra `dev` brings it")
pytest.importorskip("triton", reason="tlx runs on Triton")

from tests.packaging.test_wheel import dist, environment, run

__all__ = ["dist"]
pytestmark = [pytest.mark.slow, pytest.mark.triton]

NEIGHBOURS = {"tlx": "tlx-*.whl", "triton-utlx": "triton_utlx-*.whl"}
#: a source written for Meta's TLX, compiled by whatever it finds under the fork's name
SOURCE = """
import triton.language.extra.tlx as tlx
print(tlx.__name__, hasattr(tlx, "specialized"))
"""


@pytest.fixture(params=NEIGHBOURS)
def neighbour(request: pytest.FixtureRequest) -> Path:
    folder = os.environ.get("TLX_NEIGHBOURS")
    if not folder:
        pytest.skip("TLX_NEIGHBOURS names no folder of wheels: run make neighbours")
    found = sorted(Path(folder).glob(NEIGHBOURS[request.param]))
    assert found, f"{folder} has no wheel of {request.param}"
    return found[-1].resolve()


def fits(neighbour: Path) -> bool:
    """Whether a neighbour runs beside this Triton at all: the plugin carries the version of the one that it fits."""
    version = neighbour.name.split("-")[1]
    return "utlx" not in neighbour.name or version.split(".")[:2] == metadata.version("triton").split(".")[:2]


def test_installed_after_the_other(neighbour: Path, dist: Path, tmp_path: Path) -> None:
    (ours,) = dist.glob("*.whl")
    tools = environment(tmp_path / "environment", neighbour, ours, beside=("triton", "click"))
    (tmp_path / "source.py").write_text(SOURCE)
    done = run(tools / "python", "-m", "tlx", "run", "source.py", cwd=tmp_path, check=fits(neighbour))
    if not fits(neighbour):
        # Triton may end while it loads the plugin. We say so before, unless the plugin's own hook has Triton loaded
        # when Python starts: then it is the loader that names the plugin.
        assert "is built for Triton 3.8" in done.stderr or "Failed to load plugin" in done.stderr
        return
    assert done.stdout.strip() == "tlx True"
    health = run(tools / "tlxify", "doctor", cwd=tmp_path, check=False).stdout
    assert "ours" in health
    assert "overwritten" not in health


def test_installed_before_the_other(neighbour: Path, dist: Path, tmp_path: Path) -> None:
    if not fits(neighbour):
        pytest.skip("the plugin's own tlx, which came last, is for another Triton and ends the process")
    (ours,) = dist.glob("*.whl")
    tools = environment(tmp_path / "environment", ours, neighbour, beside=("triton", "click"))
    (tmp_path / "source.py").write_text(SOURCE)
    other = neighbour.name.split("-")[0].replace("_", "-")
    done = run(tools / "python", "-m", "tlx", "run", "source.py", cwd=tmp_path, check=False)
    assert done.returncode != 0
    assert done.stderr.startswith(f"Error: {other} ")
    assert f"Remove it and put ours back: pip uninstall {other}, then" in done.stderr
    health = run(tools / "tlxify", "doctor", cwd=tmp_path, check=False)
    assert health.returncode == 1
    assert f"{other} has overwritten" in health.stdout
    # A generated module finds a `tlx` that is not ours and leaves the original kernels in place.
    guard = 'import tlx\nif not hasattr(tlx, "specialized"):\n    raise ImportError("another")\n'
    assert "ImportError: another" in run(tools / "python", "-c", guard, cwd=tmp_path, check=False).stderr
