"""The page about the simulator tells its options and figures as they are."""

import re
from pathlib import Path

from tlx.sim import CHIPS
from tlx.sim.tool.command import sim

PAGE = (Path(__file__).parents[3] / "docs" / "simulator.md").read_text(encoding="utf-8")


def test_every_option_is_told():
    options = {name for parameter in sim.params for name in parameter.opts if name.startswith("--")}
    assert options <= set(re.findall(r"--[a-z-]+", PAGE))


def test_no_option_is_made_up():
    known = {name for parameter in sim.params for name in parameter.opts} | {"--size", "--tlx-seeds", "--tlx-timeline"}
    assert set(re.findall(r"(?<![-\w])--[a-z][a-z-]+", PAGE)) <= known


def test_the_cost_model_is_told():
    chip = CHIPS["hopper"]
    figures = [float(value) for value in re.findall(r"^\|[^|]+\| ([\d.]+) (?:FLOP|B|results|ns)", PAGE, re.MULTILINE)]
    wanted = [
        chip.tensor, chip.l2, chip.device, chip.latency, chip.arithmetic, chip.special, chip.shared, chip.instruction,
        chip.wake,
    ]  # fmt: skip
    assert [round(value, 1) if value < 1000 else round(value) for value in wanted] == figures


def test_the_picture_is_there():
    (name,) = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", PAGE)
    picture = Path(__file__).parents[3] / "docs" / name
    assert picture.stat().st_size < 60_000
    assert "the loads do not hide behind the dots" in picture.read_text(encoding="utf-8")
