"""What differs between releases of Triton is known in one file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("triton")

import tlx
from tlx.lowering import versions

pytestmark = pytest.mark.triton

PACKAGE = Path(tlx.__file__).parent
#: Which release was used is told or compared in records of runs; nothing is done otherwise by it.
RECORDS = {"launch/proofs.py", "launch/shadow.py"}
#: what a test of Triton's insides is made on
INSIDES = re.compile(
    r"\b(triton|knobs|gluon\w*|ttgl|ir|Gluon\w+|JITFunction|GPUTarget|\w*[bB]ackend|blackwell|hopper|tma)\b"
)
#: Meta's Triton asks this of a target, no release of the stock one does.
NOT_RELEASES = {("install.py", "hasattr(GPUTarget, 'is_cuda_backend')")}


def questions(path: Path) -> Iterator[str]:
    """Expressions in a file of ours that ask for a release, or take one Triton's insides for another's."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and node.attr == "__version__":
            yield ast.unparse(node)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"3\.\d+\.?", node.value):
            yield repr(node.value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            asked = ast.unparse(node.func) in ("hasattr", "inspect.getsource", "inspect.signature")
            if asked and INSIDES.search(ast.unparse(node.args[0])):
                yield ast.unparse(node)


def test_no_other_file_asks_for_a_release():
    asked = {
        (str(path.relative_to(PACKAGE)), question)
        for path in PACKAGE.rglob("*.py")
        if path != Path(versions.__file__)
        for question in questions(path)
    }
    assert {(file, question) for file, question in asked if file not in RECORDS} == NOT_RELEASES
    assert {file for file, question in asked if "__version__" in question} == RECORDS


@pytest.mark.parametrize(
    "text",
    [
        "import triton\nif triton.__version__.startswith('x'): pass",
        "old = release == '3.6'",
        "new = hasattr(GluonOpBuilder, 'create_x')",
        "import inspect\nthree = 'x' in inspect.signature(tma.async_load).parameters",
    ],
)
def test_questions_are_found(text, tmp_path):
    (tmp_path / "asks.py").write_text(text)
    assert len(list(questions(tmp_path / "asks.py"))) == 1
