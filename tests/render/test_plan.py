"""The plan's tables say what the plan says, with the bytes of each config."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from tlxify.contract import Contract, LaunchConfig
from tlxify.plan import Barrier, Buffer, DotStep, LaunchGuard, Plan, Ring, Split, Task, View
from tlxify.render.plan import plan_tables, stage_bytes
from tlxify.source import Span

HERE = Span(1, 0, 1, 1)
A = View("a_desc", "a_ptr", ("M", None), ("stride_am", "1"), None)
B = View("b_desc", "b_ptr", ("K", "N"), ("stride_bk", "stride_bn"), "B_ROWS_OUTER")
PLAN = Plan(
    kernel="kernel",
    converted="_kernel_ws",
    schedule="cooperative",
    target="sm_90",
    ring=Ring(
        loop=HERE,
        buffers=(
            Buffer("a_ring", A, ("BLOCK_M", "BLOCK_K"), 0, ("pid_m * BLOCK_M", "k"), frozenset(), HERE, HERE),
            Buffer("b_ring", B, ("BLOCK_K", "BLOCK_N"), None, ("k", "pid_n * BLOCK_N"), frozenset(), HERE, HERE),
        ),
        dots=(DotStep(HERE, HERE, "acc", "a_ring", "b_ring", False, False),),
        full="full",
        empty="empty",
        variable="k",
        start="0",
        stop="K",
        counted_by_loop=True,
        reused=False,
    ),
    barriers=(Barrier("full", "1", "producer", "consumer", "the slot [holds] its tiles"),),
    tasks=(
        Task("producer", "4", None, None, frozenset()),
        Task("consumer", "CONSUMER_WARPS", "CONSUMER_REGISTERS", "CONSUMERS", frozenset({HERE})),
    ),
    edges=(),
    split=Split("BLOCK_M", "ROWS", "group", ()),
    persistence=None,
    guard=LaunchGuard((A, B), (), (), ()),
    program_ids=(),
    num_programs=(),
    names=(("STAGES", "STAGES"),),
)
TILES = (("BLOCK_M", 128), ("BLOCK_N", 256), ("BLOCK_K", 64))
CONTRACT = Contract("kernel", (), (), (), (), (LaunchConfig(TILES, 8, 4), LaunchConfig((("X", 1),))), True, ())


def text() -> list[str]:
    console = Console(file=StringIO(), width=200)
    for part in plan_tables(PLAN, CONTRACT):
        console.print(part)
    return [" ".join(line.split()) for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def test_tables_hold_every_part():
    lines = text()
    assert "plan: cooperative on sm_90, one tile per program" in lines
    assert "consumer CONSUMER_WARPS CONSUMER_REGISTERS CONSUMERS 1" in lines
    place = "a_ptr[M, …] strides (stride_am, 1) pid_m * BLOCK_M, k"
    assert f"a_ring BLOCK_M × BLOCK_K BLOCK_M * BLOCK_K axis 0 by group {place}" in lines
    assert "full 1 producer consumer the slot [holds] its tiles" in lines, "brackets are text, not markup"


def test_bytes_follow_from_the_config():
    assert stage_bytes(PLAN, CONTRACT.configs[0]) == 2 * (128 * 64 + 64 * 256)
    assert "BLOCK_M=128 BLOCK_N=256 BLOCK_K=64 8 4 49,152 196,608" in text()
    assert "X=1 4 3 – –" in text(), "a config that does not fix the tiles has no bytes"
