"""Diagnostics: the catalogue is complete, every use of a code fits it, and the rendering shows what a user needs."""

from __future__ import annotations

import ast
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

from tlxify.catalogue import CATALOGUE, Rule
from tlxify.diagnostics import Decline, Diagnostic, render
from tlxify.source import SourceFile, Span

ROOT = Path(__file__).parents[1]
RULES = list(CATALOGUE.values())


@pytest.mark.parametrize("rule", RULES, ids=[rule.code for rule in RULES])
def test_a_row_is_well_formed(rule: Rule) -> None:
    assert rule.fact.endswith((".", "].")), "the fact is a sentence"
    assert rule.remedy.endswith("."), "the remedy is a sentence"
    assert rule.why.endswith(".")
    assert not rule.title.endswith("."), "the title is a heading"
    assert rule.title[0].islower()
    if not rule.snippet.startswith("tlxify ") and rule.code != "TLX101":
        # A fragment may be the inside of a function.
        ast.parse("def fragment():\n" + "".join(f"    {line}\n" for line in rule.snippet.splitlines()))


def test_the_example_of_a_syntax_error_is_one() -> None:
    with pytest.raises(SyntaxError):
        ast.parse(CATALOGUE["TLX101"].snippet)


def test_optional_facts_vanish_and_values_are_taken_literally() -> None:
    assert Diagnostic.of("TLX201", None, name="a_ptr").message.endswith("tile offsets.")
    assert Diagnostic.of("TLX201", None, name="a_ptr", why=None).message.endswith("tile offsets.")
    assert Diagnostic.of("TLX201", None, name="{why}", why="[x: {name}]").message == (
        "The address of `{why}` is not a base plus strides times tile offsets: [x: {name}]."
    )


def test_wrong_use_of_the_catalogue_is_a_fault_of_the_caller() -> None:
    with pytest.raises(LookupError, match="TLX999"):
        Diagnostic.of("TLX999", None)
    with pytest.raises(TypeError, match="lacks the facts \\['name'\\]"):
        Diagnostic.of("TLX201", None)
    with pytest.raises(TypeError, match="no place for the facts \\['colour'\\]"):
        Diagnostic.of("TLX201", None, name="a", colour="red")


def test_a_decline_carries_its_diagnostic() -> None:
    span = Span(3, 4, 3, 9)
    with pytest.raises(Decline, match="TLX301") as caught:
        raise Decline("TLX301", span, name="add")
    assert caught.value.diagnostic == Diagnostic("TLX301", span, (("name", "add"),))


def test_rendering_shows_place_line_carets_fact_remedy_and_page() -> None:
    source = SourceFile("pkg/m.py", "import x\n    é = tl.load(ptrs)  # comment\n")
    text = render(Diagnostic.of("TLX313", Span(2, 9, 2, 22), name="a", why="summed in line 9"), source)
    assert text.splitlines() == [
        "pkg/m.py:2:9: declined: TLX313 operand has a second use",
        "  The loaded operand `a` is used for something besides the dot, and is not bound by itself: summed in line 9.",
        "",
        "    2 |     é = tl.load(ptrs)  # comment",
        "      |         ^^^^^^^^^^^^^",
        "",
        "  help: Bind what is loaded to a name, in a statement that does nothing else.",
        "  more: tlxify explain TLX313",
    ]


def test_rendering_without_a_place_names_the_file_alone() -> None:
    text = render(Diagnostic.of("TLX605", None, why="torch is not installed"), SourceFile("m.py", ""))
    assert text.startswith("m.py: warning: TLX605")
    assert "|" not in text


def uses() -> Iterator[tuple[str, str, frozenset[str]]]:
    """Place, code and fact names of each diagnostic that the package makes with a literal code."""
    for path in sorted((ROOT / "tlxify").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(args=[ast.Constant(value=str() as code), *_], keywords=keywords) if code.startswith(
                    "TLX"
                ):
                    if all(keyword.arg for keyword in keywords):
                        names = frozenset(str(keyword.arg) for keyword in keywords)
                        yield f"{path.relative_to(ROOT)}:{node.lineno}", code, names


def test_every_use_of_a_code_brings_its_facts() -> None:
    found = list(uses())
    assert found, "no use was found: this test looks for the wrong thing"
    for place, code, names in found:
        assert code in CATALOGUE, f"{place} uses the unknown code {code}"
        rule = CATALOGUE[code]
        assert rule.required <= names <= rule.accepted, (
            f"{place}: {code} needs {sorted(rule.required)} and takes {sorted(rule.accepted)}, given {sorted(names)}"
        )


def test_the_pages_are_current() -> None:
    pages: dict[Path, str] = runpy.run_path(str(ROOT / "docs" / "generate.py"))["pages"]()
    assert {path.name for path in (ROOT / "docs" / "diagnostics").glob("*.md")} == {path.name for path in pages}
    for path, text in pages.items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is not current: run `make docs`"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("((step * trip@12:4 + first) // n)", "((step * trips_of_line_12 + first) // n)"),
        ("trip@12:4<40:8 and load@7:9 or pid@after 12:4", "trips_of_line_12 and loaded_of_line_7 or pid"),
        ("either where@3:2, either @5:6, x.0@9:1", "chosen_of_line_3, chosen_of_line_5, x"),
        ("it can neither be inferred nor is it a @ b", "it can neither be inferred nor is it a @ b"),
    ],
)
def test_messages_call_scalars_as_the_source_does(text, told):
    assert told in Diagnostic.of("TLX606", None, name="kernel", why=text).message
