"""Addresses and masks: which strided tile they are, or why they are none."""

from __future__ import annotations

import pytest

from tests.analyses.kernels import accesses_of, facts_of, problems_of

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
        pytest.param(
            load("i[:, None] * sm + i[None, :]", "(i[:, None] < M) & (i[None, :] < N)"),
            ["sm * (0 + :TM) < M", "1 * (0 + :TM) < N"],
            id="a square tile",
        ),
        pytest.param(
            load("(i % M)[:, None] * sm + k[None, :] * sk", "i[:, None] < M"),
            ["sm * (0 + :TM) < M", DEPTH],
            id="what would wrap is masked",
        ),
        pytest.param(
            "row = pid * TM + i\n"
            + load("tl.program_id(1) * M * sm + row[:, None] * sm + k[None, :] * sk", "row[:, None] < M"),
            ["M * sm * (tl.program_id(1))", "sm * (tl.program_id(0) * TM + :TM) < M", DEPTH],
            id="sequences one after the other",
        ),
        pytest.param(
            "start = tl.load(b_ptr + pid)\n"
            + load("(start + i)[:, None] * sm + k[None, :] * sk", "i[:, None] < M", "0.0"),
            ["sm * (loaded)", "sm * (0 + :TM) < M", DEPTH],
            id="rows from a loaded one on",
        ),
        pytest.param(
            load("i[:, None] * sm + k[None, :] * sk", "i[:, None] < tl.load(b_ptr + pid)"),
            ["sm * (0 + :TM) << loaded", DEPTH],
            id="a loaded bound",
        ),
        pytest.param(
            "end = tl.load(b_ptr + pid)\n"
            + load("(pid * TM + i)[:, None] * sm + k[None, :] * sk", "(pid * TM + i)[:, None] < tl.minimum(end, M)"),
            ["sm * (tl.program_id(0) * TM + :TM) << tl.minimum(loaded, M)", DEPTH],
            id="the smaller of a loaded bound and another",
        ),
        pytest.param(
            load("pid * TK + i[:, None] * sm + k[None, :]", "k[None, :] < TK"),
            ["TK * (tl.program_id(0))", "sm * (0 + :TM)", "1 * (0 + :TK) < TK"],
            id="a tile's length that is also the stride from tile to tile",
        ),
        pytest.param(
            load("(tl.minimum(pid * TM + TM, M) - 1) * N * K + k", "k < K"),
            ["K * N * (tl.minimum((tl.program_id(0) * TM + TM), M) - 1)", "1 * (0 + :TK) < K"],
            id="the last row of a chunk",
        ),
        pytest.param(
            load("(pid + tl.arange(0, 1))[:, None] * sm + k[None, :]"),
            ["sm * (tl.program_id(0))", "1 * (0 + :TK)"],
            id="a range of one",
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
            load("(i % M)[:, None] * sm + k[None, :] * sk", "i[:, None] < N"), "TLX204", id="wrapped and masked"
        ),
        pytest.param(load("i[:, None] * pid + k[None, :] * sk"), "TLX207", id="a stride that differs per program"),
        pytest.param(load("i[:, None] * sm + i[:, None] * sk"), "TLX207", id="a diagonal"),
    ],
)
def test_no_tile(body, code):
    assert problems_of(body) == [code]
    assert accesses_of(body) == []


@pytest.mark.parametrize(("index", "extent"), [("i // 2", None), ("(i % M) // 2", "M"), ("(pid * TM + i) // 2", None)])
def test_a_divided_axis_is_no_tile_of_the_tma_but_its_memory_is_known(index, extent):
    facts = facts_of(load(f"({index})[:, None] * sm + k[None, :] * sk"))
    assert [diagnostic.code for _, diagnostic in facts.problems] == ["TLX208"]
    ((_, access),) = facts.accesses
    rows = access.dimensions[-2]
    assert (rows.stride.text(), rows.divisor.text()) == ("sm", "2")
    assert (rows.extent.text() if rows.extent is not None else None) == extent


def test_where_masked_elements_read_as_one_the_tile_is_known_but_no_ring_may_fill_it():
    body = load(PLAIN, "i[:, None] < M", "1.0")
    assert problems_of(body) == ["TLX205"]
    assert accesses_of(body) == accesses_of(load(PLAIN, "i[:, None] < M"))


def test_the_index_of_a_gather_is_a_tile_and_the_gather_is_rows_of_one():
    body = load("tl.load(b_ptr + i)[:, None] * sm + k[None, :] * sk")
    assert accesses_of(body) == [["1 * (0 + :TM)"], ["sm * (loaded)", "sk * (0 + :TK)"]]
    assert problems_of(body) == ["TLX202"]


