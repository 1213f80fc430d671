"""Figures of the comparison of compile times."""

from __future__ import annotations

import pytest

from benchmarks.tutorials.compile_time import summarized


def test_medians_and_leasts_of_all_launches_and_of_each():
    samples = {
        "small": {"ours": [1.0, 2.0, 9.0], "fork": [2.0, 2.0, 2.0]},
        "large": {"ours": [4.0, 6.0, 5.0], "fork": [4.0, 5.0, 5.0]},
    }
    report = summarized(samples)
    assert report["compilations"] == 3
    assert report["median"] == {"seconds": {"ours": 7.0, "fork": 7.0}, "ratio": {"fork": 1.0}}
    assert report["least"]["ratio"]["fork"] == pytest.approx(5 / 6, abs=1e-3)
    assert report["rows"]["large"]["median"] == {"seconds": {"ours": 5.0, "fork": 5.0}, "ratio": {"fork": 1.0}}
    assert report["rows"]["small"]["least"]["ratio"] == {"fork": 0.5}
