"""The lines below "limit:" say what the numbers say, and can be checked by hand."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from tlxify.limit import Effort, Elsewhere, Limit, Product, Rates, Shares, Spread, Trip, Untold
from tlxify.render.as_json import limit_data
from tlxify.render.limits import limit_block

RATES = Rates("chip", 100, 2.0, 800.0, 4000.0, 50.0, 128.0, 16.0)
EFFORT = Effort((Product(128, 64, 256, "fp16", 1, 4000.0),), 50_000, 12_800, 160)
WHOLE = Effort((Product(128, 64, 256, "fp16", 10, 4000.0),), 500_000, 140_800, 1_600)
TRIP = Trip("line 7", 10, EFFORT, WHOLE)
SHARES = Shares(tensor=50.0, device=20.0, l2=45.0, vector=5.0, idle=8.5)
LIMIT = Limit(
    "M=4096; fp16",
    "BM=128, num_warps=8",
    listed=True,
    flops=4e10,
    bytes=8e7,
    rates=RATES,
    shares=SHARES,
    trip=TRIP,
    spread=Spread(950, dealt=False, waves=10, sms=100),
)


def shown(limit: Limit | Untold) -> list[str]:
    stream = io.StringIO()
    console = Console(file=stream, width=300)
    for part in limit_block(limit):
        console.print(part)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_every_number_comes_with_what_it_is_made_of():
    assert shown(LIMIT) == [
        "",
        "limit: tensor cores",
        "launch         M=4096; fp16; BM=128, num_warps=8",
        "roofline       40 GFLOP / 800 TFLOP/s = 50 µs; 80 MB / 4000 GB/s = 20 µs; "
        "500 FLOP a byte, the ridge of the chip is 200",
        "tensor cores   50 µs; a trip: 2 × 128 × 256 × 64 FLOP / 4000 a cycle = 1049 cycles",
        "memory         45 µs; a trip: 50000 B / 50.0 B a cycle from L2 = 1000 cycles",
        "orchestration  14 µs; a trip: 12800 results / 128 + 160 special ones / 16 = 110 cycles "
        "and besides 100 in a program; SMs without work 8.5 µs",
        "grid           950 programs, each with 10 trips of the loop in line 7; 100 SMs at 2 GHz: at most 10 on one, "
        "5 % of their time idle: 58 µs at least",
    ]


def test_what_is_special_about_a_launch_is_said():
    dealt = replace(LIMIT, listed=False, spread=Spread(950, dealt=True, waves=10, sms=100))
    assert "(ours: the source lists none)" in shown(dealt)[2]
    assert "950 tiles that programs deal out" in shown(dealt)[-1]
    device = replace(LIMIT, shares=replace(SHARES, device=60.0))
    assert shown(device)[1] == "limit: memory"
    assert "60 µs; device memory; from L2 45 µs; a trip: " in "\n".join(shown(device))
    taken = replace(LIMIT, trip=replace(TRIP, branches=("line 8", "line 9")))
    assert shown(taken)[-1] == "at most        counted even where the branches in line 8 and line 9 would skip it"
    straight = replace(LIMIT, trip=replace(TRIP, where=None, whole=EFFORT, count=1.0))
    assert "a program: 2 × 128" in "\n".join(shown(straight))


def test_dots_of_two_types_are_summed_up_apart():
    products = (Product(64, 32, 16, "i8", 1, 8000.0), Product(64, 16, 32, "fp16", 2, 4000.0))
    mixed = replace(LIMIT, trip=replace(TRIP, effort=replace(EFFORT, products=products)))
    assert "2 × 64 × 16 × 32 FLOP / 8000 a cycle + 2 × 2 × 64 × 32 × 16 FLOP / 4000 a cycle" in "\n".join(shown(mixed))


def test_other_launches_and_configs():
    others = (
        Elsewhere(LIMIT.launch, "BM=64", "memory", 70.0),
        Elsewhere(LIMIT.launch, "BM=32", "memory", 90.0),
        Elsewhere("M=64; fp16", LIMIT.config, "orchestration", 5.25),
    )
    assert shown(replace(LIMIT, elsewhere=others))[-2:] == [
        "also           orchestration, 5.2 µs: M=64; fp16",
        "also           memory under 2 other configs, from 70 µs on",
    ]


def test_without_a_dot_there_are_bytes_alone():
    bare = replace(LIMIT, flops=0.0, shares=Shares(0.0, 20.0, 0.0, 0.0, 0.0), trip=None, spread=None)
    assert shown(bare)[1:] == [
        "limit: memory",
        "launch    M=4096; fp16; BM=128, num_warps=8",
        "roofline  80 MB / 4000 GB/s = 20 µs, every tensor once; without a dot nothing else is counted",
    ]
    assert json.loads(json.dumps(limit_data(bare)))["trip"] is None


def test_what_is_not_known_is_one_line():
    assert shown(Untold("no launch tells [it]")) == ["", "limit: not known: no launch tells [it]"]
    assert limit_data(Untold("why")) == {"word": None, "why": "why"}
    assert limit_data(None) is None


def test_json_has_the_same_numbers():
    data = json.loads(json.dumps(limit_data(LIMIT)))
    assert (data["word"], data["ridge"], data["intensity"]) == ("tensor cores", 200.0, 500.0)
    assert data["trip"]["cycles"] == pytest.approx({"tensor": 1048.576, "memory": 1000.0, "vector": 110.0})
    assert data["spread"]["idle"] == pytest.approx(0.05)
    assert data["shares"] == {"tensor": 50.0, "device": 20.0, "l2": 45.0, "vector": 5.0, "idle": 8.5}
