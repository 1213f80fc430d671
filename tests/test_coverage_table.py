"""The coverage page: sums that add up, shares that no package decides alone."""

from __future__ import annotations

import pytest

from .test_denominator import script

page = script("coverage_table")


def row(
    name: str,
    outcome: str | None = None,
    *,
    code: str = "TLX201",
    package: str = "big",
    on: str = "converted",
    protocol: str | None = "holds",
    dots: tuple[int, int] = (1, 0),
):
    verdict = "declined" if outcome is None else "converted"
    codes = [code] if outcome is None else []
    result = {"outcome": outcome, "findings": [f"mismatch: {name} differs"]}
    return {
        "package": package,
        "path": "m.py",
        "name": name,
        "family": "GEMM",
        "loop": True,
        "off": {"verdict": verdict, "codes": codes, "message": f"The address of `{name}` is odd."},
        "on": {"verdict": on if outcome else "declined", "codes": codes, "message": ""},
        "simulated": None if outcome is None else result,
    } | (
        {}
        if outcome is None or protocol is None
        else {
            "protocol": {"outcome": protocol, "findings": [] if protocol == "holds" else [f"{protocol}: `{name}`"]},
            "dots": {"in_place": dots[0], "in_registers": dots[1]},
        }
    )


OUTCOMES = ("agrees", "short", "disagrees", "crash", "timeout", "source fails", "not run", None)


def test_every_kernel_is_in_exactly_one_column():
    rows = [row(f"k{number}", outcome) for number, outcome in enumerate(OUTCOMES)] + [row("k", code="TLX606")]
    rows += [row("k", outcome, protocol=held) for outcome in ("agrees", "short") for held in ("not-proved", None)]
    exclusive = [test for name, test in page.COLUMNS.items() if name not in page.SUBSETS]
    assert [sum(test(item) for test in exclusive) for item in rows] == [1] * len(rows)


def test_only_what_agreed_at_length_counts():
    rows = [row("k", outcome) for outcome in OUTCOMES]
    assert page.share(rows) == pytest.approx(100 / len(rows))


@pytest.mark.parametrize("protocol", ["not-specialized", "not-proved", "crash", None])
def test_what_agreed_counts_only_if_its_protocol_holds(protocol):
    rows = [row("good", "agrees"), row("other", "agrees", protocol=protocol)]
    assert page.share(rows) == pytest.approx(50)
    text = page.table(rows)
    assert (f"- protocol: `other` (big, `m.py`): {protocol}: `other`" in text) == (protocol is not None)
    assert "| all | 2 | 2 | 1 | 1 |  | 1 |" in text


def test_dots_in_place_are_told_from_those_on_registers():
    rows = [
        row("slots", "agrees", dots=(2, 0)),
        row("both", "agrees", dots=(1, 1)),
        row("registers", "agrees", dots=(0, 1)),
    ]
    rows += [row("wrong", "disagrees"), row("left")]
    text = page.table(rows)
    assert "| a dot in a loop that runs, converted | 3 | 60.0 % | 60.0 % | 60.0 % |" in text
    assert "| a dot in a loop that runs, in place | 2 | 40.0 % | 40.0 % | 40.0 % |" in text
    assert "1 of the 2 kernels with a dot in place have all of their dots there." in text


def test_the_mean_weighs_packages_alike():
    rows = [row("k", "agrees")] * 9 + [row("k", None, package="small")]
    assert page.share(rows) == pytest.approx(90)
    assert page.mean_share(rows, "package") == pytest.approx(50)


def test_the_page_lists_faults_and_reasons():
    text = page.table([row("good", "agrees", on="unprofitable"), row("bad", "disagrees"), row("left")])
    assert "- disagrees: `bad` (big, `m.py`): mismatch: bad differs" in text
    assert "[TLX201](diagnostics/TLX201.md) | 1 |" in text
    assert "good differs" not in text
    assert "| all | 3 | 3 | 1 |" in text
