"""What the verifier is tested on: conversions written by hand and made by the converter."""

from __future__ import annotations

import pytest

from tlxify.conversion import Conversion

from . import samples

pytest.importorskip("triton", reason="simulating and compiling need a Triton wheel")


@pytest.fixture(scope="session")
def sample() -> Conversion:
    """A sound conversion, written by hand."""
    return samples.conversion()