@pytest.mark.parametrize(
    ("rows", "step", "coordinate"),
    [
        ("ids[:, None] * sm", "sm", "ids"),
        ("(ids[:, None] // 2) * sm", "sm", "(ids // 2)"),
        ("ids[:, None].to(tl.int64) * sm", "sm", "ids"),
        ("tl.minimum(ids, M)[:, None] * sm", "sm", "tl.minimum(ids, M)"),
        ("(ids * 4 + pid)[:, None] * sm", "4 * sm", "ids"),
    ],
)
def test_what_picks_a_row_is_a_scalar_that_stands_for_a_block(rows, step, coordinate):
    facts = facts_of("ids = tl.load(b_ptr + i)\n" + load(f"{rows} + k[None, :] * sk"))
    ids = next(load.symbol for load in facts.loads if load.pointer == "b_ptr").name
    access = next(access for _, access in facts.accesses if access.pointer == "a_ptr")
    picked = access.dimensions[0]
    assert access.gathered == {0}
    assert (picked.stride.text(), picked.coordinate.text().replace(ids, "ids")) == (step, coordinate)
    assert picked.axis is None


@pytest.mark.parametrize(
    "rows",
    [
        "(ids[:, None] + ids[None, :]) * sm",  # one index along both axes
        "tl.cumsum(ids, 0)[:, None] * sm",
    ],
)
def test_what_is_not_followed_position_by_position_is_no_row(rows):
    facts = facts_of("ids = tl.load(b_ptr + i)\n" + load(f"{rows} + k[None, :] * sk"))
    assert [access.pointer for _, access in facts.accesses] == ["b_ptr"]
    assert [diagnostic.code for _, diagnostic in facts.problems] == ["TLX202"]


def test_gathered_rows_step_with_a_loop():
    facts = facts_of(
        "ids = tl.load(b_ptr + i)\nptrs = a_ptr + ids[:, None] * sm + k[None, :]\nfor t in range(0, K, TK):\n"
        "    a = tl.load(ptrs, mask=k[None, :] < K - t, other=0.0)\n    ptrs += TK\n"
        "    c = tl.dot(a, tl.zeros((TK, TM), tl.float16))"
    )
    access = next(access for _, access in facts.accesses if access.pointer == "a_ptr")
    row = access.dimensions[-1]
    assert row.coordinate.divide(facts.axis(row.axis).length)[0].text().startswith("trip@")
    assert row.extent.text() == "K"
    assert access.row == row.axis


@pytest.mark.parametrize(
    ("mask", "patchy"),
    [
        ("(ids[:, None] < M) & (k[None, :] < K)", {0}),
        ("(i[:, None] < M) & (k[None, :] < K)", set()),
        ("ids[:, None] < M", {0}),
        ("(ids[:, None] + k[None, :]) < M", {0, 1}),
        ("(k[None, :] < K) & (tl.load(c_ptr + k)[None, :] > 0)", {1}),
    ],
)
def test_along_which_axes_a_mask_is_no_bound(mask, patchy):
    facts = facts_of("ids = tl.load(b_ptr + i)\n" + load("ids[:, None] * sm + k[None, :]", mask))
    access = next(access for _, access in facts.accesses if access.pointer == "a_ptr")
    assert access.patchy == patchy


GROUP = """
end = tl.load(b_ptr + pid)
row = pid * TM + i
a = tl.load(a_ptr + row[:, None] * sm + k[None, :], mask=row[:, None] < end, other=0.0)
b = tl.load(b_ptr + k[:, None] * sk + j[None, :])
c = tl.dot(a, b)
tl.store(c_ptr + row[:, None] * sn + j[None, :], c, mask={mask})
"""


@pytest.mark.parametrize(
    ("mask", "rows"),
    [
        pytest.param("row[:, None] < end", "[loaded]", id="as the load"),
        pytest.param("(row[:, None] < end) & (j[None, :] < N)", "[loaded]", id="and the columns"),
        pytest.param("(row[:, None] < end) & (j[None, :] >= pid)", "[loaded]", id="and more"),
        pytest.param("row[:, None] < M", "<< loaded", id="by another bound"),
        pytest.param("j[None, :] < N", "<< loaded", id="not at all"),
    ],
)
def test_the_end_of_a_group_need_not_hold_where_every_store_masks_it(mask, rows):
    first, *_ = accesses_of(GROUP.format(mask=mask))
    assert first == [f"sm * (tl.program_id(0) * TM + :TM) {rows}", "1 * (0 + :TK)"]


def test_a_loaded_bound_of_the_contracted_axis_holds():
    body = GROUP.format(mask="row[:, None] < end").replace(
        "mask=row[:, None] < end, other", "mask=k[None, :] < end, other"
    )
    first, *_ = accesses_of(body)
    assert first[1] == "1 * (0 + :TK) << loaded"


def test_a_mask_with_more_than_bounds_is_partial():
    facts = facts_of(load(PLAIN, "(i[:, None] < M) & (i[:, None] >= k[None, :])"))
    ((_, access),) = facts.accesses
    assert access.partial
    assert access.dynamic
    assert str(access.dimensions[0].extent) == "M"


def test_nothing_is_written_with_a_name_that_not_every_way_binds():
    facts = facts_of("if FLAG:\n    start = pid * TM\nx = tl.load(a_ptr + (pid * TM + i)[:, None] * sm + k[None, :])")
    assert "start" not in dict(facts.loads[0].scope)
    facts = facts_of("start = pid * TM\nx = tl.load(a_ptr + (pid * TM + i)[:, None] * sm + k[None, :])")
    assert "start" in dict(facts.loads[0].scope)
