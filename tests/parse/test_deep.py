"""Trees so deep that no walk over them returns: declined, for that is the user's code and no fault of the tool."""

from __future__ import annotations

from pathlib import Path

import pytest

from tlxify.diagnostics import Decline
from tlxify.migrate.work import Work, record
from tlxify.parse.enclosed import statements_of
from tlxify.parse.module import parse_module
from tlxify.pipeline import convert
from tlxify.source import SourceFile

GEMM = (Path(__file__).parents[2] / "corpus" / "gemm" / "matmul.py").read_text()


def terms(count: int) -> str:
    return " + ".join(["1"] * count)


@pytest.mark.parametrize("text", [f"X = {terms(100_000)}\n", f"X = {'-' * 20_000}1\n"], ids=["terms", "signs"])
def test_what_pythons_parser_cannot_read_is_no_fault_of_ours(text: str):
    with pytest.raises(Decline) as refusal:
        parse_module(SourceFile("m.py", GEMM + text))
    assert refusal.value.diagnostic.code == "TLX101"
    assert "hundreds of levels" in refusal.value.diagnostic.message


def test_a_kernel_too_deep_to_be_walked_is_declined(tmp_path: Path):
    first = next(line for line in GEMM.splitlines(keepends=True) if "tl.program_id" in line)
    path = tmp_path / "m.py"
    path.write_text(GEMM.replace(first, f"{first}    deep = {terms(2000)}\n", 1))
    found = record(Work(str(path)))
    assert [(item.verdict, item.codes) for item in found.kernels] == [("declined", ("TLX104",))]
    assert "hundreds of levels" in found.kernels[0].message


def test_recursion_of_our_own_is_not_passed_off_as_theirs(monkeypatch: pytest.MonkeyPatch):
    def endless(*_: object) -> None:
        endless()

    monkeypatch.setattr("tlxify.pipeline.analyze_kernel", endless)
    monkeypatch.setattr("tlxify.pipeline.readings", endless)
    with pytest.raises(RecursionError):
        convert(SourceFile("m.py", GEMM))


def test_a_chain_of_elif_is_no_depth():
    chain = "".join(f"    elif a == {number}:\n        return {number}\n" for number in range(2000))
    source = SourceFile("m.py", f"{GEMM}\n\ndef other(a):\n    if a:\n        return 0\n{chain}")
    assert [kernel.verdict_word for kernel in convert(source).kernels] == ["converted"]


def test_statements_come_in_the_order_of_the_file():
    import ast

    text = (
        "a = 0\nif a:\n  b = 1\nelif c:\n  d = 2\nelse:\n  e = 3\ntry:\n  f = 4\nexcept X:\n  g = 5\nelse:\n  h = 6\n"
        "finally:\n  i = 7\nwith j:\n  k = 8\nfor l in m:\n  n = 9\n"
    )
    found = [s.targets[0].id for s in statements_of(ast.parse(text).body) if isinstance(s, ast.Assign)]
    assert found == list("abdefghik")
