"""The chart is well-formed and says what was measured; the tables name what went wrong."""

from __future__ import annotations

from xml.etree import ElementTree

from rich.console import Console

from tlxify.bench.figures import Spread
from tlxify.bench.report import Change, Report, Row
from tlxify.render.bench import bench_table, change_table
from tlxify.render.chart import LABELS, chart

SVG = "{http://www.w3.org/2000/svg}"


def row(launch, source, converted, flops=1e12):
    ms = {"source": Spread(source, source * 0.9, source * 1.1), "converted": Spread(converted, converted, converted)}
    speedup = {"source": Spread(source / converted, 1.0, 2.0)}
    return Row("k<1>", launch, ms, speedup, flops=flops, bytes=1e9, floor=0.5, path="specialized")


REPORT = Report(
    (row("M=1", 2.0, 1.0), row("M=2 & more", 4.0, 2.0), Row("k", "M=3", failure="a hang")),
    device="H200",
    torch="2",
    triton="3",
    rounds=15,
    ceilings={"tflops": 1000.0, "gbps": 4000.0},
)


def shown(part):
    console = Console(width=200, no_color=True)
    with console.capture() as captured:
        console.print(part)
    return captured.get()


def test_bars_are_as_long_as_the_speeds():
    root = ElementTree.fromstring(chart(REPORT))
    bars = {
        name: [
            float(bar.get("width"))
            for bar in root.iter(f"{SVG}rect")
            if bar.get("class") == name and bar.get("x") == str(LABELS)
        ]
        for name in ("source", "converted")
    }
    assert [round(a / b, 2) for a, b in zip(bars["converted"], bars["source"], strict=True)] == [2.0, 2.0]
    assert round(bars["converted"][0] / bars["converted"][1], 2) == 2.0
    ceiling = next(line for line in root.iter(f"{SVG}line") if line.get("class") == "ceiling")
    assert abs(float(ceiling.get("x1")) - LABELS - bars["converted"][0]) < 0.2, (
        "1 ms of 1e12 operations is 1000 TFLOP/s"
    )
    words = " ".join(text.text for text in root.iter(f"{SVG}text"))
    assert "TFLOP/s, H200" in words
    assert "M=2 & more" in words
    assert "M=3" not in words, "what was not measured has no bar"


def test_the_chart_follows_light_and_dark():
    assert "prefers-color-scheme: dark" in chart(REPORT)
    ElementTree.fromstring(chart(Report(())))


def test_without_operations_the_chart_shows_speedups():
    words = chart(Report((row("M=1", 3.0, 2.0, flops=None),)))
    assert "times as fast as the source" in words
    assert ">1.50<" in words


def test_tables_show_rates_and_failures():
    text = shown(bench_table(REPORT))
    assert "1000" in text
    assert "50 %" in text
    assert "not measured: a hang" in text
    changes = (Change("k", "M=1", "slower", 1.2, 1.0, 0.02), Change("k", "M=2", "missing", 1.2))
    assert ("slower" in shown(change_table(changes)), "missing" in shown(change_table(changes))) == (True, True)
