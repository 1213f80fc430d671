"""The list of public kernels that coverage is measured by: what counts, and what does not."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
HEAD = "import triton\nimport triton.language as tl\n"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"corpus_{name}", ROOT / "corpus" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


denominator = script("denominator")


def jit(name: str, body: str, parameters: str = "x, n") -> str:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"\n\n@triton.jit\ndef {name}({parameters}):\n{lines}"


def listed(folder: Path, **files: str) -> dict[str, bool]:
    """Name → whether a dot stands in a loop that runs, of the kernels found in files given by `folder__name`."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return {function.name: loop for _, function, loop in denominator.Package(folder).kernels()}


LOOP = "for i in range(n):\n    x = tl.dot(x, x)"


def test_a_dot_in_a_loop_that_runs_is_told_from_one_that_is_unrolled_or_alone(tmp_path: Path):
    text = HEAD + jit("loop", LOOP) + jit("unrolled", LOOP.replace("range", "tl.static_range"))
    text += (
        jit("alone", "tl.dot(x, x)") + jit("none", "tl.load(x)") + jit("turns", "while n > 0:\n    tl.dot_scaled(x, x)")
    )
    assert listed(tmp_path, m=text) == {"loop": True, "unrolled": False, "alone": False, "turns": True}


def test_a_helper_counts_with_its_kernel_alone_also_across_files(tmp_path: Path):
    helper = HEAD + jit("helper", "return tl.dot(x, x)")
    kernel = (
        HEAD + "from .helpers import helper as product\n" + jit("kernel", "for i in range(n):\n    x = product(x, n)")
    )
    found = listed(tmp_path, pkg__helpers=helper, pkg__kernels=kernel, pkg____init__="")
    assert found == {"kernel": True}


def test_a_function_that_is_launched_counts_although_another_calls_it(tmp_path: Path):
    text = HEAD + jit("both", "tl.dot(x, x)") + jit("caller", "both(x, n)") + "\n\ndef host(x):\n    both[(1,)](x, 1)\n"
    assert listed(tmp_path, m=text) == {"both": False, "caller": False}


@pytest.mark.parametrize(
    "head",
    [
        "from triton import jit as make\nfrom triton import language as lang\n",
        "from .compat import triton, tl\n",
        "import triton as t3\nimport triton.language as tl\n",
    ],
)
def test_other_names_of_triton(tmp_path: Path, head: str):
    names = {"@make": ("make", "lang"), "@t3": ("t3.jit", "tl"), "@triton": ("triton.jit", "tl")}
    decorator, language = next(value for key, value in names.items() if key[1:] in head)
    text = f"{head}\n\n@{decorator}\ndef kernel(x, n):\n    {language}.dot(x, x)\n"
    assert listed(tmp_path, m=text) == {"kernel": False}


def test_plain_calls_and_nested_functions_are_kernels(tmp_path: Path):
    text = HEAD + "\n\ndef plain(x):\n    tl.dot(x, x)\n\n\nkernel = triton.jit(plain)\n\n\ndef make():"
    text += jit("inner", "tl.dot(x, x)").replace("\n", "\n    ")
    assert listed(tmp_path, m=text) == {"plain": False, "inner": False}


def test_other_vendors_and_files_that_do_not_parse_are_left_out(tmp_path: Path):
    text = HEAD + jit("kernel", LOOP)
    assert listed(tmp_path, backend___ascend__m=text, backend___nvidia__m=text, broken="def f(:") == {"kernel": True}
    assert len(list(denominator.Package(tmp_path).kernels())) == 1


def test_the_hash_sees_code_and_nothing_else():
    def of(text: str) -> str:
        (function,) = denominator.ast.parse(text).body
        return denominator.normalised(function)

    plain = of("def f(x, n):\n    return x + n\n")
    assert of('@jit\ndef g(x,   n):\n    "Adds."\n    # both\n    return (x + n)\n') == plain
    assert of("def f(x, n):\n    return x - n\n") != plain
    assert of("def f(x, n: int):\n    return x + n\n") != plain


def test_the_list_in_the_repository_is_whole():
    rows = json.loads((ROOT / "corpus" / "denominator.json").read_text())["kernels"]
    assert {row["package"] for row in rows} == set(denominator.WHEELS)
    assert len({row["hash"] for row in rows}) == len(rows)
    assert all(denominator.WHEELS[row["package"]] == row["version"] for row in rows)
    assert not any(set(row["path"].split("/")[:-1]) & denominator.ELSEWHERE for row in rows)
