"""Kernels that jit code of their own file calls too: launches in other files tell them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden import CASES, read
from tlxify.job import converted, standing
from tlxify.migrate.elsewhere import _launched, _launching, launched_elsewhere
from tlxify.migrate.run import Request, migrate
from tlxify.source import SourceFile

PLAIN = read(CASES / "address" / "recomputed.py").source
ARGUMENTS = PLAIN[PLAIN.index("def kernel(") + len("def kernel(") : PLAIN.index("):")]
NAMES = ", ".join(one.split(":")[0] for one in ARGUMENTS.split(", "))
#: The kernel under a name of its own, and one that is nothing but a call of it.
BOTH = (
    PLAIN.replace("def kernel(", "def product(").rstrip("\n")
    + f"\n\n\n@triton.jit\ndef around({ARGUMENTS}):\n    product({NAMES})\n"
)


@pytest.fixture(autouse=True)
def fresh() -> None:
    """Children read a tree once."""
    _launching.cache_clear()
    _launched.cache_clear()


def package(folder: Path, **files: str) -> Path:
    for name, text in {"__init__": "", "kernels": BOTH, **files}.items():
        path = folder / "pkg" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "pkg"


def found(folder: Path, *roots: Path) -> frozenset[str]:
    source = SourceFile.read(folder / "kernels.py")
    return launched_elsewhere(source, [str(root) for root in roots or (folder,)])


@pytest.mark.parametrize(
    "use",
    [
        "from .kernels import product\nproduct[(1,)](x)\n",
        "from .kernels import product as p\n\n\ndef f(x):\n    p[lambda meta: (1,)](x)\n",
        "from . import kernels\nkernels.product[\n    (1,)\n](x)\n",
        "from . import kernels as k\nk.product.run(x, grid=(1,), warmup=False)\n",
        "import pkg.kernels\npkg.kernels.product[(1,)](x)\n",
        "from pkg.kernels import *\nproduct[(1,)](x)\n",
        "def f(x):\n    from .kernels import product\n\n    product[(1,)](x)\n",
        "try:\n    from .kernels import product\nexcept ImportError:\n    product = None\n\nproduct[(1,)](x)\n",
    ],
)
def test_a_launch_in_another_file_makes_a_kernel(tmp_path: Path, use: str):
    assert found(package(tmp_path, use=use)) == {"product"}


def test_names_may_be_passed_on(tmp_path: Path):
    folder = package(tmp_path, ops="from .kernels import product\n", use="from .ops import product\nproduct[(1,)](x)\n")
    assert found(folder) == {"product"}


@pytest.mark.parametrize(
    "use",
    [
        "from .kernels import product\nproduct(x)\n",
        "from .other import product\nproduct[(1,)](x)\n",  # another one of that name
        "product = {}\nproduct[(1,)](x)\n",
        "from .kernels import around\naround[(1,)](x)\n",  # a kernel as it is
        "from .kernels import product\nproduct[(1,)](x\n",  # no Python
    ],
)
def test_what_is_no_launch_of_it_makes_none(tmp_path: Path, use: str):
    assert found(package(tmp_path, use=use, other=BOTH)) == frozenset()


def test_files_that_were_not_asked_for_do_not_count(tmp_path: Path):
    folder = package(tmp_path, use="from .kernels import product\nproduct[(1,)](x)\n")
    assert found(folder, folder / "kernels.py") == frozenset()


def test_it_is_converted_and_bound_and_verified_as_it_stands(tmp_path: Path):
    folder = package(tmp_path, use="import triton\nfrom .kernels import product\nproduct[(1,)](x)\n")
    (record,) = [record for record in migrate(Request((folder,), write=True)) if record.file.endswith("kernels.py")]
    assert {item.kernel: item.verdict for item in record.kernels} == {"product": "converted", "around": "converted"}
    assert {item.family for item in record.kernels} == {"GEMM"}
    text = (folder / "kernels.py").read_text()
    assert text.index("product = _specialized.specialize_product(product)") < text.index("def around(")
    conversion = standing(folder / "kernels.py", ())
    assert conversion is not None
    assert {kernel.name for kernel in conversion.kernels} == {"product", "around"}


def test_whoever_names_it_launches_it(tmp_path: Path):
    folder = package(tmp_path)
    conversion = converted(folder / "kernels.py", (), "auto")
    assert [kernel.name for kernel in conversion.kernels] == ["around"]
    conversion = converted(folder / "kernels.py", ("product",), "auto")
    assert [(kernel.name, kernel.verdict_word) for kernel in conversion.kernels] == [("product", "converted")]


def test_a_file_of_a_package_is_converted_with_what_the_package_launches(tmp_path: Path):
    folder = package(tmp_path, use="from .kernels import product\nproduct[(1,)](x)\n")
    deep = folder / "ops"
    deep.mkdir()
    (deep / "__init__.py").touch()
    (folder / "kernels.py").rename(deep / "kernels.py")
    (folder / "use.py").write_text("from .ops.kernels import product\nproduct[(1,)](x)\n")
    names = [kernel.name for kernel in converted(deep / "kernels.py", (), "auto").kernels]
    assert names == ["product", "around"]
    (folder / "__init__.py").unlink()
    _launching.cache_clear()
    names = [kernel.name for kernel in converted(deep / "kernels.py", (), "auto").kernels]
    assert names == ["around"], "what lies around a package is not looked through"
