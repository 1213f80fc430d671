"""Addresses and masks: which strided tile they are, or why they are none."""

from __future__ import annotations

import pytest

from tests.analyses.kernels import accesses_of, problems_of

ROWS, DEPTH = "sm * (0 + :TM)", "sk * (0 + :TK)"
WALK = """
p = a_ptr + {base}
for t in range(0, tl.cdiv(K, TK)):
    x = tl.load(p{mask})
    p += {step}
"""


def walk(base, step, mask=""):
    return WALK.format(base=base, step=step, mask=mask and f", mask={mask}, other=0.0")


def load(address, mask="", other=""):
    return f"x = tl.load(a_ptr + {address}{mask and f', mask={mask}'}{other and f', other={other}'})"


PLAIN = "i[:, None] * sm + k[None, :] * sk"


@pytest.mark.parametrize(
    ("body", "dimensions"),
    [
        pytest.param(load(PLAIN), [ROWS, DEPTH], id="two strides"),
        pytest.param(
            load("(pid * TM + i)[:, None] * sm + k[None, :] * sk", "(pid * TM + i)[:, None] < M"),
            ["sm * (tl.program_id(0) * TM + :TM) < M", DEPTH],
            id="tile of a program",
        ),
        pytest.param(load(PLAIN, "M > i[:, None]"), [f"{ROWS} < M", DEPTH], id="mask the other way around"),
        pytest.param(load(PLAIN, "i[:, None] <= M - 1"), [f"{ROWS} < M", DEPTH], id="mask up to and including"),
        pytest.param(
            load("(i[:, None] + 3) * sm + k[None, :] * sk", "i[:, None] + 3 < M"),
            ["sm * (3 + :TM) < M", DEPTH],
            id="shifted",
        ),
        pytest.param(
            load("i[:, None] * (2 * sm) + k[None, :] * sk"), ["2 * sm * (0 + :TM)", DEPTH], id="every other row"
        ),
        pytest.param(
            load("k[:, None] + j[None, :] * sn", "(k[:, None] < K) & (j[None, :] < N)"),
            ["1 * (0 + :TK) < K", "sn * (0 + :TN) < N"],
            id="unit stride first",
        ),
        pytest.param(
            load("((pid * TM + i) % M)[:, None] * sm + k[None, :] * sk"),
            ["sm * (tl.program_id(0) * TM + :TM) % M", DEPTH],
            id="wrapped rows",
        ),
        pytest.param(
            load("tl.program_id(1) * sb + " + PLAIN), ["sb * (tl.program_id(1))", ROWS, DEPTH], id="one batch index"
        ),
        pytest.param(
            load("tl.program_id(1) * sb + tl.program_id(2) * sn + " + PLAIN),
            ["sb * (tl.program_id(1))", "sn * (tl.program_id(2))", ROWS, DEPTH],
            id="two batch indices",
        ),
        pytest.param(
            walk(PLAIN, "TK * sk", "k[None, :] < K - t * TK"),
            [ROWS, "sk * (trip * TK + :TK) < K"],
            id="pointer that walks",
        ),
        pytest.param(
            walk("i[:, None] * sm + k[None, :]", "TK", "k[None, :] < K - t * TK"),
            [ROWS, "1 * (trip * TK + :TK) < K"],
            id="pointer that walks along the unit stride",
        ),
        pytest.param(
            walk("i[:, None] * sm + k[None, :]", "TK"), [ROWS, "1 * (trip * TK + :TK)"], id="the same without a mask"
        ),
        pytest.param(
            walk(
                "tl.program_id(1) * sb + (pid * TM + i)[:, None] * sm + k[None, :]",
                "TK",
                "((pid * TM + i)[:, None] < M) & (k[None, :] < K - t * TK)",
            ),
            ["sb * (tl.program_id(1))", "sm * (tl.program_id(0) * TM + :TM) < M", "1 * (trip * TK + :TK) < K"],
            id="batch, masked rows and a unit stride",
        ),
        pytest.param(
            "for t in range(0, tl.cdiv(K, TK)):\n"
            "    x = tl.load(a_ptr + i[:, None] * sm + (t * TK + k)[None, :] * sk, mask=(t * TK + k)[None, :] < K)",
            [ROWS, "sk * (trip * TK + :TK) < K"],
            id="recomputed in the loop",
        ),
        pytest.param(
            "for t in range(0, K, TK):\n    x = tl.load(a_ptr + i[:, None] * sm + (t + k)[None, :] * sk)",
            [ROWS, "sk * (trip * TK + :TK)"],
            id="counter in elements",
        ),
    ],
)
def test_a_tile(body, dimensions):
    assert accesses_of(body) == [dimensions]
    assert problems_of(body) == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        pytest.param(load("pid + " + PLAIN), "TLX201", id="elements that belong to no axis"),
        pytest.param(load("i[:, None] * sm + tl.zeros((1, TK), tl.int32)"), "TLX201", id="an axis that does not move"),
        pytest.param(load("b_ptr + " + PLAIN), "TLX201", id="two pointers"),
        pytest.param(
            "s = 1\n"
            "p = a_ptr + i[:, None] * sm + k[None, :] * sk\n"
            "for t in range(0, K):\n"
            "    x = tl.load(p)\n"
            "    p += s * sk\n"
            "    s = s + 1",
            "TLX203",
            id="a step that changes",
        ),
        pytest.param(load(PLAIN, "(i[:, None] < M) & (i[:, None] < N)"), "TLX204", id="two bounds on an axis"),
        pytest.param(load(PLAIN, "(i[:, None] < M) | (k[None, :] < K)"), "TLX204", id="either of two bounds"),
        pytest.param(load(PLAIN, "i[:, None] >= 0"), "TLX204", id="a lower bound"),
        pytest.param(
            load("(i % M)[:, None] * sm + k[None, :] * sk", "i[:, None] < M"), "TLX204", id="wrapped and masked"
        ),
        pytest.param(load(PLAIN, "i[:, None] < M", "1.0"), "TLX205", id="masked elements read as one"),
        pytest.param(load("i[:, None] * pid + k[None, :] * sk"), "TLX207", id="a stride that differs per program"),
        pytest.param(load("i[:, None] * sm + i[None, :] * sk"), "TLX207", id="a diagonal"),
        pytest.param(load("(i // 2)[:, None] * sm + k[None, :] * sk"), "TLX208", id="a divided index"),
        pytest.param(load(PLAIN, "i[:, None] < pid"), "TLX211", id="a bound that differs per program"),
    ],
)
def test_no_tile(body, code):
    assert problems_of(body) == [code]
    assert accesses_of(body) == []


def test_the_index_of_a_gather_is_a_tile_and_the_gather_is_none():
    body = load("tl.load(b_ptr + i)[:, None] * sm + k[None, :] * sk")
    assert accesses_of(body) == [["1 * (0 + :TM)"]]
    assert problems_of(body) == ["TLX202"]
