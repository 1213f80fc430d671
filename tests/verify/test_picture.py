"""The timeline of a conversion shows a launch of real size."""

import pytest

from tlxify.verify.picture import draw

from . import samples

pytestmark = pytest.mark.triton


def test_a_launch_is_drawn(tmp_path):
    file = tmp_path / "run.svg"
    said = draw(samples.emitted(), str(file))
    assert said.endswith(f"8 trips: {file}")
    text = file.read_text()
    assert text.startswith("<svg")
    assert "TMA" in text


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"html or an \.svg"):
        draw(samples.emitted(), str(tmp_path / "run.png"))
